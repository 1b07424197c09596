"""Records the values of a traced run, and the order in which nodes ran."""

from __future__ import annotations

from typing import Any

from irloop.comparison.pairing import inputs_of
from irloop.execution.trace import TraceEvent
from irloop.graph.model import Node, Value

__all__ = ["KEPT_BYTES", "Recording"]

#: The bytes of traced values to keep; of longer runs only the beginning is looked at.
KEPT_BYTES = 512 * 2**20

#: The memory of one recorded value besides its array, in bytes.
OVERHEAD = 200

Iterations = tuple[int, ...]


class Recording:
    """A tracer that keeps every value, by the iteration of each loop around it."""

    def __init__(self) -> None:
        self._left = KEPT_BYTES
        self.values: dict[tuple[Value, Iterations], Any] = {}
        #: The nodes that ran, in order.
        self.events: list[tuple[Node, Iterations]] = []

    def __call__(self, event: TraceEvent) -> None:
        if self._left < 0:
            return
        at = event.iterations
        for value, made in inputs_of(event):
            # Parameters of bodies are visible only at their readers.
            if not value.producer.inputs:
                self._keep(value, at, made)
        for value, made in zip(event.node.outputs, event.outputs, strict=False):
            self._keep(value, at, made)
        self.events.append((event.node, at))

    def _keep(self, value: Value, at: Iterations, made: Any) -> None:
        if (value, at) in self.values:
            return
        self._left -= OVERHEAD + getattr(made, "nbytes", 0)
        self.values[value, at] = made
