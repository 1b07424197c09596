"""Random nodes of every operation that ONNX Runtime's CPU runs, against ONNX Runtime."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from benchmarks.engines import Engines
from tests.ops.contrib.against_runtime import agree
from tests.ops.contrib.drawing import DRAWERS, Draw

#: The number of nodes of each operation.
NODES = 1


@pytest.mark.parametrize("number", range(NODES))
@pytest.mark.parametrize("type", DRAWERS)
def test_a_random_node_returns_what_onnx_runtime_returns(
    type: str, number: int, engines: Engines, tmp_path: Path
) -> None:
    agree(DRAWERS[type](Draw(zlib.crc32(f"{type}{number}".encode()))), engines, tmp_path)
