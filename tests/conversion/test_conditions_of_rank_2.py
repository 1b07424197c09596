"""Conditions and trip counts with one element and two dimensions, which ONNX Runtime accepts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, agree, needs_engines

pytestmark = needs_engines

BRANCH = """g (float[n,3] x) => (float[n,3] y) {
  zero = Constant <value_float = 0.0> ()
  highest = ReduceMax <keepdims = 1> (x)
  is_positive = Greater (highest, zero)
  y = If (is_positive) <
    then_branch = a () => (float[n,3] p) { p = Add (x, x) },
    else_branch = b () => (float[n,3] q) { q = Neg (x) }>
}"""

LOOP = """g (float[n,3] x, int64[1,1] count, bool[1,1] starts) => (float[n,3] y, float[k,n,3] ys) {
  y, ys = Loop (count, starts, x) <body = step
    (int64 i, bool[1,1] c, float[n,3] s) => (bool[1,1] goes_on, float[n,3] t, float[n,3] u) {
      limit = Constant <value_float = 30.0> ()
      t = Add (s, s)
      u = Neg (s)
      highest = ReduceMax <keepdims = 1> (t)
      goes_on = Less (highest, limit)
    }>
}"""


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def test_an_if_with_such_a_condition(engines: Engines, tmp_path: Path) -> None:
    sets = [[np.full((rows, 3), number, F32)] for rows, number in ((2, 3), (1, -4), (2, 5))]
    agree(BRANCH, sets, engines, tmp_path)


def test_a_loop_that_is_skipped_stops_early_or_runs_to_its_count(
    engines: Engines, tmp_path: Path
) -> None:
    counts = [(4, True), (9, True), (0, True), (5, False), (2, True)]
    sets = [
        [np.ones((2, 3), F32), np.array([[count]], np.int64), np.array([[starts]])]
        for count, starts in counts
    ]
    agree(LOOP, sets, engines, tmp_path)
