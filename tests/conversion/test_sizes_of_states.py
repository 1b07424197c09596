"""States in OpenVINO on whose size an inner loop or a NonZero depends.

The state has a known initial size, and another size later. ONNX Runtime gives the expected numbers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.graph.walk import all_nodes
from tests.conversion.both_engines import F32, agree, i64, needs_engines

pytestmark = needs_engines

MODEL = """
g (float[START] x, float[SIZE] y, int64 M) => (float[p] last, float[r] sums) {
  last, sums = Loop (M, "", x) <body = ob (int64 I, bool C, float[a] S)
      => (bool D, float[b] T, float sum) {
    D = Identity (C)  zero = Constant <value_floats = [0.0]> ()  size = Size (S)
    two = Constant <value_int = 2> ()  three = Constant <value_int = 3> ()
    INNER
    sum = ReduceSum <keepdims = 0> (js)
    NEXT
  }>
}"""

BODY = """<body = ib (int64 i, bool c, float[1] s) => (bool d, float[1] t, float o) {
      CONDITION  f = Cast <to = 1> (i)  t = Add (s, f)  o = ReduceSum <keepdims = 0> (t)
    }>"""
GOES_ON = BODY.replace("CONDITION", "d = Identity (c)")
STOPS = BODY.replace("CONDITION", "d = Less (size, two)")
SCAN = """Scan <num_scan_inputs = 1, body = ib (float[1] s, float e) => (float[1] t, float o) {
      t = Add (s, e)  o = ReduceSum <keepdims = 0> (t)
    }>"""

#: Inner loops whose trip count, first condition, condition, or slices depend on the size of S.
INNER = {
    "trip count": f'rest, js = Loop (size, "", zero) {GOES_ON}',
    "first condition": f"yes = Less (size, two)  rest, js = Loop (three, yes, zero) {GOES_ON}",
    "condition": f'rest, js = Loop (three, "", zero) {STOPS}',
    "condition and trip count": f'rest, js = Loop (size, "", zero) {STOPS}',
    "slices": f"rest, js = {SCAN} (zero, S)",
    "slices of a value": f"S2 = Concat <axis = 0> (S, S)  rest, js = {SCAN} (zero, S2)",
    "in a branch": f"""yes = Less (size, three)  js = If (yes) <
      then_branch = then () => (float[u] one) {{ rest, one = Loop (size, "", zero) {GOES_ON} }},
      else_branch = else () => (float[v] other) {{ other = Neg (S) }}>""",
    "in a loop": f"""rest, js = Loop (two, "", zero) <body = mb (int64 j, bool e, float[1] h)
      => (bool k, float[1] n, float q) {{
        k = Identity (e)  begin = Identity (zero)
        rest2, js2 = {SCAN} (begin, S)
        all = ReduceSum (js2)  n = Add (h, all)  q = ReduceSum <keepdims = 0> (n)
      }}>""",
}

NEXT = {
    "grows": "T = Concat <axis = 0> (S, y)",
    "is replaced": "T = Identity (y)",
    "has another size": "T = Constant <value_floats = [1.0, 2.0]> ()",
}


X2 = np.array([1, 2], F32)


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("start", [1, 3])
@pytest.mark.parametrize("following", NEXT)
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("size", ["n", "2"])
def test_inner_loops(
    size: str, inner: str, following: str, start: int, engines: Engines, tmp_path: Path
) -> None:
    text = MODEL.replace("START", str(start)).replace("SIZE", size)
    text = text.replace("INNER", INNER[inner]).replace("NEXT", NEXT[following])
    # Several inferences, with other sizes, and without an iteration; ONNX Runtime refuses a Scan
    # over nothing.
    given = [(2, 2), (2, 3), (2, 0)] if size == "2" else [(1, 2), (3, 3), (3, 1), (3, 0), (5, 4)]
    sets = [
        [np.arange(start, dtype=F32) + 1, np.arange(count, dtype=F32), i64(trips)]
        for count, trips in given
    ]
    agree(text, sets, engines, tmp_path)


def test_an_initial_value_as_large_as_an_input(engines: Engines, tmp_path: Path) -> None:
    """OpenVINO knows no upper bound of its size, so the size needs no repair."""
    text = """g (float[b, 2] x, int64 M) => (float[r] sums) {
  two = Constant <value_ints = [2]> ()  zero = Constant <value_floats = [0.0]> ()
  sizes = Shape (x)  first = Constant <value_ints = [0]> ()
  batch = Gather (sizes, first)  whole = Concat <axis = 0> (batch, two)
  half = Constant <value_float = 0.5> ()  filled = Expand (half, whole)
  last, sums = Loop (M, "", filled) <body = ob (int64 I, bool C, float[b, 2] S)
      => (bool D, float[b, 2] T, float sum) {
    D = Identity (C)  size = Size (S)
    rest, js = Loop (size, "", zero) <body = ib (int64 i, bool c, float[1] s)
        => (bool d, float[1] t, float o) {
      d = Identity (c)  f = Cast <to = 1> (i)  t = Add (s, f)  o = ReduceSum <keepdims = 0> (t)
    }>
    sum = ReduceSum <keepdims = 0> (js)  axis = Constant <value_ints = [1]> ()
    column = ReduceMax <axes = [1]> (x)  more = Mul (column, x)  kept = Mul (column, S)
    T = Add (more, kept)
  }>
}"""
    sets = [
        [np.arange(2 * batch, dtype=F32).reshape(batch, 2) / 8, i64(trips)]
        for batch, trips in ((1, 2), (3, 3), (2, 0), (4, 1), (1, 3))
    ]
    agree(text, sets, engines, tmp_path)
    nodes = irloop.read_model(tmp_path / "model.xml").graph.nodes
    (loop,) = (node for node in nodes if node.op.type == "Loop")
    assert "Broadcast" in {value.producer.op.type for value in loop.inputs if value is not None}


def test_two_states_with_one_initial_value(engines: Engines, tmp_path: Path) -> None:
    """OpenVINO took the size of the one state for that of the other."""
    text = """g (int64 M, float[2] y) => (float[p] last, float[q] sums) {
  last, sums = Loop (M, "", y, y) <body = ob (int64 I, bool C, float[a] S, float[b] R)
      => (bool D, float[c] T, float[d] U) {
    both = Concat <axis = 0> (S, R)  size = Size (R)  three = Constant <value_int = 3> ()
    rest, joined = Loop (three, "", size) <body = ib (int64 i, bool c, int64 s)
        => (bool e, int64 t, float o) {
      e = Identity (c)  t = Identity (s)  o = ReduceSum <keepdims = 0> (both)
    }>
    zero = Constant <value_ints = [0]> ()  end = Shape (R)  first = Slice (both, zero, end, zero)
    T = Neg (first)  U = Neg (joined)  twenty = Constant <value_int = 20> ()
    count = Size (both)  D = Less (count, twenty)
  }>
}"""
    sets = [[i64(trips), np.array([1, 2], F32) + trips] for trips in (3, 1, 0, 2)]
    agree(text, sets, engines, tmp_path)


NONZERO = {
    "of a count": "T = Cast <to = 1> (places)",
    "selects from a count": """half = Constant <value_float = 0.5> ()
      large = Greater (number, half)  T = Compress <axis = 0> (number, large)""",
    "in a branch": """yes = Greater (size, two)  T = If (yes) <
      then_branch = then () => (float[u] v) { v = Cast <to = 1> (places) },
      else_branch = else () => (float[w] z) { z = Concat <axis = 0> (S, number) }>""",
}


@pytest.mark.parametrize("nonzero", NONZERO)
@pytest.mark.parametrize("trips", ["M", "three"])
def test_a_nonzero_of_a_changing_size(
    trips: str, nonzero: str, engines: Engines, tmp_path: Path
) -> None:
    text = f"""g (int64 M, float[4] x) => (float[p] last) {{
  three = Constant <value_int = 3> ()
  last = Loop ({trips}, "", x) <body = b (int64 i, bool c, float[a] S)
      => (bool d, float[b] T) {{
    d = Identity (c)  size = Size (S)  two = Constant <value_int = 2> ()
    zero = Constant <value_int = 0> ()  one = Constant <value_int = 1> ()
    count = Range (zero, size, one)  number = Cast <to = 1> (count)
    found = NonZero (count)  axis = Constant <value_ints = [0]> ()  places = Squeeze (found, axis)
    {NONZERO[nonzero]}
  }}>
}}"""
    sets = [[i64(count), np.arange(4, dtype=F32) / 8] for count in (3, 0, 2, 1)]
    agree(text, sets, engines, tmp_path)


def test_an_initial_value_that_only_openvino_knows(engines: Engines, tmp_path: Path) -> None:
    """The size that hides that of the initial value must not follow from the initial value."""
    text = """g (float[n] x, float[2] y) => (float[p] last) {
  sizes = Shape (y)  half = Constant <value_float = 0.5> ()  more = Constant <value_float = 1.5> ()
  filled = Expand (more, sizes)  large = Greater (filled, half)
  known = Compress <axis = 0> (filled, large)  first = Constant <value_floats = [0.25, 0.75]> ()
  rest, last = Loop (sizes, "", known, first) <body = b (int64 i, bool c, float[a] S, float[b] R)
      => (bool d, float[e] T, float[f] U) {
    d = Identity (c)  size = Size (S)  seven = Constant <value_int = 7> ()
    few = Less (size, seven)  T = If (few) <
      then_branch = then () => (float[u] v) { v = Identity (x) },
      else_branch = else () => (float[w] z) { z = Identity (R) }>
    U = Identity (known)
  }>
}"""
    sets = [[np.arange(count, dtype=F32), X2] for count in (3, 1, 8)]
    agree(text, sets, engines, tmp_path)


#: What a loop does to a state of unknown size, and whether it keeps the size.
STEPS = {
    "padded and cut": ("p = Pad (s, ends)  u = Slice (p, zero, last, zero)", True),
    "padded and cut at both ends": ("p = Pad (s, both)  u = Slice (p, one, last, zero)", True),
    "cut to a part": ("p = Pad (s, ends)  u = Slice (p, zero, two, zero)", False),
    "cut more": ("p = Pad (s, ends)  u = Slice (p, one, last, zero)", False),
    "only padded": ("u = Pad (s, ends)", False),
}


@pytest.mark.parametrize("kind", STEPS)
def test_only_states_that_change_their_sizes_are_guarded(
    kind: str, engines: Engines, tmp_path: Path
) -> None:
    step, keeps = STEPS[kind]
    text = f"""
