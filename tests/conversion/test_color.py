"""Conversion of colours and region layers to ONNX; the expected values are OpenVINO's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = "NV12toRGB NV12toBGR I420toRGB I420toBGR RegionYolo"


@pytest.mark.parametrize("opset", [11, 13, 17, 20])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)
