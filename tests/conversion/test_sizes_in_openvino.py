"""Arithmetic with sizes that OpenVINO removes because it infers a wrong result."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, agree, i64, needs_engines

pytestmark = needs_engines

SETS = [[np.ones(dims, F32)] for dims in ((4, 5), (1, 1), (300, 2), (2, 40))]

#: Lists of one integer, computed from `n`, the list of the first size.
SIZES = {
    "boolean": "flag = Cast <to = 9> (n)  y = Cast <to = 7> (flag)",
    "boolean of i32": "m = Cast <to = 6> (n)  flag = Cast <to = 9> (m)  y = Cast <to = 7> (flag)",
    "i8": "few = Cast <to = 3> (n)  y = Cast <to = 7> (few)",
    "i16": "few = Cast <to = 5> (n)  y = Cast <to = 7> (few)",
    "sum of i8": "few = Cast <to = 3> (n)  two_few = Add (few, few)  y = Cast <to = 7> (two_few)",
    "u8": "few = Cast <to = 2> (n)  y = Cast <to = 7> (few)",
    "absolute difference": "d = Sub (n, three)  y = Abs (d)",
    "absolute negative": "d = Neg (n)  y = Abs (d)",
    "absolute float": "f = Cast <to = 1> (n)  g = Neg (f)  h = Abs (g)  y = Cast <to = 7> (h)",
    "half of a sum": "s = Shape (x)  t = ReduceSum <keepdims = 1> (s, zero)  y = Div (t, two)",
}
#: Operations whose shape depends on `y`, and `y` itself.
READERS = {
    "broadcast": "z = ConstantOfShape (y)",
    "output": "z = Identity (y)",
    "slice": "z = Slice (x, zero, y, zero)",
}
TYPES = {"broadcast": "float[a]", "output": "int64[a]", "slice": "float[a, b]"}
CONSTANTS = """
  zero = Constant <value_ints = [0]> ()  two = Constant <value_ints = [2]> ()
  three = Constant <value_ints = [3]> ()
"""


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("size", SIZES)
def test_a_number_from_a_size(size: str, reader: str, engines: Engines, tmp_path: Path) -> None:
    text = f"""
g (float[r, c] x) => ({TYPES[reader]} z) {{ {CONSTANTS}
  shape = Shape (x)  n = Gather <axis = 0> (shape, zero)
  {SIZES[size]}  {READERS[reader]}
}}
"""
    agree(text, SETS, engines, tmp_path)


def test_distances_of_positions(engines: Engines, tmp_path: Path) -> None:
    """A relative position bias as in encoders, outside and inside of a loop."""
    text = """
g (int64 m, float[r, c] x) => (int64[r, r] y, int64[m, r] z) {
  at = Constant <value_int = 0> ()  one = Constant <value_int = 1> ()
  rows = Constant <value_ints = [0]> ()  columns = Constant <value_ints = [1]> ()
  shape = Shape (x)  n = Gather (shape, at)  places = Range (at, n, one)
  left = Unsqueeze (places, rows)  right = Unsqueeze (places, columns)
  distance = Sub (left, right)  y = Abs (distance)
  z = Loop (m, "") <body = b (int64 i, bool go) => (bool next, int64[r] each) {
    next = Identity (go)  size = Shape (x)  k = Gather (size, at)  own = Range (at, k, one)
    moved = Sub (own, k)  far = Abs (moved)  each = Add (far, i)
  }>
}
"""
    sets = [[i64(m), np.ones((r, 2), F32)] for m, r in ((2, 4), (0, 3), (1, 1), (3, 5))]
    agree(text, sets, engines, tmp_path)
