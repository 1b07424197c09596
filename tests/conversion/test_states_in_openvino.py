"""States of Loops in OpenVINO: unread states, growing states, and initial values of a Loop that
does not run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from benchmarks.engines import Engines
from irloop.conversion.pipelines import to_openvino
from irloop.formats.onnx import reader
from tests.conversion.both_engines import F32, agree, i64, needs_engines

pytestmark = needs_engines

X2, X3 = np.array([1, 2], F32), np.array([1, 2, 5], F32)
YES, NO = np.array(True), np.array(False)


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


UNREAD = """
g (TYPE[k] x, TYPE[SIZE] y, int64 M, bool c) => (TYPE[q] last) {
  last = Loop (M, c, y) <body = b (int64 i, bool ci, TYPE[p] s) => (bool co, TYPE[w] t) {
    co = Identity (ci)
    NEXT
  }>
}"""


@pytest.mark.parametrize("type", ["float", "int64", "bool", "float16", "double", "int8"])
@pytest.mark.parametrize(
    "following",
    [
        "t = Identity (x)",
        "t = Concat <axis = 0> (x, x)",
        "t = Constant <value = TYPE[3] {1, 0, 1}> ()",
    ],
)
def test_a_state_that_the_body_does_not_read(
    type: str, following: str, engines: Engines, tmp_path: Path
) -> None:
    dtype = {"float": "float32", "double": "float64"}.get(type, type)
    x2, x3 = (np.array(item, dtype) for item in ([1, 0], [1, 0, 1]))
    text = UNREAD.replace("NEXT", following).replace("TYPE", type)
    one = [[x3, x3, i64(0), YES], [x3, x3, i64(2), YES], [x2, x2, i64(3), NO]]
    agree(text.replace("SIZE", "k"), one, engines, tmp_path)
    x6: Any = np.concatenate([x3, x3])
    other = [[x3, x6, i64(0), YES], [x2, x3, i64(0), YES], [x3, x2, i64(2), YES], *one]
    agree(text.replace("SIZE", "m"), other, engines, tmp_path)


def test_an_unread_boolean_state_that_becomes_a_constant(engines: Engines, tmp_path: Path) -> None:
    """OpenVINO refuses a Select of booleans by a constant condition."""
    text = """
g (bool c, bool y) => (bool last) {
  n = Constant <value_int = 3> ()
  last = Loop (n, c, y) <body = b (int64 i, bool ci, bool s) => (bool co, bool t) {
    co = Identity (ci)  t = Constant <value = bool {1}> ()
  }>
}"""
    agree(text, [[a, b] for a in (YES, NO) for b in (YES, NO)], engines, tmp_path)


def test_an_unread_state_of_known_size(engines: Engines, tmp_path: Path) -> None:
    text = UNREAD.replace("NEXT", "t = Neg (x)").replace("TYPE", "float")
    text = text.replace("[k]", "[3]").replace("[SIZE]", "[3]")
    sets = [[X3, X3 * 2, i64(trips), YES] for trips in (0, 2, 0)]
    agree(text, sets, engines, tmp_path)


GROWING = """
g (int64 M, float[2] x) => (float[2] y OUTPUT) {
  three = Constant <value_int = 3> ()  one = Constant <value_floats = [1.0]> ()
  start = START
  grown, y = Loop (COUNT, "", start, x) <body = b (int64 i, bool ci, float[m] a, float[2] s)
      => (bool co, float[p] r, float[2] t) {
    co = Identity (ci)  sum = ReduceSum <keepdims = 0> (a)  t = Add (s, sum)
    r = Concat <axis = 0> (a, one)
  }>
}"""


@pytest.mark.parametrize("output", ["", ", float[q] grown"])
@pytest.mark.parametrize("start", ["Identity (x)", "Constant <value_floats = [2.0]> ()"])
@pytest.mark.parametrize("count", ["three", "M"])
def test_a_growing_state_after_any_number_of_iterations(
    count: str, start: str, output: str, engines: Engines, tmp_path: Path
) -> None:
    text = GROWING.replace("COUNT", count).replace("START", start).replace(" OUTPUT", output)
    sets = [[i64(trips), X2 + trips] for trips in (3, 0, 1, 5, 0)]
    agree(text, sets, engines, tmp_path)


@pytest.mark.parametrize("count", ["M", "I", "three"])
def test_a_state_that_grows_in_a_body(count: str, engines: Engines, tmp_path: Path) -> None:
    text = f"""
