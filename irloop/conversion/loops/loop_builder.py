"""The base of the builders of loops: collects the wires of one loop, then makes its node."""

from __future__ import annotations

from typing import Generic, TypeVar

from irloop.conversion.framework.translation import Conversion
from irloop.dialects.wire_ends import LAST, STATE, Entering, Leaving
from irloop.dialects.wires import Wires
from irloop.graph.loops import InputPort
from irloop.graph.model import Value
from irloop.graph.op import Op
from irloop.graph.types import ValueType

__all__ = ["LoopBuilder", "Outputs"]

#: The outputs of a new loop: the last value of each state, and each joined output.
C = TypeVar("C", bound=Conversion)

Outputs = dict[Entering | Leaving, Value]


class LoopBuilder(Generic[C]):
    """Collects the wires of one loop; the caller sets the `result` of each state.

    `c` writes the graph around the loop, and `inner` the body.
    """

    def __init__(self, c: C, label: str = "body") -> None:
        self.c = c
        self.inner = c.nested(label)
        self.wires = Wires(self.inner.graph, c.location)
        self.captured: dict[Value, Value] = {}

    def state(self, initial: Value, type: ValueType, name: str) -> Entering:
        """Add a state; its last value is an output of the loop."""
        return self.enter(initial, name, STATE, type)

    def enter(self, outer: Value, wish: str, port: InputPort, type: ValueType) -> Entering:
        """Add an input of the loop; its body parameter gets the name `wish` if that is free."""
        return self.wires.enter(outer, self.inner.names.fresh(wish), port, type)

    def make(self, op: Op) -> Outputs:
        """Emit the loop; the last values of the states are its first outputs."""
        joined, self.wires.outputs = self.wires.outputs, []
        lasts = {
            state: self.wires.leave(state.following, LAST, state) for state in self.wires.states
        }
        self.wires.outputs += joined
        self.drop_unread()
        self.wires.emit(self.c, op)
        made: Outputs = {state: last.output for state, last in lasts.items()}
        made.update({leaving: leaving.output for leaving in joined})
        return made

    def drop_unread(self) -> None:
        """Remove what the body does not read, just before the loop is emitted."""
