"""Padded 1 x 1 convolutions with strides, in which OpenVINO loses the padding."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, agree, i64, needs_engines

pytestmark = needs_engines

WEIGHTS = "w = {1, 2, 3, 4, 5, 6}"
STRIDED = "strides = [2, 2], pads = [1, 1, 1, 1]"
#: The nodes of models from x [1, 2, 5, 5] to y, by name.
FLOATS = {
    "relu": f"r = Relu(x)  y = Conv<{STRIDED}>(r, w)",
    "padded at the end": "r = Relu(x)  y = Conv<strides = [2, 2], pads = [0, 0, 1, 1]>(r, w)",
    "one axis": "r = Relu(x)  y = Conv<strides = [1, 3], pads = [0, 2, 0, 1]>(r, w)",
    "Pad": """r = Relu(x)  p = Constant<value_ints = [0, 0, 1, 1, 0, 0, 1, 1]>()
        q = Pad(r, p)  y = Conv<strides = [2, 2]>(q, w)""",
    "strides of the next convolution": """r = Relu(x)  c = Conv<pads = [1, 1, 1, 1]>(r, w)
        a = Abs(c)  k = Transpose<perm = [1, 0, 2, 3]>(w)  y = Conv<strides = [2, 2]>(a, k)""",
    "after a convolution": f"""k = Transpose<perm = [1, 0, 2, 3]>(w)  c = Conv(x, w)
        d = Conv(c, k)  y = Conv<{STRIDED}>(d, w)""",
}
EIGHT_BITS = {
    "QLinearConv": f"""
        g (uint8[1,2,5,5] x) => (uint8[1,3,4,4] y) <uint8[3,2,1,1] {WEIGHTS},
            float s = {{0.5}}, uint8 z = {{3}}, uint8 v = {{2}}> {{
            y = QLinearConv<{STRIDED}>(x, s, z, w, s, v, s, z)
        }}""",
    "ConvInteger": f"""
        g (uint8[1,2,5,5] x) => (int32[1,3,4,4] y) <uint8[3,2,1,1] {WEIGHTS}, uint8 z = {{3}}> {{
            y = ConvInteger<{STRIDED}>(x, w, z)
        }}""",
}
LOOP = f"""
g (float[1,2,5,5] x, int64 n) => (float[r,1,3,4,4] rows) <bool yes = {{1}}> {{
    rows = Loop(n, yes) <body = b (int64 i, bool c) => (bool again, float[1,3,4,4] row)
        <float[3,2,1,1] {WEIGHTS}> {{
        again = Identity(c)  f = Cast<to = 1>(i)  part = Add(x, f)
        row = Conv<{STRIDED}>(part, w)
    }}>
}}"""


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def drawn(seed: int, type: Any = F32) -> Any:
    return np.random.default_rng(seed).integers(0, 100, (1, 2, 5, 5)).astype(type)


@pytest.mark.parametrize("batch", ["1", "N"])
@pytest.mark.parametrize("name", FLOATS)
def test_convolutions_of_floats(name: str, batch: str, engines: Engines, tmp_path: Path) -> None:
    text = f"g (float[{batch},2,5,5] x) => (float[a,b,c,d] y) <float[3,2,1,1] {WEIGHTS}>"
    agree(f"{text} {{ {FLOATS[name]} }}", [[drawn(1)], [drawn(2)]], engines, tmp_path)


@pytest.mark.parametrize("name", EIGHT_BITS)
def test_convolutions_of_8_bit_integers(name: str, engines: Engines, tmp_path: Path) -> None:
    sets = [[drawn(1, np.uint8)], [drawn(2, np.uint8)]]
    agree(EIGHT_BITS[name], sets, engines, tmp_path)


def test_convolutions_in_a_loop_body(engines: Engines, tmp_path: Path) -> None:
    sets = [[drawn(seed), i64(count)] for seed, count in ((1, 3), (2, 0), (3, 1))]
    agree(LOOP, sets, engines, tmp_path)
