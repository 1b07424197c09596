"""Sequences of items of different sizes that a loop collects, concatenated after the loop."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import irloop
from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, agree, back_agrees, i64, needs_engines

pytestmark = needs_engines

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'
X = np.arange(1, 19, dtype=F32).reshape(6, 3)

CONSTANTS = """
  zero = Constant <value_ints = [0]> ()  one = Constant <value_ints = [1]> ()
"""
#: Rows 0..i of x, whose size along `axis` differs from iteration to iteration.
BODY = """(int64 i, bool c, seq(float[p, q]) s) => (bool d, seq(float[p, q]) next) {
    begin = Unsqueeze (i, zero)  end = Add (begin, one)
    rows = Slice (x, zero, end, zero)  first = ReduceSum <keepdims = 0> (rows)
    item = Identity (rows)  next = SequenceInsert (s, item)
"""


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("columns", ["3", "m"])
@pytest.mark.parametrize("axis", [0, -2])
def test_rows_are_collected(axis: int, columns: str, engines: Engines, tmp_path: Path) -> None:
    text = f"""{HEADER}
g (int64 n, float[r, {columns}] x) => (float[k, {columns}] y) {{ {CONSTANTS}
  none = SequenceEmpty <dtype = 1> ()
  all = Loop (n, "", none) <body = body {BODY} d = Identity (c) }}>
  y = ConcatFromSequence <axis = {axis}> (all)
}}
"""
    agree(text, [[i64(n), X] for n in (3, 1, 5, 2)], engines, tmp_path)


def test_the_other_sizes_change_from_run_to_run(engines: Engines, tmp_path: Path) -> None:
    text = f"""{HEADER}
g (int64 n, float[r, m] x) => (float[k, m] y) {{ {CONSTANTS}
  none = SequenceEmpty <dtype = 1> ()
  all = Loop (n, "", none) <body = body {BODY} d = Identity (c) }}>
  y = ConcatFromSequence <axis = 0> (all)
}}
"""
    tables = (X, X[:, :1], X.reshape(3, 6), X[:, :0])
    agree(text, [[i64(n), x] for n, x in zip((3, 5, 2, 3), tables, strict=True)], engines, tmp_path)


def test_columns_are_collected(engines: Engines, tmp_path: Path) -> None:
    body = BODY.replace("item = Identity (rows)", "item = Transpose (rows)")
    text = f"""{HEADER}
g (int64 n, float[r, 3] x) => (float[3, k] y) {{ {CONSTANTS}
  none = SequenceEmpty <dtype = 1> ()
  all = Loop (n, "", none) <body = body {body} d = Identity (c) }}>
  y = ConcatFromSequence <axis = 1> (all)
}}
"""
    agree(text, [[i64(n), X] for n in (3, 1, 5)], engines, tmp_path)


def test_a_loop_that_stops_early(engines: Engines, tmp_path: Path) -> None:
    text = f"""{HEADER}
g (int64 n, float limit, float[r, 3] x) => (float[k, 3] y) {{ {CONSTANTS}
  none = SequenceEmpty <dtype = 1> ()
  all = Loop (n, "", none) <body = body {BODY} d = Less (first, limit) }}>
  y = ConcatFromSequence <axis = 0> (all)
}}
"""
    sets = [[i64(5), np.array(limit, F32), X] for limit in (30, 0, 1000, 7)]
    agree(text, sets, engines, tmp_path)


def test_items_without_elements(engines: Engines, tmp_path: Path) -> None:
    """Each iteration collects the positive elements of a row, which may have none."""
    text = f"""{HEADER}
g (float[r, 3] x) => (float[k] y) {{
  shape = Shape <start = 0, end = 1> (x)  at = Constant <value_int = 0> ()
  n = Gather (shape, at)  none = SequenceEmpty <dtype = 1> ()
  all = Loop (n, "", none) <body = body (int64 i, bool c, seq(float[p]) s)
      => (bool d, seq(float[p]) next) {{
    d = Identity (c)  row = Gather (x, i)  nothing = Constant <value = float {{0}}> ()
    positive = Greater (row, nothing)  item = Compress <axis = 0> (row, positive)
    next = SequenceInsert (s, item)
  }}>
  y = ConcatFromSequence <axis = 0> (all)
}}
"""
    rows = np.array([[1, -2, 3], [-4, -5, -6], [7, 8, 9], [-1, 2, -3]], F32)
    agree(text, [[rows], [rows[:1]], [rows[1:3]], [-rows]], engines, tmp_path)


def test_a_sequence_inside_another_loop(engines: Engines, tmp_path: Path) -> None:
    text = f"""{HEADER}
