"""Copies of loop states that would otherwise share memory in OpenVINO's CPU plugin."""

from __future__ import annotations

import pytest

from irloop.dialects.openvino.control_flow import Loop
from irloop.dialects.openvino.elementwise import Add
from irloop.graph.builder import Builder
from irloop.graph.loops import Carried, Concatenated, LastValue, PortMap
from irloop.graph.model import Body, Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.graph.verify import verify
from irloop.passes import PassConfig
from irloop.passes.common import BodyBarriers
from tests.passes.texts import shown

ROW = TensorType(ElementType.F32, Shape.of(1, 2))


def two_states(swapped: bool) -> Model:
    """A loop with a' = b and b' = a; with `swapped` false, both are incremented."""
    b = Builder(Graph("swap"))
    start = [b.parameter(name, ROW, (name,)) for name in "xy"]
    truth = b.constant(True, ElementType.BOOLEAN)
    inner = b.nested("body")
    held = [inner.parameter(name, ROW) for name in "ab"]
    one = inner.constant(1, ElementType.F32)
    new = held[::-1] if swapped else [inner(Add(), value, one, name="sum") for value in held]
    for value in (inner.constant(True, ElementType.BOOLEAN), *new):
        inner.result(value, f"{value.name}/out")
    ports = PortMap(
        (Carried(2, 0, 1), Carried(3, 1, 2)),
        (LastValue(1, 0), Concatenated(2, 1, 0)),
        condition=0,
    )
    body = (Body("body", inner.graph, ports),)
    node = b.emit(Loop(), b.i64(3), truth, *start, n_outputs=2, bodies=body, name="loop")
    for value in node.outputs:
        b.result(value, value.name)
    verify(b.graph)
    return Model(b.graph, "openvino", 10)


def test_swapped_states_are_copied() -> None:
    model = two_states(swapped=True)
    assert BodyBarriers().run(model, PassConfig())
    verify(model.graph)
    assert shown(model) == (
        "loop.0, loop.1 = Loop(3, true):\n"
        "  a from x, then loop/Maximum\n"
        "  b from y, then loop/Maximum_1\n"
        "  loop/Maximum = Maximum(b, b)\n"
        "  loop/Maximum_1 = Maximum(a, a)\n"
        "  loop.0 is loop/Maximum\n"
        "  loop.1 joins loop/Maximum_1, axis 0, 0..-1, 1, 1\n"
        "-> loop.0, loop.1"
    )


@pytest.mark.parametrize("swapped", [False, True])
def test_a_second_run_finds_nothing(swapped: bool) -> None:
    model = two_states(swapped)
    assert BodyBarriers().run(model, PassConfig()) is swapped
    assert not BodyBarriers().run(model, PassConfig())
