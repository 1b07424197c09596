"""Regions of interest in the other dialect, against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = "ROIPooling ROIAlign PSROIPooling"

BACKEND_OPS = "RoiAlign MaxRoiPool"


@pytest.mark.parametrize("opset", [16, 21])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [8, 9])
def test_imports(
    backend_case: str,
    opset: int,
    check_import: Callable[[str, int], None],
    refused: Callable[[Callable[[], None]], str],
) -> None:
    if backend_case != "test_roialign_mode_max":
        check_import(backend_case, opset)
        return
    # ONNX takes the largest weighted element, OpenVINO the largest of the samples.
    assert "RoiAlign" in refused(lambda: check_import(backend_case, opset))
