"""ONNX Runtime gets all strings of the parts that a Gather selects."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from benchmarks.engines import Engines
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.gather import Gather8
from irloop.graph.types import ElementType
from tests.conversion.both_engines import i64, needs_engines

I64, STRING = ElementType.I64, ElementType.STRING

WORDS = np.array([["a", "b"], ["c", "d"], ["e", "f"]], object)


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    with contextlib.closing(Engines()) as found:
        yield found


@needs_engines
@pytest.mark.parametrize("opset", [11, 13, 17])
@pytest.mark.parametrize(
    ("axis", "sets"),
    [
        (0, [([2, 0], [["e", "f"], ["a", "b"]]), ([1], [["c", "d"]])]),
        (1, [([1, 0], [["b", "a"], ["d", "c"], ["f", "e"]]), ([1], [["b"], ["d"], ["f"]])]),
    ],
)
def test_gathered_rows_and_columns(
    axis: int, sets: list[tuple[Any, Any]], opset: int, engines: Engines, tmp_path: Path
) -> None:
    m = IrModel()
    words, indices = m.input("w", None, 2, element=STRING), m.input("i", None, element=I64)
    model = m.done(m(Gather8(), words, indices, m.constant(axis, I64)))
    path = tmp_path / "model.onnx"
    irloop.save_model(irloop.convert(model, "onnx", opset=opset)[0], path)
    found = engines.run_all("onnxruntime", path, [[WORDS, i64(at)] for at, _ in sets], tmp_path)
    assert [outputs[0].tolist() for outputs in found] == [expected for _, expected in sets]
