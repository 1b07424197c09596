"""If a masked Softmax gives NaN, OpenVINO keeps the NaN."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, agree, i64, needs_engines

pytestmark = needs_engines

#: Masks that allow all elements, some, none, and some again.
SETS = [
    [np.array(row, bool), np.array([[1, -2, 0.5], [3, 0, -1]], F32)]
    for row in ([1, 1, 1], [0, 1, 1], [0, 0, 0], [1, 0, 0])
]

#: Functions of the probabilities p; `half` is 0.5.
FUNCTIONS = {
    "exp": "y = Exp (p)",
    "relu": "y = Relu (p)",
    "clip": "zero = Constant <value_float = 0.0> ()  y = Clip (p, zero, half)",
    "hard sigmoid": "y = HardSigmoid (p)",
    "maximum": "y = Max (p, half)",
    "maximum of the other": "y = Max (half, p)",
    "minimum": "y = Min (p, half)",
    "of two": "q = Neg (p)  y = Max (q, p)",
    "twice": "q = Exp (p)  y = Relu (q)",
    "after a product": "q = Mul (p, x)  r = ReduceSum <keepdims = 1> (q, last)  y = Exp (r)",
}


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("function", FUNCTIONS)
def test_nan_of_a_masked_softmax_survives(function: str, engines: Engines, tmp_path: Path) -> None:
    text = f"""
g (bool[c] allowed, float[r, c] x) => (float[r, d] y) {{
  none = Constant <value = float {{-inf}}> ()  half = Constant <value_float = 0.5> ()
  last = Constant <value_ints = [1]> ()
  s = Where (allowed, x, none)  p = Softmax <axis = 1> (s)  {FUNCTIONS[function]}
}}
"""
    agree(text, SETS, engines, tmp_path)


def test_nan_of_a_masked_softmax_in_a_loop_survives(engines: Engines, tmp_path: Path) -> None:
    text = """
g (int64 m, bool[c] allowed, float[r, c] x) => (float[r, c] y, float[k, r, c] each) {
  y, each = Loop (m, "", x) <body = b (int64 i, bool go, float[r, c] state)
      => (bool next, float[r, c] after, float[r, c] one) {
    next = Identity (go)  none = Constant <value = float {-inf}> ()
    s = Where (allowed, state, none)  p = Softmax <axis = 1> (s)
    after = Relu (p)  one = Exp (p)
  }>
}
"""
    sets = [[i64(count), *given] for count, given in zip((2, 1, 3, 0), SETS, strict=True)]
    agree(text, sets, engines, tmp_path)
