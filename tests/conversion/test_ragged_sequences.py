"""Sequences of items of different sizes that a loop collects, concatenated after the loop."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, agree, i64, needs_engines

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
