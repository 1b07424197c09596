"""Captured values and outputs of an If that OpenVINO's CPU plugin would overwrite."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.conversion.pipelines import to_openvino
from irloop.dialects.openvino.control_flow import Loop
from irloop.formats.onnx import reader
from irloop.graph.builder import shape_of
from irloop.graph.walk import all_nodes, body_around
from tests.conversion.both_engines import F32, agree, i64, needs_engines

X = np.array([[0.5, 0.25, 3], [1, 2, 0.125]], F32)


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


CAPTURED = """
g (int64 M, float[ROWS, 3] x, float[3] w) => (float[n, p] all) {
  all = Loop (M, "") <body = b (int64 i, bool ci) => (bool co, float[p] r) {
    co = Identity (ci)
    flat = Constant <value_ints = [-1]> ()  zero = Constant <value_ints = [0]> ()
    one = Constant <value_floats = [1.0]> ()
    BODY
  }>
}"""

#: Bodies in which OpenVINO computes in place, in the memory of the captured value or of a view of
#: it.
BODIES = {
    "Softmax": "t = Softmax (x)  r = Reshape (t, flat)",
    "Softmax of a vector": "r = Softmax <axis = 0> (w)",
    "Softmax of a cast without effect": "t = Cast <to = 1> (w)  r = Softmax <axis = 0> (t)",
    "Softmax of a part": "t = Gather (x, i)  r = Softmax <axis = 0> (t)",
    "Softmax of a sum with an empty sum": "n = Slice (one, zero, zero)  "
    "s = ReduceSum <keepdims = 0> (n)  t = Add (w, s)  r = Softmax <axis = 0> (t)",
    "Softmax of a product with a known size": "s = Size (zero)  f = Cast <to = 1> (s)  "
    "t = Mul (w, f)  r = Softmax <axis = 0> (t)",
    "LogSoftmax": "t = LogSoftmax (x)  r = Reshape (t, flat)",
    "Hardmax": "r = Hardmax <axis = 0> (w)",
    "ScatterElements": "at = Reshape (i, flat)  r = ScatterElements (w, at, one)",
    "ScatterND": "at = Reshape (i, flat)  to = Unsqueeze (at, zero)  r = ScatterND (w, to, one)",
    "Sigmoid of a Reshape": "t = Reshape (x, flat)  r = Sigmoid (t)",
    "Add to a Reshape": "t = Reshape (x, flat)  r = Add (t, one)",
    "Exp of an Unsqueeze": "t = Unsqueeze (x, zero)  e = Exp (t)  r = Reshape (e, flat)",
    "Exp of a Transpose": "t = Transpose (x)  e = Exp (t)  r = Reshape (e, flat)",
}


#: Softmax and normalisations of x [2,3], as one operation or as several that OpenVINO fuses into
#: one.
NORMALISED = {
    "LayerNormalization": "r = LayerNormalization <axis = -1> (x, scale)",
    "of LayerNormalization": "t = LayerNormalization <axis = -1> (x, scale) "
    "r = LayerNormalization <axis = -1> (t, scale, x1)",
    "mean and variance": "m = ReduceMean <axes = [-1]> (x)  d = Sub (x, m)  p = Pow (d, two) "
    "v = ReduceMean <axes = [-1]> (p)  e = Add (v, tiny)  s = Sqrt (e)  w = Div (d, s) "
    "r = Mul (w, scale)",
    "squares": "m = ReduceMean <axes = [-1]> (x)  d = Sub (x, m)  p = Mul (d, d) "
    "v = ReduceMean <axes = [-1]> (p)  e = Add (v, tiny)  s = Sqrt (e)  w = Div (d, s) "
    "r = Add (w, x1)",
    "softmax": "m = ReduceMax <axes = [-1]> (x)  d = Sub (x, m)  e = Exp (d) "
    "s = ReduceSum (e, last)  r = Div (e, s)",
    "softmax without maximum": "e = Exp (x)  s = ReduceSum (e, last)  r = Div (e, s)",
    "InstanceNormalization": "u = Unsqueeze (x, zero)  w = InstanceNormalization (u, pair, pair) "
    "f = Squeeze (w, zero)  r = Relu (f)",
}

#: A Loop in a Loop; both may stop early. Only the inner one reads x; it concatenates the values
#: that it computes from x.
NORMALISED_TWICE = """
g (int64 n, int64 most, float[ROWS, 3] x) => (float[p, q, r, s] all) <
  float[3] scale = {0.75, 1.25, 1.0}, float[3] x1 = {0.5, -0.25, 0.125}, float[2] pair = {2.0, 0.5},
  float two = {2.0}, float tiny = {0.00001}, int64[1] last = {-1}, int64[1] zero = {0}
