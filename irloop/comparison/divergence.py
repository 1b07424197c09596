"""Where two models first part: the node, the iteration and the element.

Both models run in irloop's own executor with a trace. Nodes correspond when a value of one has
a name (of a tensor, or of its node) that exactly one value of the other has, too, and the same
iterations run around both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop.comparison.engines import ITERATIONS
from irloop.comparison.measure import Tolerance, measure
from irloop.comparison.verdict import Verdict, drift, verdict_of
from irloop.errors import IrloopError
from irloop.execution.limits import Limits
from irloop.execution.session import Session
from irloop.execution.trace import TraceEvent
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.walk import all_graphs, all_nodes, node_path

__all__ = ["Divergence", "find_divergence"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Traced values are kept up to so many bytes; of longer runs the beginning is looked at.
KEPT_BYTES = 512 * 2**20

#: Beyond so many iterations the growth of an error is known well enough.
KEPT_ERRORS = 64


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first value in which two runs differ, in the order of the second model.

    `path` is the node in the first model, `other` in the second. `iterations` holds the number
    of the iteration of each loop around it and `of` how many there are (None: not known).
    `growth` is the factor by which the error grows with each iteration.
    """

    path: str
    other: str
    iterations: tuple[int, ...]
    of: tuple[int | None, ...]
    element: tuple[int, ...] | None
    left: str
    right: str
    ulp: int | None
    inputs_equal: bool
    verdict: Verdict
    detail: str
    growth: float | None

    def __str__(self) -> str:
        parts = [f"first divergence: `{self.path}`"]
        if self.other != self.path:
            parts[0] += f" (`{self.other}`)"
        for number, count in zip(self.iterations, self.of, strict=True):
            parts.append(f"iteration {number}" + ("" if count is None else f" of {count}"))
        text = ", ".join(parts)
        if self.element is not None:
            place = ", ".join(map(str, self.element))
            text += f", element ({place}): {self.left} against {self.right}"
            text += "" if self.ulp is None else f", {self.ulp} ULP"
        else:
            text += f": {self.left} against {self.right}"
        if self.inputs_equal:
            text += "; inputs still equal"
        text += f"; {self.verdict}"
        text += f" ({self.detail})" if self.detail else ""
        return text + (f"; grows by {self.growth:.3g} an iteration" if self.growth else "")


def find_divergence(
    first: Model,
    second: Model,
    arrays: tuple[Sequence[Any], Sequence[Any]],
    tolerance: Tolerance,
    *,
    seconds: float,
    widen: bool | None = None,
) -> Divergence | None:
    """The first divergence of two models run with the same inputs, None where there is none.

    `arrays` are the inputs of the first and of the second model, each in its own order.
    """
    pairs = _Pairs(first, second)
    left = _Recorder(pairs.of_first)
    counts = _run(first, arrays[0], left, seconds, widen)
    right = _Comparer(left.values, pairs, tolerance)
    other_counts = _run(second, arrays[1], right, seconds, widen)
    by_count = _different_counts(pairs, counts, other_counts)
    if by_count is not None and (right.event is None or not _before(right, by_count[1])):
        return _count_divergence(*by_count)
    return right.divergence(counts)


class _Pairs:
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


def _run(
    model: Model, arrays: Sequence[Any], trace: Any, seconds: float, widen: bool | None
) -> dict[Node, set[int]]:
    session = Session(model, hoist=False, widen=widen)
    try:
        session.run(arrays, limits=Limits(iterations=ITERATIONS, seconds=seconds), trace=trace)
    except IrloopError:
        # A run that fails half way has still left a trace.
        return {}
    return session.counts


class _Recorder:
    """Keeps what the first model makes, by name and iteration."""

    def __init__(self, names: dict[Value, str]) -> None:
        self._names = names
        self._left = KEPT_BYTES
        self.values: dict[tuple[str, tuple[int, ...]], Any] = {}

    def __call__(self, event: TraceEvent) -> None:
        pairs = [*zip(event.node.outputs, event.outputs, strict=False)]
        # Parameters of bodies are seen only where they are read.
        pairs += [(value, made) for value, made in _inputs(event) if not value.producer.inputs]
        for value, made in pairs:
            name = self._names.get(value)
            size = getattr(made, "nbytes", 0)
            if name is not None and size <= self._left:
                self._left -= size
                self.values[name, event.iterations] = made