g (int64 m, int64 n, float[r, 3] start) => (float[u, 3] last) {{ {CONSTANTS}
  last = Loop (m, "", start) <body = outer (int64 j, bool go, float[u, 3] x)
      => (bool e, float[v, 3] y) {{
    e = Identity (go)  none = SequenceEmpty <dtype = 1> ()
    all = Loop (n, "", none) <body = body {BODY} d = Identity (c) }}>
    y = ConcatFromSequence <axis = 0> (all)
  }}>
}}
"""
    sets = [[i64(m), i64(n), X] for m, n in ((2, 3), (1, 2), (0, 3), (3, 2))]
    agree(text, sets, engines, tmp_path)


def both_ways(text: str, sets: list[list[Any]], engines: Engines, folder: Path) -> None:
    """Assert that IR, and ONNX from it, agree with the model in ONNX Runtime."""
    agree(text, sets, engines, folder)
    back_agrees(sets, engines, folder)


def test_items_are_read_in_another_loop(engines: Engines, tmp_path: Path) -> None:
    text = f"""{HEADER}
g (int64 n, float[r, 3] x) => (float[3] last, float[k, 3] y, float[a, 3] z, int64 length) {{
  {CONSTANTS}  none = SequenceEmpty <dtype = 1> ()
  all = Loop (n, "", none) <body = body {BODY} d = Identity (c) }}>
  total = Constant <value_floats = [0.0, 0.0, 0.0]> ()  length = SequenceLength (all)
  last = Loop (length, "", total) <body = reader (int64 j, bool e, float[3] t)
      => (bool f, float[3] u) {{
    f = Identity (e)  part = SequenceAt (all, j)  sum = ReduceSum <keepdims = 0> (part, zero)
    double = Add (t, t)  u = Add (double, sum)
  }}>
  y = ConcatFromSequence <axis = 0> (all)
  back = Constant <value_int = -1> ()  z = SequenceAt (all, back)
}}
"""
    both_ways(text, [[i64(n), X] for n in (3, 1, 5, 2)], engines, tmp_path)


def test_items_are_inserted_at_the_front(engines: Engines, tmp_path: Path) -> None:
    body = BODY.replace("(s, item)", "(s, item, front)")
    text = f"""{HEADER}
g (int64 n, float[r, 3] x) => (float[k, 3] y, float[a, 3] z) {{
  {CONSTANTS}  none = SequenceEmpty <dtype = 1> ()  front = Constant <value_int = 0> ()
  all = Loop (n, "", none) <body = body {body} d = Identity (c) }}>
  y = ConcatFromSequence <axis = 0> (all)  z = SequenceAt (all, front)
}}
"""
    both_ways(text, [[i64(n), X] for n in (3, 1, 5, 2)], engines, tmp_path)


def test_a_stack_of_lists(engines: Engines, tmp_path: Path) -> None:
    """A shift-reduce parser: a positive number is pushed, another joins the two lists on top."""
    text = f"""{HEADER}
g (float[n] x) => (float[k] y, int64 length) {{ {CONSTANTS}
  shape = Shape (x)  n = Squeeze (shape, zero)  none = SequenceEmpty <dtype = 1> ()
  at = Constant <value_int = -1> ()  nothing = Constant <value_float = 0.0> ()
  all = Loop (n, "", none) <body = body (int64 i, bool c, seq(float[p]) s)
      => (bool d, seq(float[q]) next) {{
    d = Identity (c)  begin = Unsqueeze (i, zero)  end = Add (begin, one)
    item = Slice (x, begin, end, zero)  first = Squeeze (item, zero)
    push = Greater (first, nothing)
    next = If (push) <
      then_branch = then () => (seq(float[t]) more) {{ more = SequenceInsert (s, item) }},
      else_branch = else () => (seq(float[u]) fewer) {{
        right = SequenceAt (s, at)  rest = SequenceErase (s)
        left = SequenceAt (rest, at)  others = SequenceErase (rest, at)
        both = Concat <axis = 0> (left, right, item)  fewer = SequenceInsert (others, both)
      }}>
  }}>
  length = SequenceLength (all)  y = SequenceAt (all, at)
}}
"""
    sets = [[np.array(x, F32)] for x in ([1, 2, -3, 4, -5], [7], [1, 2, 3], [1, 2, 3, -4, -5])]
    both_ways(text, sets, engines, tmp_path)


def test_padded_to_the_longest(engines: Engines, tmp_path: Path) -> None:
    """As torch.jit.script writes a list of prefixes of rows that is padded, and then stacked."""
    text = f"""{HEADER}
