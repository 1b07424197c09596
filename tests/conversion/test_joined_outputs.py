"""Concatenated outputs of Loops in OpenVINO, also after zero iterations, early stops, in bodies."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.graph.walk import all_nodes
from tests.conversion.both_engines import F32, agree, i64, needs_engines

pytestmark = needs_engines

X = np.array([1, 2], F32)
YES, NO = np.array(True), np.array(False)

#: The trip count, initial condition, last iteration before the condition stops the loop, and state.
RUNS = [
    [i64(4), YES, i64(2), X],
    [i64(0), YES, i64(1), X],
    [i64(5), NO, i64(1), X],
    [i64(3), YES, i64(5), X],
    [i64(0), NO, i64(1), X],
    [i64(1), YES, i64(1), X],
]

LOOP = """
g (int64 M, bool c, int64 k, float[2] x) => (float[2] last, float[n, 2] all, int64[n] numbers) {
  three = Constant <value_int = 3> ()
  last, all, numbers = Loop (TRIP, STARTS, x) <
    body = b (int64 i, bool ci, float[2] s) => (bool co, float[2] t, float[2] u, int64 j) {
      co = GOES  t = Neg (s)  u = Identity (t)  j = Identity (i)
    }>
}
"""


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("first", ["runs first", "does not run first"])
@pytest.mark.parametrize("starts", ["c", '""'])
@pytest.mark.parametrize(
    ("trip", "goes"),
    [
        ("M", "Less (i, k)"),
        ('""', "Less (i, k)"),
        ("three", "Less (i, k)"),
        ("M", "Identity (ci)"),
        ("three", "Identity (ci)"),
    ],
)
def test_runs_with_and_without_iterations(
    trip: str, goes: str, starts: str, first: str, engines: Engines, tmp_path: Path
) -> None:
    text = LOOP.replace("TRIP", trip).replace("GOES", goes).replace("STARTS", starts)
    sets = RUNS if first == "runs first" else [RUNS[4], *RUNS]
    agree(text, sets, engines, tmp_path)


#: A Loop with a computed length in the body of each other construct.
INNER = """
    a, y = Loop (COUNT, "", h) <body = q (int64 j, bool e, float[2] v)
        => (bool f, float[2] w, float[2] z) { f = GOES  w = Neg (v)  z = Add (w, w) }>
"""
OUTER = {
    "Loop": """
g (int64 M, int64 k, float[2] x) => (float[2] last, float[n, 2] sums, int64[n] counts) {
  axis = Constant <value_ints = [0]> ()
  last, sums, counts = Loop (M, "", x) <body = b (int64 i, bool ci, float[2] h)
      => (bool co, float[2] t, float[2] sum, int64 count) {
    co = Identity (ci)
    INNER
    t = Add (a, x)  sum = ReduceSum <keepdims = 0> (y, axis)  l = Shape (y)
    at = Constant <value_int = 0> ()  count = Gather (l, at)
  }>
}""",
    "Scan": """
g (int64 M, int64 k, float[2] x) => (float[2] last, float[3, 2] sums, int64[3] counts) {
  axis = Constant <value_ints = [0]> ()
  numbers = Constant <value_ints = [2, 0, 1]> ()
  last, sums, counts = Scan <num_scan_inputs = 1, body = b (float[2] h, int64 i)
      => (float[2] t, float[2] sum, int64 count) {
    INNER
    t = Add (a, x)  sum = ReduceSum <keepdims = 0> (y, axis)  l = Shape (y)
    at = Constant <value_int = 0> ()  count = Gather (l, at)
  }> (x, numbers)
}""",
    "If": """
g (int64 M, int64 k, float[2] x) => (float[2] sum, int64 count) {
  axis = Constant <value_ints = [0]> ()  i = Constant <value_int = 2> ()
  odd = Constant <value_int = 3> ()  c = Less (M, odd)
  sum, count = If (c) <
    then_branch = tb () => (float[2] s, int64 d) {
      h = Identity (x)
      INNER
      s = ReduceSum <keepdims = 0> (y, axis)  l = Shape (y)
      at = Constant <value_int = 0> ()  d = Gather (l, at)
    },
    else_branch = eb () => (float[2] u, int64 e) { u = Neg (x)  e = Identity (M) }>
}""",
}


@pytest.mark.parametrize("goes", ["Identity (e)", "Less (j, k)"])
@pytest.mark.parametrize(
    ("outer", "count"), [("Loop", "i"), ("Loop", "M"), ("Scan", "i"), ("If", "M")]
)
def test_concatenated_outputs_of_a_loop_in_a_body(
    outer: str, count: str, goes: str, engines: Engines, tmp_path: Path
) -> None:
    text = OUTER[outer].replace("INNER", INNER).replace("COUNT", count).replace("GOES", goes)
    sets = [[i64(trips), i64(k), X] for trips, k in ((2, 1), (0, 3), (4, 0), (1, 5))]
    agree(text, sets, engines, tmp_path)


def test_scan8_of_short_sequences(engines: Engines, tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 8]>
g (int64[2] lens, float[2, 1] h, float[2, 4, 1] x) => (float[2, 1] last, float[2, 4, 1] all) {
  last, all = Scan <num_scan_inputs: int = 1, body = b (float[1] a, float[1] e)
      => (float[1] n, float[1] m) { n = Add (a, e)  m = Neg (n) }> (lens, h, x)
}"""
    x = np.arange(8, dtype=F32).reshape(2, 4, 1) + 1
    sets = [[i64(lens), np.zeros((2, 1), F32), x * lens[0]] for lens in ([2, 4], [1, 1], [4, 3])]
    agree(text, sets, engines, tmp_path)


