"""Detections in ONNX: operations that choose among boxes are refused by name, and why."""

from __future__ import annotations

from irloop.conversion.framework import EXPORTS, no_counterpart
from irloop.dialects.openvino import multiclass_nms, nms, roi

__all__: list[str] = []

_OUTSIDE = "end the model at the boxes and scores, and choose among them outside of it"

no_counterpart(
    EXPORTS,
    multiclass_nms.MatrixNms,
    reason="ONNX has no suppression that lowers scores",
    fix=_OUTSIDE,
)

no_counterpart(
    EXPORTS,
    nms.NMSRotated,
    reason="ONNX suppresses boxes along the axes only",
    fix=_OUTSIDE,
)

no_counterpart(
    EXPORTS,
    roi.ROIAlignRotated,
    roi.DeformablePSROIPooling,
    reason="ONNX reads regions along the axes only, and its bins do not move",
    fix="end the model at the feature maps and regions",
)