> {
  all = Loop (n, "") <body = outer (int64 i, bool ci) => (bool co, float[t, ROWS, 3] rows) {
    co = Less (i, most)
    rows = Loop (n, "") <body = inner (int64 j, bool di) => (bool do, float[ROWS, 3] r) {
      do = Less (j, most)  BODY
    }>
  }>
}"""


@needs_engines
@pytest.mark.parametrize("rows", ["2", "k"])
@pytest.mark.parametrize("body", NORMALISED)
def test_a_captured_value_is_normalised_in_each_iteration(
    body: str, rows: str, engines: Engines, tmp_path: Path
) -> None:
    text = NORMALISED_TWICE.replace("ROWS", rows).replace("BODY", NORMALISED[body])
    x = np.array([[1, 2, 4], [-1, 0.5, 3]], F32)
    sets: list[list[Any]] = [
        [i64(3), i64(9), x],
        [i64(3), i64(0), -x],
        [i64(0), i64(9), x],
        [i64(4), i64(1), x / 2],
    ]
    agree(text, sets, engines, tmp_path)


@needs_engines
@pytest.mark.parametrize("rows", ["2", "k"])
@pytest.mark.parametrize("body", BODIES)
def test_a_captured_value_is_the_same_in_each_iteration(
    body: str, rows: str, engines: Engines, tmp_path: Path
) -> None:
    text = CAPTURED.replace("ROWS", rows).replace("BODY", BODIES[body])
    agree(text, [[i64(2), X, X[0]], [i64(2), X * 2, X[1]]], engines, tmp_path)


@pytest.mark.parametrize(
    ("body", "copied"),
    [
        ("t = MatMul (w, x2)  r = Reshape (t, flat)", 0),
        ("t = Gather (x, i)  r = Add (t, w)", 0),
        ("r = Neg (w)", 0),
        ("t = Reshape (x, flat)  r = Exp (t)", 1),
        ("r = Softmax <axis = 0> (w)", 1),
    ],
)
def test_only_values_that_may_be_overwritten_are_copied(body: str, copied: int) -> None:
    text = CAPTURED.replace("ROWS", "2").replace("BODY", body)
    text = text.replace("w) =>", "w, float[3, 4] x2) =>")
    header = '<ir_version: 8, opset_import: ["" : 17]>'
    model, _ = to_openvino(reader.from_proto(onnx.parser.parse_model(header + text)))
    (loop,) = (node for node in model.graph.nodes if isinstance(node.op, Loop))
    kinds = [node.op.type for node in loop.body().graph.nodes]
    assert kinds.count("Maximum") == copied


BRANCHES = """
g (bool c, float[SIZE] x, float[k] y) => (float[q] out, float[q] more) {
  t = If (c) <then_branch = tb () => (float[p] a) { a = Neg (x) },
              else_branch = eb () => (float[r] b) { b = Exp (y) }>
  u = Add (t, t)
  v = Concat <axis = 0> (u, u)  w = Concat <axis = 0> (v, v)  z = Concat <axis = 0> (w, w)
  out = Concat <axis = 0> (z, z)  more = Identity (t)
}"""


@needs_engines
def test_an_if_keeps_its_output_while_later_values_grow(engines: Engines, tmp_path: Path) -> None:
    sets = []
    for size in (2, 2, 5, 50, 500):
        x = np.arange(1, size + 1, dtype=F32)
        sets += [[np.array(True), x, x / 100], [np.array(False), x + 1, x / 50]]
    agree(BRANCHES.replace("SIZE", "k"), sets, engines, tmp_path)
    one = np.arange(3, dtype=F32)
    again = [[inputs[0], one, inputs[2]] for inputs in sets]
    agree(BRANCHES.replace("SIZE", "3"), again, engines, tmp_path)


#: OpenVINO inserts a conversion for outputs of a model that it computes in another type.
PASSED_ON = """
g (bool c, ELEMENT[k, 1] x) => (ELEMENT[q, 1] out, ELEMENT[k, 3] wide) {
  out = If (c) <then_branch = tb () => (ELEMENT[p, 1] a) { a = Identity (x) },
                else_branch = eb () => (ELEMENT[r, 1] b) { b = Identity (x) }>
  columns = Constant <value_ints = [-1, -1, 0]> ()  wide = Gather <axis = 1> (x, columns)
}"""


@needs_engines
@pytest.mark.parametrize(
    "element", ["float16", "double", "int64", "uint64", "uint32", "float", "bool"]
)
def test_an_output_of_an_if_is_an_output_of_the_model(
    element: str, engines: Engines, tmp_path: Path
) -> None:
    kind = {"float": "float32", "double": "float64"}.get(element, element)
    sets = [
        [np.array(flag), np.arange(size, 0, -1).reshape(size, 1).astype(kind) % 3 > 0]
        if kind == "bool"
        else [np.array(flag), np.arange(1, size + 1).reshape(size, 1).astype(kind)]
        for size, flag in ((4, True), (2, False), (5, False), (1, True))
    ]
    agree(PASSED_ON.replace("ELEMENT", element), sets, engines, tmp_path)


IN_A_LOOP = """
g (int64 M, float[ROWS] x, float[2] y) => (float[q, qq] last) {
  zero = Constant <value_int = 0> ()  first = Constant <value_ints = [0]> ()
  end = Constant <value_int = -1> ()
  last = Loop (M, "", x) <body = b (int64 i, bool ci, float[m, mm] s)
      => (bool co, float[p, pp] t) {
    co = Identity (ci)
    number = Cast <to = 1> (i)  item = Add (y, number)
    sizes = Shape (s)  size = Gather (sizes, zero)  some = Greater (size, zero)
    before = If (some) <then_branch = tb () => (float[w] a) { a = Gather (s, end) },
                        else_branch = eb () => (float[v] d) { d = ELSE }>
    sum = Add (before, item)  row = Unsqueeze (sum, first)  t = Concat <axis = 0> (s, row)
  }>
}"""


@needs_engines
@pytest.mark.parametrize("other", ["Neg (y)", "Constant <value_floats = [1.0, 2.0]> ()"])
@pytest.mark.parametrize("rows", ["2, 2", "k, 2", "k, w"])
def test_an_if_in_a_loop_whose_state_grows(
    rows: str, other: str, engines: Engines, tmp_path: Path
) -> None:
    x = np.ones((2 if rows == "2, 2" else 0, 2), F32)
    sets = [[i64(trips), x, X[0, :2]] for trips in (3, 0, 1, 4)]
    text = IN_A_LOOP.replace("ROWS", rows).replace("ELSE", other)
    agree(text, sets, engines, tmp_path)


@needs_engines
def test_a_boolean_output_that_two_outputs_of_the_model_give(
    engines: Engines, tmp_path: Path
) -> None:
    text = """
