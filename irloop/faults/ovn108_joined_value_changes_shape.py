"""OVN108: a joined value whose shape changes."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from irloop.analysis.patterns import is_loop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.slicing import Concat
from irloop.dialects.wire_ends import states_of
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.loops import (
    Concatenated,
)
from irloop.graph.model import Model, Node, Value
from irloop.graph.types import ElementType
from irloop.graph.walk import reached

__all__ = ["JoinedValueChangesShape"]


class JoinedValueChangesShape(
    Fault,
    code="OVN108",
    engine="openvino",
    title="A joined value whose shape changes",
    effect=Effect.WRONG,
    minimal=False,
    rule="IRL612",
    fix="Join values of one shape.",
):
    """A joined value whose shape changes.

    What happens:
        OpenVINO 2026.4.1 refuses the inference if the first size of the value is known, or if the
        value is joined along the axis that grows, as in the minimal model. If the values are joined
        along a new axis and their size is not known, the output contains uninitialised memory.
    Where:
        The concatenated value changes its size from one iteration to the next.
    What irloop does:
        Conversion reports it.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        body = node.body()
        states = changing_states(node)
        for port in body.ports.outputs:
            if not isinstance(port, Concatenated):
                continue
            if shape_comes_from(body.graph.output(port.result), states):
                yield f"output {port.external} joins values whose size changes"


def changing_states(node: Node) -> set[Value]:
    """The body parameters of a loop's states whose shape may change between iterations."""
    changing = set()
    for state in states_of(node):
        shapes = [shape_of(state.parameter), shape_of(state.following)]
        if state.outer is not None and shape_of(state.outer).is_static:
            # Inference widens the type of the parameter of a state whose shape changes.
            shapes.append(shape_of(state.outer))
        if any(shape != shapes[0] for shape in shapes):
            changing.add(state.parameter)
    return changing


def shape_comes_from(value: Value, sources: AbstractSet[Value]) -> bool:
    """Return whether `value` gets its shape from one of `sources`.

    Follows inputs backwards as long as they have the shape of the operation's output.
    """

    def onward(value: Value) -> Iterator[Value]:
        for item in value.producer.inputs:
            if item is not None and shape_of(item) == shape_of(value):
                yield item

    return any(item in sources for item in reached([value], onward))


@JoinedValueChangesShape.case(
    "openvino_loop_joins_a_growing_value",
    "IR outside of the specification: refused, or as meant",
    "OpenVINO Loop-5",
    "Outputs with an axis are concatenated from slices of one size in each iteration.",
    # The state has 1, 2 and 4 rows; each slice of the output is the state times 2.
    run([[[1, 2]]], [[[2, 4]] * 7, [[1, 2]] * 8]),
    may_be_refused=True,
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 1, 2)
    loop = m.loop(m.constant(3, ElementType.I64))
    state = loop.state(x)
    grown = loop(Concat(0), state, state)
    loop.carry(state, grown)
    loop.joined(loop(Add(), state, state), 0)
    loop.last(grown)
    return m.done(*loop.done())
