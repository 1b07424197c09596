"""Regions of interest: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

OPCONF_TYPES = "ROIPooling ROIAlign PSROIPooling"

BACKEND_OPS = "RoiAlign MaxRoiPool"


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)
