"""OVN112: a state whose number of dimensions changes."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import is_loop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.dialects.wire_ends import states_of
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["StateChangesRank"]


class StateChangesRank(
    Fault,
    code="OVN112",
    engine="openvino",
    title="A state whose number of dimensions changes",
    effect=Effect.REFUSAL,
    rule="IRL628",
    fix="Reshape the initial value to the rank of the state's next value.",
):
    """A state whose number of dimensions changes.

    What happens:
        The inference ends with an error.
    Where:
        The initial value and the next value of a state have different ranks.
    What irloop does:
        Conversion reports it. If the loop runs exactly once, conversion unrolls it.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        for state in states_of(node):
            own, then = state.parameter, shape_of(state.following).rank
            first = None if state.outer is None else shape_of(state.outer).rank
            if first is not None and {first} != {shape_of(own).rank, then}:
                yield f"the number of dimensions of state {own.name!r} changes"


@StateChangesRank.case(
    "openvino_loop_state_changes_rank",
    "IR outside of the specification: refused, or as meant",
    "OpenVINO Loop-5",
    "A back edge leads to a parameter of the same rank.",
    run([[1, 2]], [[[[2, 4]]]]),
    may_be_refused=True,
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 2)
    loop = m.loop(m.constant(2, ElementType.I64))
    state = loop.state(x)
    more = loop(Unsqueeze(), state, loop.constant([0], ElementType.I64))
    loop.carry(state, loop(Add(), more, more))
    loop.last(more)
    return m.done(*loop.done())
