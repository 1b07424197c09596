"""Recurrent operations whose initial states are of a known batch, and whose data may be of any."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.conversion.both_engines import F32, agree, back_agrees, needs_engines

pytestmark = needs_engines

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


def constant(name: str, *dims: int) -> str:
    numbers = np.random.default_rng(len(name)).normal(size=dims).reshape(-1)
    sizes = ", ".join(map(str, dims))
    return f"{name} = Constant <value = float[{sizes}] {{{', '.join(map(str, numbers))}}}> ()"


@pytest.mark.parametrize("time", ["4", "t"])
@pytest.mark.parametrize("type", GATES)
def test_stateful_layers(type: str, time: str, engines: Engines, tmp_path: Path) -> None:
    """Keras exports stateful layers so. OpenVINO compiled none: the sequence has two batches."""
    width = GATES[type] * 3
    cell = ", h" if type == "LSTM" else ""
    text = f"""
g (float[{time}, b, 2] x) => (float[s, 1, 2, 3] y) {{
  {constant("w", 1, width, 2)}  {constant("r", 1, width, 3)}  {constant("h", 1, 2, 3)}
  y = {type} <hidden_size = 3> (x, w, r, , , h{cell})
}}
"""
    rng = np.random.default_rng(0)
    steps = (4,) if time == "4" else (4, 1, 6)
    sets = [[rng.normal(size=(count, 2, 2)).astype(F32)] for count in steps]
    agree(text, sets, engines, tmp_path)
    back_agrees(sets, engines, tmp_path)
