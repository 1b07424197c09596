"""Conversion of poolings in both directions; the expected values are OpenVINO's and ONNX's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = "AvgPool MaxPool AdaptiveAvgPool AdaptiveMaxPool"

BACKEND_OPS = "AveragePool MaxPool GlobalAveragePool GlobalMaxPool LpPool GlobalLpPool MaxUnpool"


@pytest.mark.parametrize("opset", [11, 17, 22])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8, 16])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)