@pytest.mark.parametrize("lengths", ["lens", ""])
@pytest.mark.parametrize("batch", ["2", "B"])
def test_scan8_that_reads_one_input_from_its_end(
    lengths: str, batch: str, engines: Engines, tmp_path: Path
) -> None:
    text = f"""<ir_version: 8, opset_import: ["": 8]>
g (int64[{batch}] lens, float[{batch}, 1] h, float[{batch}, 3, 1] x, float[{batch}, 3, 1] y,
   float[1] w) => (float[{batch}, 1] last, float[{batch}, 3, 1] all) {{
  last, all = Scan <num_scan_inputs: int = 2, directions = [0, 1],
    body = b (float[1] s, float[1] p, float[1] q) => (float[1] n, float[1] m) {{
      a = Sub (s, p)  v = Mul (w, q)  n = Add (a, v)  m = Neg (n)
    }}> (LENGTHS, h, x, y)
}}""".replace("LENGTHS", lengths or '""')
    x = np.arange(6, dtype=F32).reshape(2, 3, 1) + 1
    h, w = np.array([[3], [-2]], F32), np.array([2], F32)
    sets = [[i64(lens), h, x * lens[0], x * x, w] for lens in ([2, 3], [1, 1], [3, 2])]
    agree(text, sets, engines, tmp_path)


WHILE = """
g (LIMIT int64 k, float[2] x) => (float[2] last, float[n, 2] all) {
  MADE
  last, all = Loop (M, "", x) <body = b (int64 i, bool ci, float[2] s)
      => (bool co, float[2] t, float[2] u) { co = Less (i, k)  t = Neg (s)  u = Identity (t) }>
}"""


@pytest.mark.parametrize("limit", [2**31 - 1, 2**31 + 5, 2**32, 2**63 - 1])
def test_a_limit_beyond_32_bits_means_no_limit(
    limit: int, engines: Engines, tmp_path: Path
) -> None:
    constant = WHILE.replace("LIMIT", "").replace("MADE", f"M = Constant <value_int = {limit}> ()")
    agree(constant, [[i64(3), X], [i64(0), X], [i64(1), X]], engines, tmp_path)
    given = WHILE.replace("LIMIT", "int64 M,").replace("MADE", "")
    sets = [[i64(m), i64(k), X] for m, k in ((limit, 3), (2, 5), (limit, 1), (0, 1), (-3, 4))]
    agree(given, sets, engines, tmp_path)


@pytest.mark.parametrize("limit", [2**31 - 1, 2**31, 2**32 + 2, 2**63 - 1])
@pytest.mark.parametrize("deep", [False, True])
def test_a_captured_limit_beyond_32_bits_means_no_limit(
    limit: int, deep: bool, engines: Engines, tmp_path: Path
) -> None:
    """OpenVINO passes only the low 32 bits of an input to bodies."""
    inner = """a, r = Loop (M, "", s) <body = b (int64 i, bool ci, float[2] p)
          => (bool co, float[2] q, float[2] u) { co = Less (i, k)  q = Neg (p)  u = Identity (q) }>
        t = ReduceSum <keepdims = 0> (r, zero)"""
    branch = f"""t = If (c) <then_branch = tb () => (float[2] v) {{
      {inner.replace("t = ", "v = ")} }}, else_branch = eb () => (float[2] w) {{ w = Neg (s) }}>"""
    text = f"""
g (int64 M, int64 k, bool c, float[2] x) => (float[2] last) {{
  n = Constant <value_int = 2> ()  zero = Constant <value_ints = [0]> ()
  last = Loop (n, "", x) <body = o (int64 I, bool C, float[2] s) => (bool D, float[2] t) {{
    D = Identity (C)
    {branch if deep else inner} }}>
}}"""
    numbers = ((limit, 2, YES), (2, 5, YES), (limit, 1, NO), (0, 1, YES), (-3, 4, YES))
    agree(text, [[i64(m), i64(k), c, X] for m, k, c in numbers], engines, tmp_path)