g (int64 M, float[2] x) => (float[2] y, float[n] lengths) {{
  three = Constant <value_int = 3> ()  one = Constant <value_floats = [1.0]> ()
  start = Constant <value_floats = [2.0, 3.0]> ()
  y, lengths = Loop (M, "", x) <body = ob (int64 I, bool C, float[2] A)
      => (bool D, float[2] R, float l) {{
    D = Identity (C)
    a, r = Loop ({count}, "", start, A) <body = b (int64 i, bool ci, float[m] a, float[2] s)
        => (bool co, float[p] r, float[2] t) {{
      co = Identity (ci)  sum = ReduceSum <keepdims = 0> (a)  t = Add (s, sum)
      r = Concat <axis = 0> (a, one)
    }}>
    R = Identity (r)  l = ReduceMax <keepdims = 0> (r)
  }}>
}}"""
    agree(text, [[i64(trips), X2] for trips in (2, 0, 3)], engines, tmp_path)


@pytest.mark.parametrize("output", ["", ", float[q] last"])
def test_a_state_that_grows_from_a_bounded_size(
    output: str, engines: Engines, tmp_path: Path
) -> None:
    """OpenVINO knows that `a` has 0 or 1 elements, but must not derive a bound for the state from
    that.
    """
    text = """g (float x, bool go) => (float[k] a, float[n] z OUTPUT) {
  one = Constant <value_int = 1> ()  three = Constant <value_int = 3> ()
  a = Loop <body = b (int64 i, bool c) => (bool d, float s) { d = Identity (c)  s = Neg (x) }>
    (one, go)
  last, z = Loop <body = e (int64 j, bool f, float[m] h) => (bool g, float[l] r, float t) {
    g = Identity (f)  w = Constant <value_floats = [2.0]> ()
    r = Concat <axis = 0> (h, w)  t = ReduceSum <keepdims = 0> (h) }> (three, "", a)
}"""
    sets = [[np.array(x, F32), go] for x, go in ((5, YES), (5, NO), (3, YES))]
    agree(text.replace(" OUTPUT", output), sets, engines, tmp_path)


SIZE_IN_A_BODY = """
g (float[k] x, int64 M) => (float[p] last, int64[q] sizes, float[r] sums) {
  zero = Constant <value_ints = [0]> ()  start = START
  other, last, sizes, sums = Loop (M, "", x, start)
      <body = b (int64 i, bool c, float[m] s, float[n] a)
      => (bool d, float[m] t, float[o] next, int64 size, float sum) {
    d = Identity (c)  t = Neg (s)  read = READ
    shape = Shape (read)  none = Constant <value_int = 0> ()
    size = Gather <axis = 0> (shape, none)
    ones = ConstantOfShape <value = float[1] {1}> (shape)
    sum = ReduceSum <keepdims = 0> (ones)
    next = NEXT
  }>
}"""


@pytest.mark.parametrize("start", ["Identity (x)", "Abs (x)", "Constant <value_floats = [2.0]> ()"])
@pytest.mark.parametrize("read", ["Identity (s)", "Exp (s)", "Identity (x)", "Sqrt (x)"])
@pytest.mark.parametrize(
    "following",
    ["Concat <axis = 0> (a, s)", "Concat <axis = 0> (a, a)", "Concat <axis = 0> (x, a)"],
)
def test_a_size_read_beside_a_growing_state(
    start: str, read: str, following: str, engines: Engines, tmp_path: Path
) -> None:
    """OpenVINO must not take the size of the growing state for that of its initial value."""
    text = SIZE_IN_A_BODY.replace("START", start).replace("READ", read)
    sets = [[X3, i64(4)], [X3, i64(0)], [X2, i64(3)], [X3, i64(1)]]
    agree(text.replace("NEXT", following), sets, engines, tmp_path)


def test_a_size_read_in_an_inner_loop_beside_a_growing_state(
    engines: Engines, tmp_path: Path
) -> None:
    text = """
g (float[2,k] x, int64 M) => (float[2,p] last, int64[q] sizes, float[r,w] joined) {
  last, sizes, joined = Loop (M, "", x) <body = ob (int64 I, bool C, float[2,m] A)
      => (bool D, float[2,n] B, int64 size, float[v] row) {
    D = Identity (C)  none = Constant <value_int = 1> ()
    shape = Shape (x)  size = Gather <axis = 0> (shape, none)
    first, B, row = Loop (size, "", none, A) <body = ib (int64 i, bool c, int64 n, float[2,l] a)
        => (bool d, int64 m, float[2,o] b, float s) {
      one = Constant <value_int = 1> ()  two = Constant <value_int = 2> ()
      m = Add (n, one)  d = Less (m, two)
      sq = Mul (x, x)  length = Size (sq)  s = Cast <to = 1> (length)
      b = Concat <axis = 1> (a, sq)
    }>
  }>
}"""
    x: Any = np.arange(6, dtype=F32).reshape(2, 3)
    sets = [[x, i64(3)], [x[:, :2], i64(2)], [x, i64(0)], [x, i64(3)]]
    agree(text, sets, engines, tmp_path)


@pytest.mark.parametrize("kept", ["a", "b"])
def test_two_states_that_grow_from_one_value(kept: str, engines: Engines, tmp_path: Path) -> None:
    text = """
