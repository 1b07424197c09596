"""Records the values of a traced run, and the order of nodes and iterations.

The comparison of two models looks for the first recorded value that differs.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from irloop.budget import current
from irloop.comparison.pairing import inputs_of
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.execution.trace import IterationEvent, TraceEvent
from irloop.graph.model import Node, Value
from irloop.graph.walk import invariant_of

__all__ = ["KEPT_BYTES", "Event", "Recording"]

#: Maximum number of bytes of traced values that are kept. Of a longer run, only the beginning is
#: compared.
KEPT_BYTES = 128 * 2**20

#: The memory of a recorded value in bytes, not counting its array.
OVERHEAD = 200

Iterations = tuple[int, ...]


class Event(NamedTuple):
    """Records that a node ran or, if `is_iteration`, that one iteration of its body ran.

    `at` holds the iteration numbers of the loops around it.
    """

    node: Node
    at: Iterations
    is_iteration: bool = False


class Recording:
    """A tracer that keeps every value of a run.

    Each entry is keyed by the value and the iteration numbers of its enclosing loops. Once a value
    no longer fits into `KEPT_BYTES`, or into a quarter of the memory of the budget, neither this
    value nor any later one is kept.
    """

    def __init__(self) -> None:
        self._left = min(KEPT_BYTES, (current().memory or math.inf) // 4)
        self.values: dict[tuple[Value, Iterations], Any] = {}
        #: The nodes and iterations that ran, in order; an iteration follows the nodes of its body.
        self.events: list[Event] = []
        self._counts: dict[tuple[Node, Iterations], int] = {}
        self._ended: set[tuple[Node, Iterations]] = set()

    def __call__(self, event: TraceEvent) -> None:
        if self._left < 0:
            return
        iterations = event.iterations
        for value, made in inputs_of(event):
            # The tracer sees the parameters of a body only where nodes read them.
            if not value.producer.inputs:
                self._keep(value, iterations, made)
                self._keep_outer(value, iterations, made)
        for value, made in zip(event.node.outputs, event.outputs, strict=False):
            self._keep(value, iterations, made)
        if self._left < 0:
            return
        self.events.append(Event(event.node, iterations))
        if event.node.bodies:
            self._ended.add((event.node, iterations))

    def iteration(self, event: IterationEvent) -> None:
        """Keep the values of a body's parameters, including parameters that no node reads."""
        if self._left < 0:
            return
        numbers = event.iterations
        inputs = event.loop.bodies[0].graph.inputs
        for value, made in zip(inputs, event.parameters, strict=False):
            if made is not None:
                self._keep(value, numbers, made)
        if self._left < 0:
            return
        self._counts[event.loop, numbers[:-1]] = numbers[-1] + 1
        self.events.append(Event(event.loop, numbers, is_iteration=True))

    def clear(self) -> None:
        """Release all values."""
        self.values.clear()
        self.events.clear()

    def count(self, loop: Node, iterations: Iterations) -> tuple[int, bool]:
        """How often `loop` ran inside these `iterations`, and whether it ended."""
        return self._counts.get((loop, iterations), 0), (loop, iterations) in self._ended

    def _keep_outer(self, value: Value, iterations: Iterations, made: Any) -> None:
        """Record the value of a body parameter also under the outer value that feeds it.

        This applies only to outer values that no node computes, such as model inputs, and to
        parameters that are the same in every iteration. It happens while the body runs: if a node
        in the body fails, the loop or branch never ends, and its inputs would not be recorded.

        Args:
            value: the parameter; nothing happens for other values.
            iterations: the iterations of the loops around the parameter.
            made: what the parameter holds in this iteration.
        """
        owner, outer = value.producer.owner, invariant_of(value)
        if owner is None or outer is None or outer.producer.inputs:
            return
        is_branch = isinstance(owner.op, onnx.If | ov.If)
        outside = iterations if is_branch else iterations[:-1]
        if (outer, outside) not in self.values:
            self._keep(outer, outside, made)
            self._keep_outer(outer, outside, made)

    def _keep(self, value: Value, iterations: Iterations, made: Any) -> None:
        if (value, iterations) in self.values:
            return
        self._left -= OVERHEAD + getattr(made, "nbytes", 0)
        if self._left >= 0:
            self.values[value, iterations] = made