COUNTS = {
    "smaller of two": ("count = Min (M, four)", "count"),
    "one less": ("count = Sub (M, one)", "count"),
    "state": ("count = Identity (M)", "m"),
}


@pytest.mark.parametrize("limit", [2**31, 2**32, 2**63 - 1])
@pytest.mark.parametrize("kind", COUNTS)
def test_a_computed_or_carried_limit_that_openvino_cannot_count_to(
    kind: str, limit: int, engines: Engines, tmp_path: Path
) -> None:
    made, used = COUNTS[kind]
    text = f"""
g (int64 M, int64 k, float[2] x) => (float[2] last) {{
  n = Constant <value_int = 2> ()  zero = Constant <value_ints = [0]> ()
  one = Constant <value_int = 1> ()  four = Constant <value_int = 4> ()
  {made}
  left, last = Loop (n, "", count, x) <body = o (int64 I, bool C, int64 m, float[2] s)
      => (bool D, int64 l, float[2] t) {{
    D = Identity (C)  l = Sub (m, one)
    a, r = Loop ({used}, "", s) <body = b (int64 i, bool ci, float[2] p)
      => (bool co, float[2] q, float[2] u) {{ co = Less (i, k)  q = Neg (p)  u = Identity (q) }}>
    t = ReduceSum <keepdims = 0> (r, zero) }}>
}}"""
    sets = [[i64(m), i64(k), X] for m, k in ((limit, 2), (2, 5), (limit, 1), (0, 1), (-3, 4))]
    agree(text, sets, engines, tmp_path)


