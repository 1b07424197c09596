"""Constant lengths of a Scan-8 above the scanned axis, which ONNX Runtime refuses."""

from __future__ import annotations

import onnx
import pytest

import irloop
from irloop.errors import UnsupportedError
from irloop.formats.onnx import reader

TEXT = """<ir_version: 3, opset_import: ["" : 8]>
g (float[1, 2] h, float[1, 4, 2] x) => (float[1, 2] y, float[1, 4, 2] ys)
  <int64[1] n = {LENGTH}> {
  y, ys = Scan <num_scan_inputs = 1, body = b (float[2] s, float[2] p)
    => (float[2] t, float[2] q) { t = Add (s, p) q = Identity (t) }> (n, h, x)
}"""


def test_lengths_above_the_axis_are_refused_by_name() -> None:
    model = reader.from_proto(onnx.parser.parse_model(TEXT.replace("LENGTH", "5")))
    with pytest.raises(UnsupportedError, match="a sequence length is 5, and the axis has 4"):
        irloop.convert(model)


@pytest.mark.parametrize("length", [0, 3, 4])
def test_other_lengths_convert(length: int) -> None:
    model = reader.from_proto(onnx.parser.parse_model(TEXT.replace("LENGTH", str(length))))
    assert irloop.convert(model)[0].graph.outputs
