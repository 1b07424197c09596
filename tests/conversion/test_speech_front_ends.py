"""STFT of a signal [batch, length], as in the front ends of speech models."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, agree, needs_engines

pytestmark = needs_engines


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("length", ["64", "L"])
@pytest.mark.parametrize("onesided", [0, 1])
def test_a_signal_without_an_axis_for_parts(
    onesided: int, length: str, engines: Engines, tmp_path: Path
) -> None:
    text = f"""g (float[2,{length}] x) => (float[2,F,B,2] y) {{
        step = Constant<value_int = 8>()
        window = Constant<value_floats = {[round(float(w), 4) for w in np.hanning(16)]}>()
        y = STFT<onesided = {onesided}>(x, step, window)
    }}"""
    lengths = (64, 64) if length == "64" else (64, 40)
    rng = np.random.default_rng(2)
    agree(text, [[rng.normal(size=(2, n)).astype(F32)] for n in lengths], engines, tmp_path)