g (int64 M, float[3] h, bool b) => (float[3] last, bool flag, bool same, bool cast) {
  last, flag = Loop (M, "", h, b) <body = q (int64 i, bool c, float[3] a, bool s)
      => (bool d, float[3] r, bool t) { d = Identity (c)  r = Neg (a)  t = Not (s) }>
  same = Identity (flag)  cast = Cast <to = 9> (flag)
}"""
    sets = [
        [i64(trips), X[0], np.array(value)] for trips, value in ((3, True), (0, True), (2, False))
    ]
    agree(text, sets, engines, tmp_path)


@needs_engines
def test_an_output_of_an_if_that_is_an_output_of_the_model(
    engines: Engines, tmp_path: Path
) -> None:
    """OpenVINO wrote the sum, computed after the If, over the output of the If."""
    text = """
g (bool c, bool[n] x, int64[1, m] k) => (bool[n] y, int64[1, m] s) <int64 one = {1}> {
  y = If (c) <then_branch = tb () => (bool[n] a) { a = Or (x, x) },
              else_branch = eb () => (bool[n] b) { b = Not (x) }>
  s = Add (k, one)
}"""
    x = np.array([True, True, True, False])
    k = np.array([[1, 2, 3, 4]])
    sets = [[np.array(c), part, some] for c, part, some in ((True, x, k), (False, x[:1], k[:, :2]))]
    agree(text, [*sets, *sets], engines, tmp_path)


@needs_engines
@pytest.mark.parametrize("element", ["int64", "int32", "float", "uint8"])
def test_booleans_of_one_output_of_several(element: str, engines: Engines, tmp_path: Path) -> None:
    """OpenVINO converted output 0 of the Loop and of the Split instead, or failed."""
    text = """
