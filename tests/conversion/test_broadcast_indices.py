"""ScatterElements whose indices are broadcast, in OpenVINO.

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

INDICES = {
    "ConstantOfShape": "i = ConstantOfShape <value = int64[1] {1}> (shape)",
    "Expand": "one = Constant <value_ints = [1]> ()  i = Expand (one, shape)",
    "Expand of an input": "i = Expand (k, shape)",
    "view of an Expand": """one = Constant <value_ints = [1]> ()  wide = Expand (one, shape)
      flat = Constant <value_ints = [-1]> ()  line = Reshape (wide, flat)
      i = Reshape (line, shape)""",
}


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("indices", INDICES)
@pytest.mark.parametrize(
    ("dims", "part", "axis"),
    [("n", "m", 0), ("n,3", "m,3", 0), ("2,n", "2,m", 1), ("2,n,3", "2,m,3", 1), ("n,k", "m,k", 0)],
)
def test_scatters(
    dims: str, part: str, axis: int, indices: str, engines: Engines, tmp_path: Path
) -> None:
    # Every place gets at most one update, because the order of updates is not defined.
    text = f"""g (float[{dims}] x, float[{part}] u, int64 k) => (float[{dims}] y) {{
  shape = Shape (u)  {INDICES[indices]}
  y = ScatterElements <axis = {axis}> (x, i, u)
}}"""
    sets = []
    for size in (2, 5, 3):
        sizes = [{"n": size, "k": 3}.get(dim) or int(dim) for dim in dims.split(",")]
        x = np.arange(np.prod(sizes), dtype=F32).reshape(sizes)
        u = -1 - x.take([0], axis)
        sets.append([x, u, i64(size - 1)])
    agree(text, sets, engines, tmp_path)


def test_a_scatter_in_a_loop(engines: Engines, tmp_path: Path) -> None:
    text = """g (int64 m, float[n] x, float[k] u) => (float[n] last) {
  last = Loop (m, "", x) <body = b (int64 i, bool c, float[n] s) => (bool d, float[n] t) {
    d = Identity (c)  shape = Shape (u)  zeros = ConstantOfShape <value = int64[1] {0}> (shape)
    v = ReduceSum (s)  w = Add (u, v)  t = ScatterElements (s, zeros, w)
  }>
}"""
    x = np.array([1, 2, 3], F32)
    sets = [[i64(count), x * count, x[:1]] for count in (2, 0, 3)]
    agree(text, sets, engines, tmp_path)
