"""Detections in ONNX: operations that choose among boxes are refused by name, and why."""

from __future__ import annotations

from irloop.conversion.framework import EXPORTS, no_counterpart
from irloop.dialects.openvino import roi

__all__: list[str] = []

_OUTSIDE = "end the model at the boxes and scores, and choose among them outside of it"

no_counterpart(
    EXPORTS,
    roi.ROIAlignRotated,
    roi.DeformablePSROIPooling,
    reason="ONNX reads regions along the axes only, and its bins do not move",
    fix="end the model at the feature maps and regions",
)
