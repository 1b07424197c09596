"""Unsorted Uniques in OpenVINO, of which a model uses some outputs.

The expected values are ONNX Runtime's; all inputs run in one compiled model.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.engines import Engines
from tests.conversion.both_engines import agree, needs_engines

pytestmark = needs_engines

OUTPUTS = {"y": "TYPE", "i": "int64", "j": "int64", "n": "int64"}
DATA = ([[0, 2, 0], [1, 1, 5]], [[3, 3, 3], [3, 3, 3]], [[6, 5, 4], [4, 5, 6]])


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("type", ["float", "int64", "int8"])
@pytest.mark.parametrize("used", ["y", "i", "n", "yn", "in", "yi", "yj", "yijn"])
def test_the_used_outputs(
    used: str, type: str, order: int, engines: Engines, tmp_path: Path
) -> None:
    results = ", ".join(f"{OUTPUTS[name].replace('TYPE', type)}[k] {name}_out" for name in used)
    copies = "  ".join(f"{name}_out = Identity ({name})" for name in used)
    text = f"""g ({type}[a,b] x) => ({results}) {{
  y, i, j, n = Unique <sorted = {order}> (x)  {copies}
}}"""
    dtype = "float32" if type == "float" else type
    agree(text, [[np.array(data, dtype)] for data in DATA], engines, tmp_path)
