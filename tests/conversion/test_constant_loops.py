"""Loops that depend on constants only are folded for OpenVINO, within limits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest

from benchmarks.engines import Engines
from irloop.conversion.pipelines import to_openvino
from irloop.faults.repairs.constant_loops import FoldConstantLoops
from irloop.formats.onnx import reader
from irloop.graph.model import Model
from irloop.graph.op import Constant
from irloop.passes.base import PassConfig
from tests.conversion.both_engines import F32, HEADER, agree, i64, needs_engines


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


#: The inner Loop runs zero times in the first iteration.
NESTED = """
g (float[2] x) => (float[k, 2] y, float[2] z) <float[2] q = {1, 2}> {
  n = Constant <value_int = COUNT> ()
  y = Loop (n, "") <body = b (int64 i, bool c) => (bool d, float[2] r) {
    d = Identity (c)
    r, s = Loop (i, "", q) <body = h (int64 j, bool e, float[2] a)
        => (bool f, float[2] o, float[2] p) { f = Identity (e)  o = Neg (a)  p = Neg (o) }>
  }>
  z = Add (x, q)
}"""


def converted(text: str) -> Model:
    return to_openvino(reader.from_proto(onnx.parser.parse_model(HEADER + text)))[0]


def kinds(model: Model) -> list[str]:
    return [node.op.type for node in model.graph.nodes if not isinstance(node.op, Constant)]


@needs_engines
def test_a_constant_loop_around_one_that_does_not_run(engines: Engines, tmp_path: Path) -> None:
    x = np.array([5, 6], F32)
    agree(NESTED.replace("COUNT", "3"), [[x], [x + 1]], engines, tmp_path)


def test_the_result_of_a_constant_loop_is_a_constant() -> None:
    model = converted(NESTED.replace("COUNT", "3"))
    assert kinds(model) == ["Add"]
    folded = model.graph.results[0].inputs[0]
    assert folded is not None
    assert isinstance(folded.producer.op, Constant)
    values = folded.producer.op.tensor.numpy()
    np.testing.assert_array_equal(values, [[1, 2], [-1, -2], [1, 2]])


def test_a_loop_of_too_many_iterations_is_not_folded() -> None:
    assert "Loop" in kinds(converted(NESTED.replace("COUNT", "2000")))


def test_the_source_model_stays_as_it_is() -> None:
    model = reader.from_proto(onnx.parser.parse_model(HEADER + NESTED.replace("COUNT", "3")))
    to_openvino(model)
    assert kinds(model) == ["Loop", "Add"]


def test_random_numbers_are_not_folded() -> None:
    text = """
g (float[2] x) => (float[2] y) <float[2] q = {1, 2}> {
  n = Constant <value_int = 3> ()
  r = Loop (n, "", q) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] o) {
    d = Identity (c)  u = RandomUniform <shape = [2]> ()  o = Add (a, u) }>
  y = Add (x, r)
}"""
    model = reader.from_proto(onnx.parser.parse_model(HEADER + text))
    assert not FoldConstantLoops().run(model, PassConfig())
    assert kinds(model) == ["Loop", "Add"]


@needs_engines
@pytest.mark.parametrize("trips", [0, 3])
def test_a_folded_loop_counts_another_one(trips: int, engines: Engines, tmp_path: Path) -> None:
    """Once the first Loop is folded, the trip count is the constant 0, and no Loop is left."""
    text = f"""
g (float[2] x) => (float[2] last, float[n, 2] all) {{
  n = Constant <value_int = {trips}> ()  zero = Constant <value_int = 0> ()
  one = Constant <value_int = 1> ()
  count = Loop (n, "", zero) <body = b (int64 i, bool c, int64 a) => (bool d, int64 o) {{
    d = Identity (c)  o = Add (a, one) }}>
  last, all = Loop (count, "", x) <body = h (int64 j, bool e, float[2] s)
      => (bool f, float[2] t, float[2] u) {{ f = Identity (e)  t = Neg (s)  u = Add (s, s) }}>
}}"""
    agree(text, [[np.array([1, 2], F32)], [np.array([3, 4], F32)]], engines, tmp_path)


@needs_engines
def test_a_loop_that_is_constant_in_a_body(engines: Engines, tmp_path: Path) -> None:
    text = """
