"""What surrounds detections in ONNX, run by ONNX Runtime; and what is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SAID = """
    ExperimentalDetectronPriorGridGenerator ExperimentalDetectronTopKROIs
    ExperimentalDetectronROIFeatureExtractor
"""
REFUSED = """
    ExperimentalDetectronDetectionOutput
    MatrixNms NMSRotated
    ROIAlignRotated DeformablePSROIPooling
"""
OPCONF_TYPES = SAID + REFUSED


@pytest.mark.parametrize("opset", [11, 17, 21])
def test_exports(
    opconf_case: Path,
    opset: int,
    check_export: Callable[[Path, int], None],
    refused: Callable[[Callable[[], None]], str],
) -> None:
    name = opconf_case.parent.name.split("_", 1)[1]
    if name in SAID.split():
        check_export(opconf_case, opset)
    else:
        assert name in refused(lambda: check_export(opconf_case, opset))
