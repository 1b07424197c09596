"""Conversion of convolutions in both directions; the expected values are OpenVINO's and ONNX's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = (
    "Convolution GroupConvolution ConvolutionBackpropData GroupConvolutionBackpropData "
    "BinaryConvolution DeformableConvolution"
)

BACKEND_OPS = "Conv ConvTranspose DeformConv CausalConvWithState"


@pytest.mark.parametrize("opset", [11, 17, 22])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)
