"""Values that are known to be empty, which OpenVINO's CPU plugin cannot always compute."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.conversion.pipelines import to_openvino
from irloop.faults.repairs.empty_values import FoldEmptyValues
from irloop.formats.onnx import reader
from irloop.passes.base import PassConfig
from tests.conversion.both_engines import F32, HEADER, agree, i64, needs_engines


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


#: OpenVINO divides by zero where it broadcasts an empty tensor of a known shape.
EXPANDED = """
g (float[2, 3] x, int64 n) => (float[2, 0] y, float[3, 0] z, int64[2, 0] s) {
  none = Constant <value_ints = [0]> ()  axes = Constant <value_ints = [1]> ()
  wide = Constant <value_ints = [3, 1]> ()  tall = Constant <value_ints = [2, 1]> ()
  y = Slice (x, none, none, axes)
  row = Constant <value = float[1, 0] {}> ()  z = Expand (row, wide)
  shape = Shape (n)  s = Expand (shape, tall)
}"""

#: A scalar that enters a loop has a shape without elements in each iteration.
IN_A_LOOP = """
g (float[3, 2] x, float w) => (float[3, 2] y, int64[3, 0] s, float[k, 0] more) {
  y, s = Scan (x) <body = b (float[2] p) => (float[2] q, int64[0] t) { q = Add (p, w)
                                                                      t = Shape (w) },
                   num_scan_inputs: int = 1>
  n = Constant <value_int = 2> ()
  more = Loop (n, "") <body = c (int64 i, bool c) => (bool d, float[0] r) {
    d = Identity (c)  size = Shape (w)  number = Cast <to = 1> (size)  r = Mul (number, w) }>
}"""


@needs_engines
def test_empty_values_are_not_computed_by_openvino(engines: Engines, tmp_path: Path) -> None:
    x = np.arange(6, dtype=F32).reshape(2, 3)
    agree(EXPANDED, [[x, i64(1)], [x + 1, i64(2)]], engines, tmp_path)


@needs_engines
def test_empty_values_in_loops(engines: Engines, tmp_path: Path) -> None:
    x = np.arange(6, dtype=F32).reshape(3, 2)
    agree(IN_A_LOOP, [[x, F32(1)], [x + 1, F32(2)]], engines, tmp_path)


def test_values_that_may_have_elements_are_computed() -> None:
    text = """
g (float[k, 3] x, float[2] w) => (float[m, 3] y, float[2] z) {
  one = Constant <value_ints = [1]> ()  none = Constant <value_ints = [0]> ()
  y = Slice (x, none, one, none)  z = Add (w, w)
}"""
    model, _ = to_openvino(reader.from_proto(onnx.parser.parse_model(HEADER + text)))
    assert not FoldEmptyValues().run(model, PassConfig())


def test_sizes_that_no_array_has_stay_as_they_are(tmp_path: Path) -> None:
    """NumPy refuses an array of 0 x 2**62 elements although it would be empty."""
    sizes = [0, 1 << 62]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["x"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, sizes)],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, sizes)],
    )
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    made, _ = irloop.convert(path)
    assert len(made.graph.results) == 1
