"""Abs of a Concat of rank 1, which OpenVINO's CPU plugin computes in the memory of the Concat."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from irloop import convert, save_model, transform
from irloop.dialects.onnx.elementwise import Abs, Exp
from irloop.dialects.onnx.slicing import Concat
from irloop.engines.catalogue import engine_of
from irloop.engines.process import Process
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType

TYPES = [(ElementType.F32, np.float32), (ElementType.I64, np.int64), (ElementType.F16, np.float16)]


@pytest.mark.parametrize("size", [1, None])
@pytest.mark.parametrize(("element", "dtype"), TYPES, ids=[str(e) for e, _ in TYPES])
def test_a_concat_keeps_its_values(
    element: ElementType, dtype: type, size: int | None, tmp_path: Path
) -> None:
    b = Builder(Graph())
    x = b.parameter("x", TensorType(element, Shape.of(size)), ("x",))
    both = b(Concat(axis=0), x, x)
    b.result(both, "c")
    b.result(b(Abs(), both), "a")
    path = tmp_path / "m.xml"
    save_model(convert(Model(b.graph, "onnx", 8, {"": 13}))[0], path)
    with Process(engine_of("openvino"), path) as process:
        for number in (-3, -4, 5):
            answer = process.run([np.array([number], dtype)], seconds=60)
            assert answer.outputs is not None, answer
            found = [output.tolist() for output in answer.outputs]
            assert found == [[number] * 2, [abs(number)] * 2]


def test_another_reader_reads_the_values(tmp_path: Path) -> None:
    b = Builder(Graph())
    x = b.parameter("x", TensorType(ElementType.F32, Shape.of(1)), ("x",))
    both = b(Concat(axis=0), x, x)
    b.result(b(Exp(), both), "e")
    b.result(b(Abs(), both), "a")
    path = tmp_path / "m.xml"
    save_model(convert(Model(b.graph, "onnx", 8, {"": 13}))[0], path)
    with Process(engine_of("openvino"), path) as process:
        for number in (-1, -2):
            answer = process.run([np.array([number], np.float32)], seconds=60)
            assert answer.outputs is not None, answer
            np.testing.assert_allclose(answer.outputs[0], np.exp([number] * 2), rtol=1e-5)
            assert answer.outputs[1].tolist() == [-number] * 2


LOOP = """<ir_version: 8, opset_import: ["" : 16]>
m (int64 n, float[1] x) => (float[1] y, float[k,l,2] pairs, float[k,l,2] sizes) {
  y, pairs, sizes = Loop (n, , x) <body = outer (int64 i, bool go, float[1] s)
      => (bool go2, float[1] s2, float[l,2] c, float[l,2] a) {
    two = Constant <value_ints = [2]> ()
    s2, c, a = Loop (two, , s) <body = inner (int64 j, bool on, float[1] t)
        => (bool on2, float[1] t2, float[2] d, float[2] b) {
      on2 = Identity (on)
      d = Concat <axis = 0> (t, t)
      b = Abs (d)
      less = Constant <value_float = -2.0> ()
      t2 = Mul (t, less)
    }>
    go2 = Identity (go)
  }>
}"""


def test_in_nested_loops_and_several_inferences(tmp_path: Path) -> None:
    """The state is x, -2x, 4x, ...; both concatenated outputs contain each of its values twice."""
    source = tmp_path / "m.onnx"
    source.write_bytes(onnx.parser.parse_model(LOOP).SerializeToString())
    path = tmp_path / "m.xml"
    save_model(convert(source)[0], path)
    with Process(engine_of("openvino"), path) as process:
        for trips in (2, 0, 3, 1):
            arrays = [np.array(trips), np.array([-3], np.float32)]
            answer = process.run(arrays, seconds=60)
            assert answer.outputs is not None, answer
            states = -3.0 * (-2.0) ** np.arange(2 * trips)
            pairs = np.repeat(states.reshape(trips, 2, 1), 2, axis=2)
            last, found, sizes = answer.outputs
            assert last.tolist() == [-3.0 * 4.0**trips]
            assert found.ravel().tolist() == pairs.ravel().tolist()
            assert sizes.ravel().tolist() == abs(pairs).ravel().tolist()


STOPS = """<ir_version: 8, opset_import: ["" : 16]>
m (int64 n, float[1] x) => (float[1] y, float[k,2] pairs, float[k,2] sizes) {
  y, pairs, sizes = Loop (n, , x) <body = body (int64 i, bool go, float[1] s)
      => (bool go2, float[1] s2, float[2] c, float[2] a) {
    c = Concat <axis = 0> (s, s)
    a = Abs (c)
    less = Constant <value_float = -2.0> ()
    s2 = Mul (s, less)
    limit = Constant <value_float = 10.0> ()
    size = ReduceMax <keepdims = 0> (a)
    go2 = Less (size, limit)
  }>
}"""


@pytest.mark.parametrize("passes", [(), ("common_subexpressions",), ("simplify",)], ids=str)
def test_in_a_loop_that_stops_by_itself(passes: tuple[str, ...], tmp_path: Path) -> None:
    """The state is -3, 6, -12, ...; the loop stops once its absolute value is at least 10."""
    source = tmp_path / "m.onnx"
    source.write_bytes(onnx.parser.parse_model(STOPS).SerializeToString())
    path = tmp_path / "m.xml"
    save_model(transform(convert(source)[0], passes)[0] if passes else convert(source)[0], path)
    # The trip count and the initial state; then the states of all iterations and the last state.
    runs = [
        (9, -3, [-3, 6, -12], 24),
        (2, -3, [-3, 6], -12),
        (0, -3, [], -3),
        (9, -20, [-20], 40),
        (9, 5, [5, -10], 20),
    ]
    with Process(engine_of("openvino"), path) as process:
        for trips, start, states, last in runs:
            arrays = [np.array(trips), np.array([start], np.float32)]
            answer = process.run(arrays, seconds=60)
            assert answer.outputs is not None, answer
            y, pairs, sizes = answer.outputs
            assert y.tolist() == [last]
            assert pairs.ravel().tolist() == [state for state in states for _ in range(2)]
            assert sizes.ravel().tolist() == [abs(state) for state in states for _ in range(2)]