DTYPES = ["int8", "uint8", "int32", "int64", "float16", "double", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_concatenated_outputs_of_every_element_type(
    dtype: str, engines: Engines, tmp_path: Path
) -> None:
    text = f"""
g (int64 M, {dtype}[2] x) => ({dtype}[2] last, {dtype}[n, 2] all) {{
  last, all = Loop (M, "", x) <body = b (int64 i, bool ci, {dtype}[2] s)
      => (bool co, {dtype}[2] t, {dtype}[2] u) {{
    co = Identity (ci)  order = Constant <value_ints = [1, 0]> ()
    t = Gather (s, order)  u = Identity (s) }}>
}}"""
    x: Any = np.array([1, 0], {"double": "float64"}.get(dtype, dtype))
    agree(text, [[i64(trips), x] for trips in (3, 0, 2, 0)], engines, tmp_path)


def test_joined_parts_whose_size_has_bounds(engines: Engines, tmp_path: Path) -> None:
    """OpenVINO infers 2 to 3 elements from the branches, but returns 0 after zero iterations."""
    text = """
g (int64 M, bool c, float[3] x) => (float[n, m] all) {
  start = Constant <value_ints = [0]> ()  end = Constant <value_ints = [2]> ()
  part = If (c) <then_branch = tb () => (float[3] a) { a = Neg (x) },
                 else_branch = eb () => (float[2] b) { b = Slice (x, start, end) }>
  all = Loop (M, "") <body = b (int64 i, bool ci) => (bool co, float[k] u) {
    co = Identity (ci)  u = Exp (part) }>
}"""
    x = np.array([1, 2, 3], F32)
    sets = [[i64(trips), taken, x] for trips, taken in ((0, NO), (2, YES), (0, YES), (1, NO))]
    agree(text, sets, engines, tmp_path)


#: The sizes of the concatenated values are known only at run time.
SIZES = """
g (int64 M, bool c, int64 k, float[a, 3, b] x)
    => (int64[4] shape, float[a, 3, b] sum, int64[n] counts) {
  axis = Constant <value_ints = [0]> ()  three = Constant <value_int = 3> ()
  all, counts = Loop (TRIP, c) <body = q (int64 i, bool d)
      => (bool go, float[a, 3, b] u, int64 j) { go = GOES  u = Neg (x)  j = Identity (i) }>
  shape = Shape (all)  sum = ReduceSum <keepdims = 0> (all, axis)
}"""


@pytest.mark.parametrize("first", ["runs first", "does not run first"])
@pytest.mark.parametrize(
    ("trip", "goes"), [("M", "Less (i, k)"), ("M", "Identity (d)"), ("three", "Identity (d)")]
)
def test_unknown_sizes_of_a_joined_output_without_iterations_are_0(
    trip: str, goes: str, first: str, engines: Engines, tmp_path: Path
) -> None:
    """The unknown sizes are 0, whatever sizes an earlier inference had."""
    runs = RUNS if first == "runs first" else [RUNS[4], *RUNS]
    sizes = [(2, 1), (4, 2), (1, 3), (2, 2), (5, 1), (3, 4), (2, 1)]
    sets: list[list[Any]] = [
        [*given[:3], np.arange(3 * a * b, dtype=F32).reshape(a, 3, b)]
        for given, (a, b) in zip(runs, sizes, strict=False)
    ]
    agree(SIZES.replace("TRIP", trip).replace("GOES", goes), sets, engines, tmp_path)


SIZES_IN_LOOPS = """
g (int64[n] counts, float[a, 3] x) => (float last, int64[n, 3] shapes) {
  zero = Constant <value_float = 0.0> ()
  last, shapes = Scan <num_scan_inputs = 1, body = b (float h, int64 i)
      => (float t, int64[3] shape) {
    y = Loop (i, "") <body = q (int64 j, bool e) => (bool f, float[a, 3] z) {
      f = Identity (e)  z = Add (x, h) }>
    shape = Shape (y)  sum = ReduceSum <keepdims = 0> (y)  t = Add (h, sum)
  }> (zero, counts)
}"""


def test_unknown_sizes_of_what_no_iteration_of_a_nested_loop_joins(
    engines: Engines, tmp_path: Path
) -> None:
    given = [([2, 0, 1], 2), ([0], 3), ([1, 0], 4), ([0, 3], 2)]
    sets = [[i64(counts), np.ones((size, 3), F32)] for counts, size in given]
    agree(SIZES_IN_LOOPS, sets, engines, tmp_path)


def test_known_sizes_of_a_loop_that_does_not_start(engines: Engines, tmp_path: Path) -> None:
    """A Squeeze reads a concatenated output whose other sizes OpenVINO must not assume to be 0."""
    text = """
g (int64[2] n, float[?, 1, 1] x)
    => (float[?, 1, 1] last, float[?, 1, ?] wide, float[?, ?, 1, 1] joined, float[?, ?, 1] all)
<int64 five = {5}, int64 four = {4}, int64[1] two = {2}> {
  sum = ReduceSum <keepdims = 0> (n)
  c = Greater (sum, five)
  last, wide, joined = Loop (four, c, x, x) <
    body = b (int64 i, bool ci, float[?, 1, 1] s, float[?, 1, ?] w)
      => (bool co, float[?, 1, 1] t, float[?, 1, ?] v, float[?, 1, 1] u) <bool co = {0}> {
      t = Neg (s)  v = Concat <axis = 2> (w, w)  u = Identity (t)
    }>
  all = Squeeze (joined, two)
}
"""
    x = np.array([[[1]], [[2]], [[3]]], F32)
    sets = [[i64([1, 2]), x], [i64([3, 4]), x], [i64([0, 0]), x[:2]], [i64([9, 9]), x[:1]]]
    agree(text, sets, engines, tmp_path)


#: What an iteration joins, from x of [a, 3] and a state of its shape: the second entry tells
#: whether OpenVINO may infer a size above 0, so that the size must be hidden from it.
PARTS = {
    "elementwise": ("p = Add (s, x)  u = Mul (p, three)", False),
    "a product": ("u = MatMul (s, w)", False),
    "a sum": ("u = ReduceSum <keepdims = 1> (s, one)", False),
    "turned axes": ("p = Unsqueeze (s, one)  u = Squeeze (p, one)", False),
    "an added row": ("u = Concat <axis = 0> (s, row)", True),
    "an added row in a sum": ("p = Concat <axis = 0> (s, row)  u = Neg (p)", True),
    "a part": ("p = Concat <axis = 0> (row, s)  u = Slice (p, zero, one)", True),
}


@pytest.mark.parametrize("kind", PARTS)
def test_only_sizes_with_bounds_are_hidden(kind: str, engines: Engines, tmp_path: Path) -> None:
    body, hidden = PARTS[kind]
    text = f"""
g (int64 M, float[a, 3] x, float[3, 3] w) => (float[n, m, q] all) {{
  three = Constant <value_float = 3.0> ()  one = Constant <value_ints = [1]> ()
  zero = Constant <value_ints = [0]> ()
  row = Constant <value = float[1, 3] {{1, 2, 3}}> ()
  last, all = Loop (M, "", x) <body = b (int64 i, bool ci, float[a, 3] s)
      => (bool co, float[a, 3] t, float[k, l] u) {{ co = Identity (ci)  t = Neg (s)  {body} }}>
}}"""
    w = np.arange(9, dtype=F32).reshape(3, 3)
    sets = [
        [i64(trips), np.arange(3 * size, dtype=F32).reshape(size, 3), w]
        for trips, size in ((0, 2), (2, 3), (0, 4), (1, 1), (0, 0))
    ]
    agree(text, sets, engines, tmp_path)
    made = irloop.convert(tmp_path / "model.onnx")[0]
    assert ("Tile" in {node.op.type for node in all_nodes(made.graph)}) is hidden
