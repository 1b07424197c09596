"""Finds the first difference of two models: the node, the iteration and the element.

Both models run in irloop's executor with a trace. Corresponding values (see `Pairs`) are compared
if they were computed in the same iterations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop.budget import current
from irloop.comparison.agreement import agree
from irloop.comparison.measure import Tolerance, measure
from irloop.comparison.pairing import Pairs, inputs_of, traced
from irloop.comparison.verdict import LOOPS, Verdict, drift, verdict_of
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.execution.trace import TraceEvent
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.record import Record
from irloop.graph.walk import node_path, owners

__all__ = ["Divergence", "find_divergence"]

Array = np.ndarray[Any, np.dtype[Any]]

#: Maximum number of bytes of traced values that are kept. Of a longer run, only the beginning is
#: compared.
KEPT_BYTES = 256 * 2**20

#: Number of iterations after which the growth of an error is known well enough.
KEPT_ERRORS = 64


class Divergence(Record):
    """The first value in which two runs differ, in the order of the second model.

    `path` is the path of the node in the first model, and `other` is that in the second. For each
    loop around the node, `iterations` holds the iteration number and `of` the number of iterations
    (None: not known). `growth` is the factor by which the error grows with each iteration.
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
    """Find the first divergence of two models on the same inputs; None if there is none.

    `arrays` are the inputs of the first and of the second model, each in its own order. Each model
    runs once, for at most `seconds`. With `widen`, half precision is computed in single precision
    (see `Session`).
    """
    pairs = Pairs(first, second)
    left = _Recorder(pairs.of_first)
    counts = traced(first, arrays[0], left, seconds, widen)
    right = _Comparer(left.values, pairs, tolerance)
    other_counts = traced(second, arrays[1], right, seconds, widen)
    by_count = _different_counts(pairs, counts, other_counts)
    if by_count is not None and (right.event is None or not _before(right, by_count[1])):
        return _count_divergence(*by_count)
    return right.divergence(counts)


class _Recorder:
    """Records the values of the first model, by name and iteration."""

    def __init__(self, names: dict[Value, str]) -> None:
        self._names = names
        self._left = min(KEPT_BYTES, (current().memory or math.inf) // 4)
        self.values: dict[tuple[str, tuple[int, ...]], Any] = {}

    def __call__(self, event: TraceEvent) -> None:
        pairs = [*zip(event.node.outputs, event.outputs, strict=False)]
        # The tracer sees the parameters of a body only where nodes read them.
        pairs += [(value, made) for value, made in inputs_of(event) if not value.producer.inputs]
        for value, made in pairs:
            name = self._names.get(value)
            size = getattr(made, "nbytes", 0)
            if name is not None and size <= self._left:
                self._left -= size
                self.values[name, event.iterations] = made


class _Comparer:
    """Finds the first value of the second model that differs from that of the first model."""

    def __init__(
        self,
        values: dict[tuple[str, tuple[int, ...]], Any],
        pairs: Pairs,
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
        if agree(before, made, self._tolerance):
            return
        self._inputs_equal = self._same_inputs(event)
        self._place = (value, name)
        self._found = (before, made)
        self._errors = [_error(before, made)]
        self.event = event

    def _same_inputs(self, event: TraceEvent) -> bool:
        """Return whether the inputs of a node in the second model equal those in the first.

        Constants are not compared. Returns False if all inputs are constants, or if an input has no
        counterpart in the first model.
        """
        judged = []
        for value, made in inputs_of(event):
            if isinstance(value.producer.op, Constant):
                continue
            before = self._values.get((self._pairs.of_second.get(value, ""), event.iterations))
            judged.append(before is not None and agree(before, made, self._tolerance))
        return bool(judged) and all(judged)

    def divergence(self, counts: dict[Node, set[int]]) -> Divergence | None:
        """The divergence that the comparison found; None if it found none.

        `counts` holds the trip counts of each loop of the first model.
        """
        if self.event is None or self._place is None or self._found is None:
            return None
        before, made = (np.asarray(item) for item in self._found)
        first = self._pairs.first_by_name[self._place[1]].producer
        loops = bool(self.event.iterations) or isinstance(first.op, LOOPS)
        verdict, detail = verdict_of(before, made, self._tolerance, loops=loops)
        growth = drift(self._errors) if verdict is Verdict.DRIFT else None
        element, left, right, ulp = _worst(before, made, self._tolerance)
        return Divergence(
            path=node_path(first),
            other=self.event.path,
            iterations=self.event.iterations,
            of=_counts_around(first, counts),
            element=element,
            left=left,
            right=right,
            ulp=ulp,
            inputs_equal=self._inputs_equal,
            verdict=verdict,
            detail=detail,
            growth=growth,
        )


def _worst(
    x: Array, y: Array, tolerance: Tolerance
) -> tuple[tuple[int, ...] | None, str, str, int | None]:
    """Find the position at which two arrays differ most.

    Returns its index, the elements of `x` and `y` there as strings, and their distance in ULP (None
    for integers). The index is flat if only the shapes of the arrays differ.

    If all elements are equal within the tolerance, or the arrays differ in element type or size,
    the index and the distance are None, and the strings are the types and shapes of the arrays.
    """
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


def _error(before: Any, made: Any) -> float:
    x, y = np.asarray(before), np.asarray(made)
    if x.dtype != y.dtype or x.size != y.size or x.dtype.kind in "OSU":
        return float("inf")
    return measure(x.reshape(-1), y.reshape(-1), Tolerance()).absolute


def _loops_around(node: Node) -> list[Node]:
    """The loops around a node, outermost first."""
    return [owner for owner in owners(node) if not isinstance(owner.op, ov.If | onnx.If)][::-1]


def _counts_around(node: Node, counts: dict[Node, set[int]]) -> tuple[int | None, ...]:
    found = [counts.get(loop, set()) for loop in _loops_around(node)]
    return tuple(next(iter(item)) if len(item) == 1 else None for item in found)


def _different_counts(
    pairs: Pairs, counts: dict[Node, set[int]], others: dict[Node, set[int]]
) -> tuple[Node, Node, int, int] | None:
    for first, second in pairs.loops():
        left, right = counts.get(first), others.get(second)
        if left and right and left != right and len(left) == len(right) == 1:
            return first, second, next(iter(left)), next(iter(right))
    return None


def _before(comparer: _Comparer, loop: Node) -> bool:
    """Return whether the difference that `comparer` found is in `loop` or precedes it.

    False if the comparison found no difference.
    """
    event = comparer.event
    if event is None:
        return False
    if loop in _loops_around(event.node):
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
