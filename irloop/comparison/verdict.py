"""Classifies differences by the typical mistakes in conversions of loops.

A `Verdict` is the class of a difference between two outputs, such as another number of iterations,
reversed parts, or a state that is never updated.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from irloop.comparison.measure import Tolerance, agree, wide_blocks
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.graph.model import Graph
from irloop.graph.walk import downstream, has_op

__all__ = ["LOOPS", "Verdict", "drift", "outputs_of_loops", "verdict_of"]

#: The operations with a body that runs more than once.
LOOPS = (ov.Loop, ov.TensorIterator, onnx.Loop, onnx.Scan, onnx.Scan8)

Array = np.ndarray[Any, np.dtype[Any]]


class Verdict(Enum):
    """The class of a difference; the value is its text in a report."""

    COUNT = "a different number of iterations"
    ZERO_SHAPE = "another shape after zero iterations"
    STACKED = "stacked on one side, concatenated on the other"
    SHAPE = "another shape"
    TYPE = "another element type"
    REVERSED = "the same parts in reverse order"
    SHIFTED = "the same parts, shifted by one"
    NOT_UPDATED = "a carried state that is never updated"
    NAN = "NaN or infinity on one side only"
    DRIFT = "numeric drift"
    VALUES = "other values"

    def __str__(self) -> str:
        return self.value


def outputs_of_loops(graph: Graph) -> tuple[bool, ...]:
    """Tell for each output of a graph whether a loop computes it, or a value that it depends on."""
    loops = [
        value
        for node in graph.nodes
        if isinstance(node.op, LOOPS) or any(has_op(body.graph, *LOOPS) for body in node.bodies)
        for value in node.outputs
    ]
    seen = {*loops, *(value for node in downstream(loops) for value in node.outputs)}
    return tuple(result.inputs[0] in seen for result in graph.results)


def verdict_of(
    x: Any, y: Any, tolerance: Tolerance, starts: Sequence[Any] = (), *, loops: bool = True
) -> tuple[Verdict, str]:
    """Classify the difference of two values, and give some detail in words.

    `starts` holds initial values of states: an output that equals one of them was never updated.
    Unless `loops`, no loop computes the values, and the verdict says nothing of iterations.
    """
    verdict, detail = _classified(x, y, tolerance, starts if loops else ())
    if not loops and verdict in (Verdict.COUNT, Verdict.ZERO_SHAPE):
        return Verdict.SHAPE, detail
    return verdict, detail


def _classified(x: Any, y: Any, tolerance: Tolerance, starts: Sequence[Any]) -> tuple[Verdict, str]:
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        return Verdict.VALUES, "only one of the values is a tensor"
    if x.dtype != y.dtype:
        return Verdict.TYPE, f"{x.dtype.name} against {y.dtype.name}"
    if x.shape != y.shape:
        return _of_shapes(x, y, tolerance)
    for start in starts:
        held = isinstance(start, np.ndarray) and start.dtype == y.dtype and start.shape == y.shape
        if held and (_same(start, y, tolerance) or _same(start, x, tolerance)):
            side = "second" if _same(start, y, tolerance) else "first"
            return Verdict.NOT_UPDATED, f"the {side} model returns the initial value"
    for axis in range(x.ndim):
        if x.shape[axis] > 1 and _same(np.flip(x, axis), y, tolerance):
            return Verdict.REVERSED, f"along axis {axis}"
    for axis in range(x.ndim):
        if x.shape[axis] > 2:
            head, tail = slice(None, -1), slice(1, None)
            for mine, other, way in ((head, tail, "later"), (tail, head, "earlier")):
                before = (slice(None),) * axis
                # Neighbouring parts that are equal look the same whether they are shifted or not,
                # so they prove nothing.
                alike = _same(x[(*before, head)], x[(*before, tail)], tolerance)
                if not alike and _same(x[(*before, mine)], y[(*before, other)], tolerance):
                    return Verdict.SHIFTED, f"one {way} along axis {axis} in the second model"
    return _of_values(x, y)


def _of_shapes(x: Array, y: Array, tolerance: Tolerance) -> tuple[Verdict, str]:
    words = f"{list(x.shape)} against {list(y.shape)}"
    if x.size == 0 and y.size == 0:
        return Verdict.ZERO_SHAPE, words
    if x.size == y.size and _same(x.reshape(-1), y.reshape(-1), tolerance):
        return (Verdict.STACKED if x.ndim != y.ndim else Verdict.SHAPE), words
    if x.ndim == y.ndim:
        other = [axis for axis in range(x.ndim) if x.shape[axis] != y.shape[axis]]
        if len(other) == 1 and _one_begins_the_other(x, y, other[0], tolerance):
            return Verdict.COUNT, words
    return Verdict.SHAPE, words


def _one_begins_the_other(x: Array, y: Array, axis: int, tolerance: Tolerance) -> bool:
    common = min(x.shape[axis], y.shape[axis])
    before = (slice(None),) * axis
    first = x[(*before, slice(common))], y[(*before, slice(common))]
    last = (
        x[(*before, slice(x.shape[axis] - common, None))],
        y[(*before, slice(y.shape[axis] - common, None))],
    )
    return _same(*first, tolerance) or _same(*last, tolerance)


def _of_values(x: Array, y: Array) -> tuple[Verdict, str]:
    if x.dtype.kind in "OSUbiu":
        return Verdict.VALUES, ""
    apart, scale, worst = 0, 0.0, 0.0
    for left, right in wide_blocks(x, y):
        finite = np.isfinite(left)
        apart += int((finite != np.isfinite(right)).sum())
        scale = max(scale, float(np.abs(left[finite]).max(initial=0.0)))
        with np.errstate(all="ignore"):
            worst = max(worst, float(np.abs(left[finite] - right[finite]).max(initial=0.0)))
    if apart:
        return Verdict.NAN, f"{apart} elements"
    if scale and worst <= 0.02 * scale:
        return Verdict.DRIFT, f"by {worst / scale:.2g} of the largest value"
    return Verdict.VALUES, ""


def _same(x: Array, y: Array, tolerance: Tolerance) -> bool:
    return x.shape == y.shape and agree(x, y, tolerance)


def drift(errors: Sequence[float]) -> float | None:
    """The factor by which an error grows with each iteration; None if it cannot be determined."""
    known = [(at, error) for at, error in enumerate(errors) if error > 0 and np.isfinite(error)]
    if len(known) < 3:
        return None
    (first, low), (last, high) = known[0], known[-1]
    return float((high / low) ** (1.0 / (last - first)))