class _Comparer:
    """Looks for the first value of the second model that is another than in the first."""

    def __init__(
        self,
        values: dict[tuple[str, tuple[int, ...]], Any],
        pairs: _Pairs,
        tolerance: Tolerance,
    ) -> None:
        self._values = values
        self._pairs = pairs
        self._tolerance = tolerance
        self._errors: list[float] = []
        self._place: tuple[Value, str] | None = None
        self._inputs_equal = False
        self._found: tuple[Any, Any] | None = None
        self.event: TraceEvent | None = None

    def __call__(self, event: TraceEvent) -> None:
        for value, made in zip(event.node.outputs, event.outputs, strict=False):
            name = self._pairs.of_second.get(value)
            if name is None or (name, event.iterations) not in self._values:
                continue
            before = self._values[name, event.iterations]
            if self._place is None:
                self._look(event, value, name, before, made)
            elif value is self._place[0] and len(self._errors) < KEPT_ERRORS:
                self._errors.append(_error(before, made))

    def _look(self, event: TraceEvent, value: Value, name: str, before: Any, made: Any) -> None:
        if _agree(before, made, self._tolerance):
            return
        self._inputs_equal = self._same_inputs(event)
        self._place = (value, name)
        self._found = (before, made)
        self._errors = [_error(before, made)]
        self.event = event

    def _same_inputs(self, event: TraceEvent) -> bool:
        """True when all inputs of a node are known to be those of the first model."""
        judged = []
        for value, made in _inputs(event):
            if isinstance(value.producer.op, Constant):
                continue
            before = self._values.get((self._pairs.of_second.get(value, ""), event.iterations))
            judged.append(before is not None and _agree(before, made, self._tolerance))
        return bool(judged) and all(judged)

    def divergence(self, counts: dict[Node, set[int]]) -> Divergence | None:
        """What was found."""
        if self.event is None or self._place is None or self._found is None:
            return None
        before, made = (np.asarray(item) for item in self._found)
        first = self._pairs.first_by_name[self._place[1]].producer
        verdict, detail = verdict_of(before, made, self._tolerance)
        growth = drift(self._errors) if verdict is Verdict.DRIFT else None
        element, left, right, ulp = _worst(before, made, self._tolerance)
        return Divergence(
            node_path(first),
            self.event.path,
            self.event.iterations,
            _counts_around(first, counts),
            element,
            left,
            right,
            ulp,
            self._inputs_equal,
            verdict,
            detail,
            growth,
        )


def _inputs(event: TraceEvent) -> list[tuple[Value, Any]]:
    """The inputs of a node that are there, with their values."""
    pairs = zip(event.node.inputs, event.inputs, strict=False)
    return [(value, made) for value, made in pairs if value is not None]


def _worst(
    x: Array, y: Array, tolerance: Tolerance
) -> tuple[tuple[int, ...] | None, str, str, int | None]:
    """The worst element, the two values there, and their distance in ULP."""
    if x.dtype != y.dtype or x.size != y.size:
        return None, _kind(x), _kind(y), None
    x, y = (x, y) if x.shape == y.shape else (x.reshape(-1), y.reshape(-1))
    worst = measure(x, y, tolerance).worst
    if worst is None:
        return None, _kind(x), _kind(y), None
    pair = np.asarray(x[worst]).reshape(1), np.asarray(y[worst]).reshape(1)
    return worst, str(x[worst]), str(y[worst]), measure(*pair, tolerance).ulp


def _kind(array: Array) -> str:
    return f"{array.dtype.name}{list(array.shape)}"


def _agree(before: Any, made: Any, tolerance: Tolerance) -> bool:
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


def _error(before: Any, made: Any) -> float:
    x, y = np.asarray(before), np.asarray(made)
    if x.dtype != y.dtype or x.size != y.size or x.dtype.kind in "OSU":
        return float("inf")
    return measure(x.reshape(-1), y.reshape(-1), Tolerance()).absolute


def _owners(node: Node) -> list[Node]:
    """The loops around a node, outermost first."""
    found: list[Node] = []
    graph = node.graph
    while graph is not None and graph.owner is not None:
        if graph.owner.op.type != "If":
            found.append(graph.owner)
        graph = graph.owner.graph
    return found[::-1]


def _counts_around(node: Node, counts: dict[Node, set[int]]) -> tuple[int | None, ...]:
    found = [counts.get(loop, set()) for loop in _owners(node)]
    return tuple(next(iter(item)) if len(item) == 1 else None for item in found)


def _different_counts(
    pairs: _Pairs, counts: dict[Node, set[int]], others: dict[Node, set[int]]
) -> tuple[Node, Node, int, int] | None:
    for first, second in pairs.loops():
        left, right = counts.get(first), others.get(second)
        if left and right and left != right and len(left) == len(right) == 1:
            return first, second, next(iter(left)), next(iter(right))
    return None


def _before(comparer: _Comparer, loop: Node) -> bool:
    """True when what differs stands before the loop, or inside of it."""
    event = comparer.event
    if event is None:
        return False
    if loop in _owners(event.node):
        return True
    own = event.node.graph
    if own is not loop.graph or own is None:
        return False
    return next(node for node in own.nodes if node in (event.node, loop)) is not loop


def _count_divergence(first: Node, second: Node, left: int, right: int) -> Divergence:
    return Divergence(
        node_path(first),
        node_path(second),
        (),
        (),
        None,
        f"{left} iterations",
        f"{right} iterations",
        None,
        False,
        Verdict.COUNT,
        "",
        None,
    )