g (int64 M, float[2] x) => (float[2] last) {
  last = Loop (M, "", x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) {
    d = Identity (c)
    start = Constant <value_floats = [1.0, 2.0]> ()  two = Constant <value_int = 2> ()
    r = Loop (two, "", start) <body = h (int64 j, bool e, float[2] a)
        => (bool f, float[2] o) { f = Identity (e)  o = Add (a, a) }>
    t = Add (s, r)
  }>
}"""
    agree(text, [[i64(trips), np.array([1, 2], F32)] for trips in (2, 0, 1)], engines, tmp_path)


#: The trip count and the state follow from a shape; OpenVINO cannot fold the If in the body.
COUNTED_BY_A_SHAPE = """
g (float[1, 2] x) => (bool[k] flags, int64 twice) {
  shape = Shape (x)  one = Constant <value_int = 1> ()  n = Gather (shape, one)
  h, flags = Loop (n, "", n) <body = b (int64 i, bool c, int64 s)
      => (bool d, int64 t, bool r) {
    four = Constant <value_int = 4> ()  zero = Constant <value_int = 0> ()
    d = Less (i, four)  t = Add (s, four)  later = Greater (i, zero)
    r = If (later) <then_branch = tb () => (bool a) { a = Identity (later) },
                    else_branch = eb () => (bool e) { e = Identity (c) }>
  }>
  twice = Add (n, n)
}"""


#: OpenVINO would never stop rewriting these sums.
SUMS = """
g (double[2] x) => (double[2] y, double[2] z) <double[2] a = {1, 2}, double b = {0.5}> {
  c = Add (a, b)  d = Sub (c, b)  y = Add (d, b)  z = Add (x, y)
}"""


@needs_engines
def test_sums_of_f64_constants(engines: Engines, tmp_path: Path) -> None:
    assert kinds(converted(SUMS)) == ["Add"]
    agree(SUMS, [[np.array([5.0, 6.0])]], engines, tmp_path)


@needs_engines
def test_a_loop_whose_inputs_follow_from_shapes(engines: Engines, tmp_path: Path) -> None:
    x = np.array([[5, 6]], F32)
    agree(COUNTED_BY_A_SHAPE, [[x], [x + 1]], engines, tmp_path)
    assert "Loop" not in kinds(converted(COUNTED_BY_A_SHAPE))


#: The inner Loop starts with a condition that is computed from constants, and is false.
NOT_STARTED = """
g (float[2] x) => (float[2] y, float[2] z) <float[2] q = {1, 2}, float limit = {1}> {
  sum = ReduceSum <keepdims = 0> (q)
  c = Less (sum, limit)
  n = Constant <value_int = 3> ()
  y = Loop (n, c, x) <body = b (int64 i, bool e, float[2] a) => (bool f, float[2] o) {
    f = Less (i, n)  o = Add (a, a) }>
  z = Loop (n, "", x) <body = d (int64 j, bool h, float[2] s) => (bool k, float[2] t) {
    k = Identity (h)
    r, all = Loop (n, c, s) <body = l (int64 m, bool p, float[2] u)
        => (bool v, float[2] w, float[2] st) { v = Identity (p)  w = Add (u, q)  st = Neg (u) }>
    two = Shape (all)  both = Cast <to = 1> (two)  more = ReduceSum <keepdims = 0> (both)
    t = Add (r, more)
  }>
}"""


@needs_engines
def test_a_condition_computed_from_constants(engines: Engines, tmp_path: Path) -> None:
    """OpenVINO also folds it, and cannot compile a Loop that then is known never to start."""
    agree(NOT_STARTED, [[np.array(x, F32)] for x in ([1, 2], [3, 4])], engines, tmp_path)


def test_folding_removes_the_loops() -> None:
    (outer,) = (node for node in converted(NOT_STARTED).graph.nodes if node.op.type == "Loop")
    assert not any(node.op.type == "Loop" for node in outer.body().graph.nodes)


@needs_engines
def test_a_loop_that_changes_nothing(engines: Engines, tmp_path: Path) -> None:
    """When constant Loops are searched, the Loop has no outputs left."""
    text = """
g (bool c, float[2] x) => (float[2] y) <int64 three = {3}> {
  y = Loop ("", c, x) <body = b (int64 i, bool e, float[2] a) => (bool f, float[2] o) {
    f = Less (i, three)  o = Identity (a) }>
}"""
    x = np.array([1, 2], F32)
    agree(text, [[np.array(c), x + c] for c in (True, False)], engines, tmp_path)
