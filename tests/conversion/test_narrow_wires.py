"""Loops over 4-bit integers, converted from IR to ONNX and run by ONNX Runtime.

ONNX Runtime 1.31 has no Loop and no Scan of these types. The expected numbers are computed with
NumPy; all of them fit into 4-bit integers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Negative
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.graph.model import Model
from irloop.graph.types import ElementType

onnxruntime = pytest.importorskip("onnxruntime")

I4, U4, I32, I64 = ElementType.I4, ElementType.U4, ElementType.I32, ElementType.I64

FORMS = pytest.mark.parametrize("loops", ["keep", "scan", "loop"])


def ran(model: Model, loops: Literal["keep", "scan", "loop"], sets: Any, folder: Path) -> Any:
    """The outputs of each inference in one session."""
    irloop.save_model(model, folder / "model.xml", ir_version=11)
    converted, _ = irloop.convert(folder / "model.xml", "onnx", loops=loops)
    irloop.save_model(converted, folder / "model.onnx")
    session = onnxruntime.InferenceSession(
        folder / "model.onnx", providers=["CPUExecutionProvider"]
    )
    names = [item.name for item in session.get_inputs()]
    return [session.run(None, dict(zip(names, each, strict=True))) for each in sets]


@FORMS
@pytest.mark.parametrize("axis", [0, 1])
def test_slices_joined_parts_and_states(axis: int, loops: Any, tmp_path: Path) -> None:
    """The loop concatenates the slices, the negated slices, and a state that holds the previous
    slice.
    """
    m = IrModel()
    x = m(Convert(I4), m.input("x", 3, 3, element=I32))
    loop = m.tensor_iterator()
    part = loop.slice(x, axis)
    kept = m(Convert(I4), m.constant(np.zeros((3, 1) if axis else (1, 3)).tolist(), I32))
    state = loop.state(kept)
    loop.carry(state, part)
    loop.joined(part, axis)
    loop.joined(loop(Convert(I4), loop(Negative(), loop(Convert(I32), part))), axis)
    loop.joined(state, axis)
    loop.last(part)
    model = m.done(*(m(Convert(I32), value) for value in loop.done()))
    first = np.array([[1, -2, 3], [-4, 5, -6], [7, 0, -7]], np.int32)
    sets = [[first], [first[::-1].copy()]]
    for (given,), found in zip(sets, ran(model, loops, sets, tmp_path), strict=True):
        before = np.roll(given, 1, axis)
        before[(slice(None), 0) if axis else 0] = 0
        expected = [given, -given, before, given[:, 2:] if axis else given[2:]]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@FORMS
def test_states_exchanged_with_a_count(loops: Any, tmp_path: Path) -> None:
    """Two states are exchanged `n` times, which may be 0; one of them is concatenated."""
    m = IrModel()
    n = m.input("n", element=I64)
    a = m(Convert(U4), m.input("a", 3, element=I32))
    b = m(Convert(U4), m.input("b", 3, element=I32))
    loop = m.loop(n)
    one, two = loop.state(a), loop.state(b)
    loop.carry(one, two)
    loop.carry(two, one)
    loop.last_of(one)
    loop.last_of(two)
    axis = loop.constant([0], I64)
    loop.joined(loop(Unsqueeze(), one, axis), 0)
    model = m.done(*(m(Convert(I32), value) for value in loop.done()))
    left, right = np.array([1, 15, 7], np.int32), np.array([0, 8, 9], np.int32)
    counts = (3, 0, 2)
    sets = [[np.array(count, np.int64), left, right] for count in counts]
    for count, found in zip(counts, ran(model, loops, sets, tmp_path), strict=True):
        pair = (right, left) if count % 2 else (left, right)
        joined = [(left, right)[at % 2] for at in range(count)]
        np.testing.assert_array_equal(found[0], pair[0])
        np.testing.assert_array_equal(found[1], pair[1])
        np.testing.assert_array_equal(found[2], np.reshape(joined, (count, 3)))
