"""Operations over unknown sizes in OpenVINO: alone, and in a Loop in a branch of a Loop.

The expected values are ONNX Runtime's; all inputs run in one compiled model.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.conversion.both_engines import agree, i64, needs_engines
from tests.conversion.drawn_inputs import declared, drawn
from tests.conversion.unknown_sizes import OPERATIONS

pytestmark = needs_engines

ALONE = "g (INPUTS) => (float[?] out) { TEXT  out = Cast <to = 1> (Z) }"
NESTED = """g (INPUTS, int64 M) => (float last, float[p] joined) {
  start = Constant <value_float = 0.0> ()
  last, joined = Loop (M, "", start) <body = outer (int64 number, bool goes, float state)
      => (bool goes_on, float next, float shown) {
    goes_on = Identity (goes)  limit = Constant <value_int = 2> ()  early = Less (number, limit)
    zero = Constant <value_float = 0.0> ()
    change = If (early) <
      then_branch = then () => (float changed) {
        twice = Constant <value_int = 2> ()  begin = Identity (zero)
        total = Loop (twice, "", begin) <body = inner (int64 turn, bool holds, float sum)
            => (bool still, float sums) {
          still = Identity (holds)  TEXT  whole = Cast <to = 1> (Z)
          all = ReduceSumSquare <keepdims = 0> (whole)  sums = Add (sum, all)
        }>
        changed = Neg (total)
      },
      else_branch = else () => (float kept) { kept = Neg (state) }>
    next = Add (change, state)  shown = Neg (change)
  }>
}"""


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("nested", [False, True], ids=["alone", "nested"])
def test_operations(nested: bool, name: str, engines: Engines, tmp_path: Path) -> None:
    inputs, text = OPERATIONS[name]
    random = np.random.default_rng(sum(map(ord, name)))
    sets = [drawn(inputs, random) for _ in range(4)]
    if nested:
        sets = [[*given, i64(trips)] for given, trips in zip(sets, (3, 1, 0, 2), strict=True)]
    model = (NESTED if nested else ALONE).replace("INPUTS", declared(inputs))
    agree(model.replace("TEXT", text), sets, engines, tmp_path)