g (float[k] x, int64 M) => (float[p] u, float[r] v, float[q] sums) {
  u, v, sums = Loop (M, "", x, x) <body = o (int64 i, bool c, float[m] a, float[n] b)
      => (bool d, float[l] s, float[w] t, float sum) {
    d = Identity (c)  shape = Shape (KEPT)
    ones = ConstantOfShape <value = float[1] {1}> (shape)
    sum = ReduceSum <keepdims = 0> (ones)
    s = Concat <axis = 0> (a, x)  t = Concat <axis = 0> (b, b)
  }>
}"""
    sets = [[X3, i64(3)], [X2, i64(2)], [X3, i64(0)], [X3, i64(3)]]
    agree(text.replace("KEPT", kept), sets, engines, tmp_path)


EXCHANGE = """
g (float[n] x, float[m] y, int64 M) => (float[a] p, float[b] q) {
  three = Constant <value_int = 3> ()
  p, q = Loop (COUNT, "", x, y) <body = b (int64 i, bool c, float[k] s, float[l] t)
      => (bool d, float[v] next, float[w] other) {
    d = Identity (c)  next = FIRST (t)  other = SECOND (s)
  }>
}"""


@pytest.mark.parametrize("count", ["three", "M"])
@pytest.mark.parametrize(("first", "second"), [("Identity", "Neg"), ("Exp", "Abs")])
def test_states_of_different_sizes_that_exchange_their_values(
    first: str, second: str, count: str, engines: Engines, tmp_path: Path
) -> None:
    """In the second inference, OpenVINO must not use memory of the first one."""
    text = EXCHANGE.replace("FIRST", first).replace("SECOND", second).replace("COUNT", count)
    sets = [[X3, X2, i64(trips)] for trips in (3, 3, 5, 3, 0, 2, 3)]
    agree(text, [*sets, [X2, X3, i64(3)], [X2, X3, i64(3)]], engines, tmp_path)


@pytest.mark.parametrize("shown", ["first", "second"])
@pytest.mark.parametrize("operation", ["Neg", "Identity", "Tanh"])
def test_an_exchange_of_sizes_in_an_inner_loop(
    operation: str, shown: str, engines: Engines, tmp_path: Path
) -> None:
    text = """
g (float[n] x, float[m] y, int64 M) => (float[a] last, float[b] sums) {
  three = Constant <value_int = 3> ()
  last, sums = Loop (M, "", x) <body = ob (int64 I, bool C, float[D] A)
      => (bool E, float[F] B, float sum) {
    E = Identity (C)  B = Identity (A)
    first, second = Loop (three, "", y, A) <body = b (int64 i, bool c, float[k] s, float[l] t)
        => (bool d, float[v] next, float[w] other) {
      d = Identity (c)  next = Identity (t)  other = OPERATION (s)
    }>
    sum = ReduceSum <keepdims = 0> (SHOWN)
  }>
}""".replace("OPERATION", operation).replace("SHOWN", shown)
    sets = [[X3, X2, i64(trips)] for trips in (3, 0, 1, 4)]
    agree(text, [*sets, [X2, X3, i64(3)]], engines, tmp_path)


def test_a_state_that_grows_and_shrinks(engines: Engines, tmp_path: Path) -> None:
    text = """
g (float[n] x, float[m] y, int64 M) => (float[a] last) {
  last = Loop (M, "", x) <body = b (int64 i, bool c, float[k] s) => (bool d, float[l] t) {
    d = Identity (c)  two = Constant <value_int = 2> ()  none = Constant <value_int = 0> ()
    odd = Mod (i, two)  even = Equal (odd, none)
    t = If (even) <
      then_branch = grow () => (float[v] u) { u = Concat <axis = 0> (s, y) },
      else_branch = shrink () => (float[w] r) {
        zero = Constant <value_ints = [0]> ()  end = Constant <value_ints = [3]> ()
        r = Slice (s, zero, end, zero)
      }
    >
  }>
}"""
    agree(text, [[X3, X2, i64(trips)] for trips in (3, 3, 5, 0, 3, 4, 3)], engines, tmp_path)


@pytest.mark.parametrize("type", ["float", "int64", "bool", "float16"])
def test_a_state_that_becomes_empty(type: str, engines: Engines, tmp_path: Path) -> None:
    text = """
