"""Pads with a computed value: OpenVINO reads the value before it is computed.

The expected values are ONNX Runtime's; all inputs run in one compiled model.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, agree, i64, needs_engines

pytestmark = needs_engines

NUMBERS = (3, -5, 0, 7)


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("pads", [[1, 0, 0, 2], [-1, 2, 1, 0]])
@pytest.mark.parametrize("dims", ["2,3", "r,3", "r,c"])
@pytest.mark.parametrize(("name", "kind"), [("float", "f4"), ("int32", "i4"), ("bool", "?")])
def test_the_value_is_an_input(
    name: str, kind: str, dims: str, pads: list[int], engines: Engines, tmp_path: Path
) -> None:
    text = f"""g ({name}[{dims}] x, {name} v) => ({name}[?,?] y) {{
  pads = Constant <value_ints = {pads}> ()  y = Pad (x, pads, v)
}}"""
    x = np.arange(6).reshape(2, 3).astype(kind)
    agree(text, [[x, np.array(number, kind)] for number in NUMBERS], engines, tmp_path)


def test_the_value_is_computed_in_a_loop(engines: Engines, tmp_path: Path) -> None:
    text = """g (int64 m, float[2] x, float v) => (float[2] last, float[k,4] rows) {
  go = Constant <value = bool {1}> ()
  last, rows = Loop (m, go, x) <body = b (int64 i, bool c, float[2] s)
      => (bool d, float[2] t, float[4] row) {
    d = Identity (c)  t = Add (s, v)  pads = Constant <value_ints = [1, 1]> ()
    sum = ReduceSum <keepdims = 0> (t)  row = Pad (t, pads, sum)
  }>
}"""
    x = np.array([1, 2], F32)
    sets = [[i64(count), x, F32(number)] for count, number in [(2, 1), (0, 5), (3, -2), (1, 4)]]
    agree(text, sets, engines, tmp_path)