g (int64 M, ELEMENT[4] x, float[2] w) => (bool[2] y, bool[4] z) <int64[2] sizes = {2, 2}> {
  p, q = Split <axis = 0> (x, sizes)
  y = Cast <to = 9> (q)
  v, s = Loop (M, "", w, x) <body = b (int64 i, bool c, float[2] a, ELEMENT[4] e)
      => (bool d, float[2] o, ELEMENT[4] r) { d = Identity (c)  o = Neg (a)  r = Max (e, x) }>
  z = Cast <to = 9> (s)
}""".replace("ELEMENT", element)
    w = np.array([1, 2], F32)
    x = np.array([0, 3, 0, 1], {"float": "float32"}.get(element, element))
    agree(text, [[i64(count), x, w] for count in (2, 0)], engines, tmp_path)


#: The Loop runs at least once, and its output is directly an output of the model.
SHOWN = """
g (float[2] v, int64 n) => (float[q, 2] all, float[r, s] y) <int64[1] one = {1}> {
  last, all = Loop ("", "", v) <body = b (int64 i, bool c, float[2] s)
      => (bool d, float[2] t, float[2] p) { d = Less (i, n)  t = Add (s, v)  p = Identity (s) }>
  READ
}"""

READERS = {
    "Softmax": "y = Softmax <axis = 1> (all)",
    "MatMul": "t = Transpose (all)  y = MatMul (t, all)",
    "ReduceMax": "y = ReduceMax <keepdims = 1> (all)",
}


@needs_engines
@pytest.mark.parametrize("reader_", READERS)
def test_a_concatenated_output_is_read_and_an_output(
    reader_: str, engines: Engines, tmp_path: Path
) -> None:
    sets = [
        [np.array([start, start + 1], F32), i64(trips)]
        for start, trips in ((1, 3), (2, 3), (3, 3), (4, 3), (1, 2), (2, 3), (5, 3))
    ]
    agree(SHOWN.replace("READ", READERS[reader_]), sets, engines, tmp_path)


def test_a_concat_of_one_value(engines: Engines, tmp_path: Path) -> None:
    """OpenVINO computes Abs in place, in memory that `c` and the loop read."""
    text = """
g (float[k] x) => (float[k] last, float[k] y, float[k] c) {
  n = Constant <value_int = 2> ()  one = Constant <value_float = 1.0> ()
  c = Concat <axis = 0> (x)  y = Abs (c)
  last = Loop (n, "", c) <body = b (int64 i, bool ci, float[m] a) => (bool co, float[p] r) {
    co = Identity (ci)  r = Add (a, one) }>
}"""
    agree(
        text,
        [[np.array(row, F32)] for row in ([1, -2, 3], [-4, 5], [0, -1, -2])],
        engines,
        tmp_path,
    )


ONLY_ROW = """
g (int64 M, float[1, 3] row) => (float[3] sum) {
  zeros = Constant <value_floats = [0.0, 0.0, 0.0]> ()
  sum = Loop (M, "", zeros) <body = b (int64 i, bool ci, float[3] s) => (bool co, float[3] t) {
    co = Identity (ci)  first = Constant <value_int = 0> ()
    only = Gather (row, first)
    t = Add (only, s)
  }>
}"""


@needs_engines
def test_the_only_row_of_a_captured_value_is_the_same_in_each_iteration(
    engines: Engines, tmp_path: Path
) -> None:
    # OpenVINO turns this Gather into a reshape without a copy, so an Add of the state could
    # overwrite the row.
    agree(ONLY_ROW, [[i64(3), X[:1]], [i64(2), X[1:]]], engines, tmp_path)


@pytest.mark.parametrize("operation", ["Relu", "Neg", "Exp", "Softmax <axis = 0>"])
@pytest.mark.parametrize("index", ["Identity (i)", "Identity (zero)"])
def test_what_a_single_index_gathers_is_copied_instead_of_the_whole(
    index: str, operation: str, engines: Engines, tmp_path: Path
) -> None:
    """With one row, OpenVINO gathers a view, which the next operation would overwrite."""
    text = f"""
g (int64 n, float[t, 2] x) => (float[k, 2] all, float[k, t, 2] seen) {{
  zero = Constant <value_int = 0> ()
  all, seen = Loop (n, "") <body = b (int64 i, bool c)
    => (bool d, float[2] y, float[t, 2] z) {{
    d = Identity (c)  at = {index}  v = Gather (x, at)  y = {operation} (v)  z = Neg (x) }}>
}}"""
    few, many = np.array([[-1, 2]], F32), np.array([[-1, 2], [3, -4], [-5, 6]], F32)
    sets = [[i64(1), few], [i64(3), many], [i64(1), few], [i64(0), many], [i64(2), many]]
    if index == "Identity (zero)":
        sets += [[i64(3), few], [i64(2), few]]
    agree(text, sets, engines, tmp_path)
    made = irloop.convert(tmp_path / "model.onnx")[0]
    copies = [
        node for node in all_nodes(made.graph) if node.op.type == "Maximum" and body_around(node)
    ]
    assert all(shape_of(node.output).rank == 1 for node in copies)
