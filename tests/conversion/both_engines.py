"""Runs an ONNX model in ONNX Runtime and its IR in OpenVINO, with several inferences in one
session.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import irloop
from benchmarks.engines import Engines, same_but_empty
from irloop.conversion.loops.loop_choice import Loops
from irloop.execution.session import Session

__all__ = ["F32", "agree", "back_agrees", "i64", "needs_engines"]

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'

F32 = np.float32

needs_engines = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("onnxruntime", "openvino")),
    reason="ONNX Runtime and OpenVINO are not both installed",
)


def i64(number: int | Sequence[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """A number as an i64 input."""
    return np.array(number, np.int64)


def agree(
    text: str,
    sets: Sequence[list[Any]],
    engines: Engines,
    folder: Path,
    *,
    loops: Loops | None = None,
) -> None:
    """Assert that the IR of an ONNX model returns what ONNX Runtime returns, for all inputs.

    The IR is run by OpenVINO, all sets in one compiled model, and by irloop's executor.
    """
    source, ir = folder / "model.onnx", folder / "model.xml"
    full = text if text.lstrip().startswith("<") else HEADER + text
    source.write_bytes(onnx.parser.parse_model(full).SerializeToString())
    expected = engines.run_all("onnxruntime", source, sets, folder)
    irloop.save_model(irloop.convert(source, loops=loops)[0], ir, ir_version=11)
    session = Session(irloop.read_model(ir))
    found = engines.run_all("openvino", ir, sets, folder)
    for at, inputs in enumerate(sets):
        assert_same(found[at], expected[at], f"OpenVINO, inputs {at}")
        assert_same(list(session.run(inputs).values()), expected[at], f"irloop, inputs {at}")


def assert_same(found: list[Any], expected: list[Any], place: str) -> None:
    """Assert equal types, shapes and numbers; the other dimensions of empty arrays may differ.

    Integers must be equal, floats almost equal.
    """
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        if other.dtype.kind == "U":
            assert one.dtype.kind in "UO", place
            assert one.tolist() == other.tolist(), place
            continue
        assert one.dtype == other.dtype, place
        if same_but_empty(one, other):
            continue
        if other.dtype.kind in "iu":
            np.testing.assert_array_equal(one, other, err_msg=place)
        else:
            np.testing.assert_allclose(one, other, 1e-5, 1e-6, err_msg=place)


def back_agrees(sets: Sequence[list[Any]], engines: Engines, folder: Path) -> None:
    """Assert that the IR that `agree` wrote, converted back, runs alike in ONNX Runtime."""
    back = folder / "back.onnx"
    irloop.save_model(irloop.convert(folder / "model.xml")[0], back)
    expected = engines.run_all("onnxruntime", folder / "model.onnx", sets, folder)
    for at, found in enumerate(engines.run_all("onnxruntime", back, sets, folder)):
        assert_same(found, expected[at], f"the way back, inputs {at}")
