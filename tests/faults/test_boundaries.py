"""A fault is reported where OpenVINO has it, and not in the next model where it is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add, Multiply
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.faults.catalogue import find_faults
from irloop.graph.model import Model
from irloop.graph.types import ElementType

openvino = pytest.importorskip("openvino")

#: What a Loop with backward ports has besides: a name, and whether OpenVINO removes a parameter.
OTHERS = {
    "nothing": False,
    "an invariant": False,
    "an invariant that nothing reads": True,
    "an invariant times 0": False,
    "a state that never changes": True,
    "a state that nothing reads": True,
    "a slice that nothing reads": True,
}


def backwards(other: str) -> Model:
    """A Loop that adds the parts of x [3, 1] from the last to the first, and joins them so."""
    m = IrModel()
    loop = m.loop(m.constant(3, ElementType.I64))
    part = loop.slice(m.input("x", 3, 1), 0, -1, 0, -1)
    state = loop.state(m.input("s", 1, 1))
    total = loop(Add(), state, part)
    match other:
        case "an invariant":
            total = loop(Add(), total, loop.invariant(m.input("u", 1, 1)))
        case "an invariant that nothing reads":
            loop.invariant(m.input("u", 1, 1))
        case "an invariant times 0":
            zero = loop(Multiply(), loop.invariant(m.input("u", 1, 1)), loop.constant([[0.0]]))
            total = loop(Add(), total, zero)
        case "a state that never changes":
            kept = loop.state(m.input("u", 1, 1))
            loop.carry(kept, kept)
            total = loop(Add(), total, kept)
        case "a state that nothing reads":
            loop.carry(loop.state(m.input("u", 1, 1)), total)
        case "a slice that nothing reads":
            loop.slice(m.input("u", 3, 1), 0)
    loop.carry(state, total)
    loop.joined(total, 0, -1, 0, -1)
    return m.done(*loop.done())


def codes(model: Model) -> set[str]:
    irloop.infer(model)
    return {match.fault.code for match in find_faults(model.graph, "openvino")}


@pytest.mark.parametrize("other", OTHERS)
def test_ports_that_run_backwards(other: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    irloop.save_model(backwards(other), path)
    lists = {"x": [[1], [2], [4]], "s": [[10]]}
    if other != "nothing":
        lists["u"] = [[0]] * (3 if "slice" in other else 1)
    inputs = {name: np.array(value, np.float32) for name, value in lists.items()}
    try:
        model = openvino.Core().compile_model(str(path), "CPU")
        (joined,) = model(
            {name: np.array(value, np.float32) for name, value in inputs.items()}
        ).values()
    except RuntimeError:
        joined = None
    assert (joined is None) == OTHERS[other]
    assert ("OVN117" in codes(backwards(other))) == OTHERS[other]
    if joined is not None:
        np.testing.assert_array_equal(joined, [[17], [16], [14]])


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("is_integer", [False, True])
def test_a_state_computed_from_the_iteration_number(
    size: int, is_integer: bool, tmp_path: Path
) -> None:
    """Two numbers have no room in the memory of one, nor has a float in that of an integer."""
    m = IrModel()
    loop = m.loop(m.constant(3, ElementType.I64))
    element = ElementType.I64 if is_integer else ElementType.F32
    state = loop.state(m.input("x", 1, size, element=element))
    number = loop(Unsqueeze(), loop.iteration(), loop.constant([0, 1], ElementType.I64))
    total = loop(Add(), number if is_integer else loop(Convert(element), number), state)
    loop.carry(state, total)
    loop.last(total)
    model = m.done(*loop.done())
    shares = size == 1 and is_integer
    assert ("OVN102" in codes(model)) == shares
    irloop.save_model(model, tmp_path / "m.xml")
    compiled = openvino.Core().compile_model(str(tmp_path / "m.xml"), "CPU")
    for start in (5, 7):
        x = np.full((1, size), start, np.int64 if is_integer else np.float32)
        (last,) = compiled({"x": x}).values()
        if not shares:
            np.testing.assert_array_equal(last, [[start + 3] * size])
