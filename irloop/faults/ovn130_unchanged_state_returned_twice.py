"""OVN130: a body parameter that two outputs return unchanged."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_loop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import (
    Add,
)
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.loops import (
    Carried,
    Invariant,
    LastValue,
)
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["UnchangedStateReturnedTwice"]


class UnchangedStateReturnedTwice(
    Fault,
    code="OVN130",
    engine="openvino",
    title="A body parameter that two outputs return unchanged",
    effect=Effect.CRASH,
    fix="Let the body return Maximum(s, s) instead of the parameter s.",
    avoided_by=("unchanged_values",),
):
    """A body parameter that two outputs return unchanged.

    What happens:
        The plugin removes the output that returns the last value, and the process dies.
    Where:
        The body of a Loop or TensorIterator returns a parameter unchanged: a state that it does not
        change, or a captured value. Two outputs of the loop return this parameter: both as its last
        value, or one as its last value and one as its values concatenated over all iterations.
    What irloop does:
        `transform` lets the body return a copy. Conversion to IR copies such a value, too.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for result, count in returned_twice(node).items() if is_loop(node) else ():
            yield f"{count} outputs return result {result}, an unchanged body parameter"


def returned_twice(node: Node) -> dict[int, int]:
    """Find unchanged body parameters that several outputs of a loop return.

    The parameter is a captured value, or a state that the body does not change. At least one of the
    outputs must return the last value: OpenVINO tries to remove such an output, and crashes.

    Returns a dictionary. Its keys are the positions of the body results that return such a
    parameter. Each value is the number of loop outputs that the body result feeds.
    """
    body = node.body()
    parameters, results = body.graph.inputs, body.graph.outputs
    kept = {
        parameters[port.parameter]
        for port in body.ports.inputs
        if isinstance(port, Invariant)
        or (isinstance(port, Carried) and results[port.result] is parameters[port.parameter])
    }
    places = [port.result for port in body.ports.outputs]
    last = {port.result for port in body.ports.outputs if isinstance(port, LastValue)}
    shared = [at for at in sorted(last) if places.count(at) > 1]
    return {at: places.count(at) for at in shared if results[at] in kept}


@UnchangedStateReturnedTwice.case(
    "openvino_loop_unchanged_twice",
    "IR: rare forms",
    "OpenVINO Loop-5",
    "Several outputs may return one result of the body.",
    run([2, [1, 2]], [[1, 2], [1, 2], [2, 4, 2, 4]]),
)
def smallest() -> Model:
    m = IrModel()
    loop = m.loop(m.input("n", element=ElementType.I64))
    state = loop.state(m.input("x", 2))
    loop.carry(state, state)
    loop.last(state)
    loop.last(state)
    loop.joined(loop(Add(), state, state), 0)
    return m.done(*loop.done())
