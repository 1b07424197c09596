"""Collects the values of a run for a page.

These are the values of each node in each iteration, up to a maximum number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irloop.execution.trace import TraceEvent
from irloop.graph.model import Node, Value
from irloop.pages.weights import Kept, small_values, summary

__all__ = ["Values"]

#: Number of iterations of each loop that are kept, in addition to the last one.
FIRST = 100

#: Maximum number of values on a page, and of elements of a tensor that is kept whole.
MOST, WHOLE = 40_000, 32

#: The summary of a larger tensor describes only this many elements from its start.
SUMMARISED = 1 << 22

Iterations = tuple[int, ...]


class Values:
    """A tracer that keeps the values that a page shows."""

    def __init__(self, numbers: dict[Node, int]) -> None:
        self._numbers = numbers
        self._kept: dict[tuple[int, Iterations], dict[int, Any]] = {}
        self._last: dict[int, tuple[Iterations, dict[int, Any]]] = {}
        self._left_out = 0
        self._arrays = Kept()

    def __call__(self, event: TraceEvent) -> None:
        # Parameters are not traced; their values are seen only as inputs of other nodes.
        pairs = zip(event.node.read_inputs, event.inputs, strict=False)
        for value, made in pairs:
            if value is not None and not value.producer.inputs:
                self._keep(value, event.iterations, made)
        for value, made in zip(event.node.outputs, event.outputs, strict=False):
            self._keep(value, event.iterations, made)

    def add_outputs(self, results: list[Node], outputs: list[Any]) -> None:
        """Add the outputs of a run as the values of the model's Result nodes."""
        for node, made in zip(results, outputs, strict=False):
            if node in self._numbers:
                self._kept[self._numbers[node], ()] = {0: self._described(made)}

    def _keep(self, value: Value, iterations: Iterations, made: Any) -> None:
        number = self._numbers.get(value.producer)
        if number is None or value.index in self._kept.get((number, iterations), ()):
            return
        if len(self._kept) < MOST and max(iterations, default=0) < FIRST:
            self._kept.setdefault((number, iterations), {})[value.index] = self._described(made)
            return
        before = self._last.get(number)
        if before is None or before[0] != iterations:
            self._last[number] = (iterations, {})
            self._left_out += before is not None
        if value.index not in self._last[number][1]:
            self._last[number][1][value.index] = self._described(made)

    def _described(self, made: Any) -> dict[str, Any]:
        if made is None or isinstance(made, list):
            return described(made)
        return described(made) | self._arrays.of(np.asarray(made))

    def data(self) -> dict[str, Any]:
        """The values that were kept, as data for the page: `by_node` and `left_out`.

        `by_node` maps the number of each node to a dictionary with the values of the node's outputs
        in each iteration. A key of this dictionary lists the iterations of the enclosing loops,
        outermost first, such as "0,3" in two nested loops. Outside loops, the key is empty.
        `left_out` counts the entries that were not kept.
        """
        by_node: dict[int, dict[str, Any]] = {}
        last = (((number, at), made) for number, (at, made) in self._last.items())
        for (number, at), made in (*self._kept.items(), *last):
            by_node.setdefault(number, {})[",".join(map(str, at))] = made
        return {"by_node": by_node, "left_out": self._left_out}


def described(made: Any) -> dict[str, Any]:
    """Describe a value: its type, shape and range, and the elements of a small one.

    The range is that of the first `SUMMARISED` elements.
    """
    if made is None:
        return {"type": "nothing"}
    if isinstance(made, list):
        return {"type": f"sequence of {len(made)}"}
    array = np.asarray(made)
    description: dict[str, Any] = {"type": array.dtype.name, "shape": list(array.shape)}
    description |= summary(array.reshape(-1)[:SUMMARISED])
    if array.size <= WHOLE:
        description["values"] = small_values(array)
    return description