g (int64 n, float[a, 2] x) => (float[b, 2] y, float z) {{
  zero = Constant <value_ints = [0]> ()  one = Constant <value_ints = [1]> ()
  two = Constant <value_ints = [2]> ()  last = Constant <value_ints = [-1]> ()
  ends = Constant <value_ints = [0, 0, 1, 0]> ()  both = Constant <value_ints = [1, 0, 1, 0]> ()
  three = Constant <value_int = 3> ()
  y = Loop (TRIPS, "", x) <body = b (int64 i, bool c, float[d, 2] s) => (bool e, float[f, 2] t) {{
    e = Identity (c)  {step}  t = Neg (u) }}>
  z = ReduceSum <keepdims = 0> (y)
}}"""
    sets = [
        [i64(trips), np.arange(2 * size, dtype=F32).reshape(size, 2) + 1]
        for trips, size in ((3, 4), (0, 3), (2, 1), (1, 2), (3, 4), (1, 0), (0, 0), (2, 5))
    ]
    agree(text.replace("TRIPS", "n"), sets, engines, tmp_path)
    agree(text.replace("TRIPS", "three"), sets, engines, tmp_path)
    made = irloop.convert(tmp_path / "model.onnx")[0]
    assert ("Tile" not in {node.op.type for node in all_nodes(made.graph)}) is keeps


@pytest.mark.parametrize("name", ["size of x", "size of x + y", f"size of 1_0 + {'9' * 5000}"])
def test_a_model_may_name_its_dimensions_as_sizes_of_states(name: str) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[a, 2] x, float[1, 2] z) '
        "=> (float[b, 2] y) { y = Concat <axis = 0> (x, z) }"
    )
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = name
    made, _ = irloop.convert(model)
    array = np.arange(6, dtype=F32).reshape(3, 2)
    (y,) = irloop.run(made, [array, array[:1]]).values()
    assert y.tolist() == [*array.tolist(), [0, 1]]


def test_a_guard_is_no_finding(engines: Engines, tmp_path: Path) -> None:
    """The state that keeps OpenVINO from memory that has moved grows, and only its first element is
    read: the engine computes that rightly, so there is nothing to warn of.
    """
    text = """g (float[n, p] x, float[q] start) => (float[r] last) {
  zero = Constant <value_int = 0> ()  sizes = Shape (x)  n = Gather (sizes, zero)
  last = Loop (n, "", start) <body = b (int64 i, bool c, float[u] s) => (bool d, float[v] t) {
    d = Identity (c)  row = Gather (x, i)  t = Add (s, row)
  }>
}"""
    table = np.arange(12, dtype=F32).reshape(4, 3)
    sets = [[table[:rows], np.ones(3, F32)] for rows in (4, 1, 0, 3)]
    agree(text, sets, engines, tmp_path)
    converted, notes = irloop.convert(tmp_path / "model.onnx")
    (loop,) = (node for node in converted.graph.nodes if node.op.type == "Loop")
    (guard,) = (value for value in loop.body().graph.inputs if value.name == "guard")
    assert [user.op.type for user, _ in guard.uses] == ["Gather"]
    assert not list(notes)


def test_a_state_that_begins_as_a_scalar(engines: Engines, tmp_path: Path) -> None:
    """As paddle2onnx writes the number of an iteration: a scalar times a list of one element."""
    text = """g (float[n] x, int64 m) => (float[1] last) {
  zero = Constant <value_int = 0> ()  none = Constant <value_floats = [0.0]> ()
  place, last = Loop (m, "", zero, none) <body = b (int64 i, bool c, int64 p, float[1] s)
      => (bool d, int64 q, float[1] t) {
    d = Identity (c)  one = Constant <value_ints = [1]> ()  empty = Constant <value_ints = [0]> ()
    same = Mul (p, one)  q = Add (same, one)  first = Squeeze (same, empty)
    element = Gather (x, first)  t = Add (s, element)
  }>
}"""
    x = np.arange(1, 6, dtype=F32)
    agree(text, [[x, i64(trips)] for trips in (3, 1, 0, 5)], engines, tmp_path)
