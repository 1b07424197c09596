"""Values of two models that stand for the same, and what they hold in a traced run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from irloop.comparison.engines import ITERATIONS
from irloop.comparison.measure import Tolerance, measure
from irloop.errors import IrloopError
from irloop.execution.limits import Limits
from irloop.execution.session import Session
from irloop.execution.trace import TraceEvent, Tracer
from irloop.graph.model import Model, Node, Value
from irloop.graph.walk import all_graphs, all_nodes

__all__ = ["Pairs", "agree", "inputs_of", "traced"]


class Pairs:
    """Values of two models that correspond, by a name that is unique in both."""

    def __init__(self, first: Model, second: Model) -> None:
        left, right = _names(first), _names(second)
        self.of_first: dict[Value, str] = {}
        self.of_second: dict[Value, str] = {}
        self.first_by_name: dict[str, Value] = {}
        taken: set[Value] = set()
        for name, value in left.items():
            other = right.get(name)
            if other is None or value in self.of_first or other in taken:
                continue
            taken.add(other)
            self.of_first[value] = name
            self.of_second[other] = name
            self.first_by_name[name] = value

    def loops(self) -> Iterable[tuple[Node, Node]]:
        """The nodes with bodies that correspond."""
        for value, name in self.of_second.items():
            other = self.first_by_name[name].producer
            if value.producer.bodies and other.bodies:
                yield other, value.producer


def _names(model: Model) -> dict[str, Value]:
    """Values by the names that only they have: those of tensors, then those of nodes."""
    by_tensor: dict[str, list[Value]] = {}
    by_node: dict[str, list[Value]] = {}
    values = [value for node in all_nodes(model.graph) for value in node.outputs]
    values += [value for graph in all_graphs(model.graph) for value in graph.inputs]
    for value in values:
        for name in value.names:
            by_tensor.setdefault(name, []).append(value)
        node = value.producer
        own = node.name if len(node.outputs) == 1 else f"{node.name}.{value.index}"
        by_node.setdefault(own, []).append(value)
    found = {name: items[0] for name, items in by_tensor.items() if len(items) == 1}
    for name, items in by_node.items():
        if len(items) == 1 and name not in by_tensor:
            found[name] = items[0]
    return found


def traced(
    model: Model, arrays: Sequence[Any], trace: Tracer, seconds: float, widen: bool | None
) -> dict[Node, set[int]]:
    """Run a model with a trace; returns how often each loop ran."""
    session = Session(model, hoist=False, widen=widen)
    try:
        session.run(arrays, limits=Limits(iterations=ITERATIONS, seconds=seconds), trace=trace)
    except IrloopError:
        # A run that fails half way has still left a trace.
        return {}
    return session.counts


def inputs_of(event: TraceEvent) -> list[tuple[Value, Any]]:
    """The inputs of a node that are there, with their values."""
    pairs = zip(event.node.read_inputs, event.inputs, strict=False)
    return [(value, made) for value, made in pairs if value is not None]


def agree(before: Any, made: Any, tolerance: Tolerance) -> bool:
    """True when two values that correspond do not contradict each other.

    Their shapes may differ: the one format keeps the axis of a slice, the other drops it.
    """
    if not isinstance(before, np.ndarray | np.generic) or not isinstance(
        made, np.ndarray | np.generic
    ):
        return True
    x, y = np.asarray(before), np.asarray(made)
    if x.size != y.size:
        # A name may stand for a slice on one side and for an element on the other.
        return False
    if x.dtype != y.dtype:
        # Trip counts and iteration numbers have other types in each format.
        return x.dtype.kind in "iub" and y.dtype.kind in "iub"
    return measure(x.reshape(-1), y.reshape(-1), tolerance).equal
