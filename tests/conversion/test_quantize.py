"""Conversion of quantisation in both directions; the expected values are OpenVINO's and ONNX's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = """
    FakeQuantize
"""

BACKEND_OPS = """
    ConvInteger DequantizeLinear DynamicQuantizeLinear MatMulInteger QLinearConv QLinearMatMul
    QuantizeLinear
"""

#: Node tests that OpenVINO operations cannot express.
REFUSED = r"linear_int2"


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(
    backend_case: str, opset: int, check_import_or_refusal: Callable[[str, int, str], None]
) -> None:
    check_import_or_refusal(backend_case, opset, REFUSED)