g (float[n, m] x, int64[n] lengths) => (float[n, a] y, float[a, n] z) {{ {CONSTANTS}
  shape = Shape <start = 0, end = 1> (x)  n = Squeeze (shape, zero)
  none = SequenceEmpty <dtype = 1> ()
  rows = Loop (n, "", none) <body = cut (int64 i, bool c, seq(float[p]) s)
      => (bool d, seq(float[q]) next) {{
    d = Identity (c)  row = Gather (x, i)  length = Gather (lengths, i)
    end = Unsqueeze (length, zero)  item = Slice (row, zero, end)
    next = SequenceInsert (s, item)
  }}>
  longest = ReduceMax (lengths)  empty = SequenceEmpty <dtype = 1> ()
  padded = Loop (n, "", empty) <body = pad (int64 j, bool e, seq(float[p]) t)
      => (bool f, seq(float[q]) u) {{
    f = Identity (e)  part = SequenceAt (rows, j)  size = Shape (part)
    missing = Sub (longest, size)  zeros = ConstantOfShape (missing)
    whole = Concat <axis = 0> (part, zeros)  u = SequenceInsert (t, whole)
  }}>
  y = ConcatFromSequence <axis = 0, new_axis = 1> (padded)
  z = ConcatFromSequence <axis = 1, new_axis = 1> (padded)
}}
"""
    table = np.arange(1, 19, dtype=F32).reshape(3, 6)
    sets = [[table, i64([2, 5, 3])], [table[:1], i64([4])], [table[:2], i64([1, 1])]]
    both_ways(text, sets, engines, tmp_path)


def test_items_that_grow(engines: Engines, tmp_path: Path) -> None:
    """A state that is concatenated with something is an item, after one of another size."""
    text = f"""{HEADER}
g (int64 n, float[2] x) => (float[k] y, float[a] z) {{
  start = SequenceConstruct (x)  last = Constant <value_int = -1> ()
  all, unread = Loop (n, "", start, x) <body = b (int64 i, bool c, seq(float[]) s, float[] r)
      => (bool d, seq(float[]) t, float[] w) {{
    w = Concat <axis = 0> (r, x)  t = SequenceInsert (s, w)  d = Identity (c) }}>
  y = ConcatFromSequence <axis = 0> (all)  z = SequenceAt (all, last)
}}
"""
    both_ways(text, [[i64(n), X[1, :2]] for n in (3, 0, 1, 4)], engines, tmp_path)


def test_items_of_two_known_sizes(engines: Engines, tmp_path: Path) -> None:
    text = f"""{HEADER}
g (int64 n, float[2, 3] x) => (float[k, 3] y) {{ {CONSTANTS}  front = Constant <value_int = 0> ()
  start = SequenceConstruct (x)
  all = Loop (n, "", start) <body = b (int64 i, bool c, seq(float[p, 3]) s)
      => (bool d, seq(float[q, 3]) t) {{
    few = Slice (x, zero, one)  t = SequenceInsert (s, few, front)  d = Identity (c) }}>
  y = ConcatFromSequence <axis = 0> (all)
}}
"""
    both_ways(text, [[i64(n), X[:2]] for n in (3, 0, 1, 4)], engines, tmp_path)


def test_branches_with_items_of_several_sizes(engines: Engines, tmp_path: Path) -> None:
    text = f"""{HEADER}
g (bool yes, int64 at, float[2, 3] x, float[1, 3] z) => (float[a, 3] y, int64 count) {{
  items = If (yes) <
    then_branch = then () => (seq(float[p, 3]) two) {{ two = SequenceConstruct (x, z) }},
    else_branch = else () => (seq(float[q, 3]) one) {{ one = SequenceConstruct (z) }}>
  y = SequenceAt (items, at)  count = SequenceLength (items)
}}
"""
    sets = [
        [np.array(yes), i64(at), X[:2], X[3:4]] for yes, at in ((1, 0), (1, -1), (0, 0), (1, 1))
    ]
    both_ways(text, [[row[0].astype(bool), *row[1:]] for row in sets], engines, tmp_path)


def test_a_model_that_returns_them_is_refused(tmp_path: Path) -> None:
    text = f"""{HEADER}
g (int64 n, float[r, 3] x) => (seq(float[k, 3]) all) {{
  {CONSTANTS}  none = SequenceEmpty <dtype = 1> ()
  all = Loop (n, "", none) <body = body {BODY} d = Identity (c) }}>
}}
"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    with pytest.raises(irloop.UnsupportedError, match="a sequence of tensors of several sizes"):
        irloop.convert(tmp_path / "model.onnx")
