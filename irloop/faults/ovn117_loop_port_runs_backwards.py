"""OVN117: a Loop with an input or output that runs backwards."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.live_values import is_live
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.elementwise import Add
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.loops import Carried, Concatenated, Sliced
from irloop.graph.model import Body, Model, Node
from irloop.graph.types import ElementType

__all__ = ["LoopPortRunsBackwards"]


class LoopPortRunsBackwards(
    Fault,
    code="OVN117",
    engine="openvino",
    measured=("2026.4.1",),
    title="A Loop with an input or output that runs backwards",
    effect=Effect.REFUSAL,
    fix="Reverse the value outside of the Loop.",
    avoided_by=("runnable_ports",),
):
    """A Loop with an input or output that runs backwards.

    What happens:
        The model is not compiled (Check 'start == 0 && stride == 1'): while OpenVINO removes inputs
        that the body does not need, it supports only ports that go forward.
    Where:
        A sliced input or a concatenated output of a Loop has a negative stride, and OpenVINO
        removes another input: nothing depends on it, or it is a state that never changes.
    What irloop does:
        Conversion to IR reverses the value outside the Loop.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, ov.Loop) or not _loses_an_input(node.body()):
            return
        ports = node.body().ports
        for port in (*ports.inputs, *ports.outputs):
            if isinstance(port, Sliced | Concatenated) and port.stride < 0:
                kind = "input" if isinstance(port, Sliced) else "output"
                yield f"{kind} {port.external} of the Loop runs backwards"


def _loses_an_input(body: Body) -> bool:
    """Return whether OpenVINO removes an input: a value or state that the body does not need."""
    for port in body.ports.inputs:
        parameter = body.graph.input(port.parameter)
        if isinstance(port, Carried) and body.graph.output(port.result) is parameter:
            return True
        if not is_live(parameter):
            return True
    return False


@LoopPortRunsBackwards.case(
    "openvino_loop_runs_backwards",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "A negative stride slices and joins from the end of the axis to its begin.",
    # 3, 3 + 2, 3 + 2 + 1, and the first of them comes last
    run([[[1], [2], [3]], [[0]], [9]], [[[6], [5], [3]]]),
)
def smallest() -> Model:
    m = IrModel()
    loop = m.loop(m.constant(3, ElementType.I64))
    part = loop.slice(m.input("x", 3, 1), 0, -1, 0, -1)
    state = loop.state(m.input("s", 1, 1))
    # Nothing reads this value; OpenVINO rewrites such a Loop.
    loop.invariant(m.input("u", 1))
    total = loop(Add(), state, part)
    loop.carry(state, total)
    loop.joined(total, 0, -1, 0, -1)
    return m.done(*loop.done())
