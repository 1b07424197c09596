"""Conversion of convolutions in both directions; the expected values are OpenVINO's and ONNX's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, needs_engines

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


@needs_engines
@pytest.mark.parametrize("strides", [[1, 1], [2, 1]])
def test_automatic_padding_for_a_filter_of_unknown_size(strides: list[int], tmp_path: Path) -> None:
    """The padding depends on the size of the filter, which is known only when the model runs."""
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
g (float[1,2,h,v] x, float[3,2,a,b] w) => (float[1,3,c,d] y) {{
  y = Conv <auto_pad = "SAME_UPPER", strides = {strides}> (x, w)
}}"""
    source = tmp_path / "model.onnx"
    source.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    random = np.random.default_rng(0)
    given = [random.standard_normal(dims).astype(F32) for dims in [(1, 2, 5, 4), (3, 2, 3, 2)]]
    with contextlib.closing(Engines()) as engines:
        ((expected,),) = engines.run_all("onnxruntime", source, [given], tmp_path)
    # OpenVINO's CPU plugin runs no convolution with such a filter.
    (found,) = irloop.Session(irloop.convert(source)[0]).run(given).values()
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)