g (TYPE[n] x, int64 M) => (TYPE[a] last, int64[b] sizes) {
  last, sizes = Loop (M, "", x) <body = b (int64 i, bool c, TYPE[k] s)
      => (bool d, TYPE[l] t, int64 size) {
    d = Identity (c)  t = Constant <value = TYPE[0] {}> ()  size = Size (s)
  }>
}""".replace("TYPE", type)
    dtype = {"float": "float32"}.get(type, type)
    x2, x3 = (np.array(item, dtype) for item in ([1, 0], [1, 0, 1]))
    sets = [[x3, i64(2)], [x2, i64(0)], [x3, i64(1)], [x2, i64(0)], [x2, i64(3)]]
    agree(text, sets, engines, tmp_path)


@pytest.mark.parametrize("first", ["x", "y"])
def test_a_state_of_which_the_body_reads_only_the_size(
    first: str, engines: Engines, tmp_path: Path
) -> None:
    """OpenVINO takes the size from another state, so that nothing reads this one."""
    text = """
g (float[k] x, float[k] y, int64 M) => (float[h] u, float[p] last, float[q] sums) {
  u, last, w, sums = Loop (M, "", FIRST, x, x)
      <body = b (int64 i, bool c, float[l] a, float[m] s, float[n] t)
      => (bool d, float[o] e, float[v] next, float[z] same, float sum) {
    d = Identity (c)  next = Identity (t)  same = Identity (t)
    zero = Constant <value_ints = [0]> ()  row = Unsqueeze (x, zero)  whole = Shape (x)
    e = Reshape (row, whole)  shape = Shape (s)  half = Constant <value_float = 0.5> ()
    halves = Expand (half, shape)  sum = ReduceSum <keepdims = 0> (halves)
  }>
}""".replace("FIRST", first)
    sets = [[x, x + 1, i64(trips)] for x, trips in ((X3, 3), (X2, 0), (X3, 0), (X2, 1), (X3, 0))]
    agree(text, sets, engines, tmp_path)


def test_a_growing_state_as_a_scan_stays_a_loop(engines: Engines, tmp_path: Path) -> None:
    text = """
g (float[2] x) => (float[k] last, int64[j] numbers) {
  n = Constant <value_int = 3> ()  one = Constant <value_floats = [1.0]> ()
  last, numbers = Loop (n, "", x) <body = b (int64 i, bool c, float[m] a)
      => (bool d, float[p] r, int64 s) {
    d = Identity (c)  s = Identity (i)  r = Concat <axis = 0> (a, one) }>
}"""
    agree(text, [[X2], [X2 + 1]], engines, tmp_path, loops="scan")


@pytest.mark.parametrize("lower", [1, 6])
def test_the_initial_value_may_be_smaller_than_the_body_result(
    lower: int, engines: Engines, tmp_path: Path
) -> None:
    """OpenVINO derives a bound for the last value from the Concat: at least `lower` elements."""
    text = f"""
g (int64 M, float[k] x) => (float[q] last, float[q] more) {{
  part = Constant <value = float[{lower}] {{{", ".join(["3"] * lower)}}}> ()
  last = Loop (M, "", x) <body = b (int64 i, bool ci, float[m] s) => (bool co, float[p] t) {{
    co = Identity (ci)  t = Concat <axis = 0> (s, part) }}>
  more = Concat <axis = 0> (last, last)
}}"""
    sets = [[i64(0), X2], [i64(2), X2], [i64(0), X3], [i64(1), X2[:0]], [i64(0), X2[:0]]]
    agree(text, sets, engines, tmp_path)


def test_no_operations_are_added_for_states_of_known_size() -> None:
    """The state is read and the Loop runs, so the CPU plugin keeps the state without help."""
    text = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x) => (float[2] last, float[n, 2] all) {
  three = Constant <value_int = 3> ()
  last, all = Loop (three, "", x) <body = b (int64 i, bool ci, float[2] s)
      => (bool co, float[2] t, float[2] u) { co = Identity (ci)  t = Add (s, s)  u = Neg (t) }>
}"""
    model, _ = to_openvino(reader.from_proto(onnx.parser.parse_model(text)))
    (loop,) = (node for node in model.graph.nodes if node.op.type == "Loop")
    assert [node.op.type for node in model.graph.nodes if node.op.type != "Const"] == ["Loop"]
    inside = [node.op.type for node in loop.body().graph.nodes]
    assert [kind for kind in inside if kind != "Const"] == ["Add", "Negative", "Unsqueeze"]
