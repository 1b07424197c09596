"""Computes the probabilities of classes from those of pairs of classes, in a Loop (libsvm)."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from irloop.conversion.framework.directions import Import
from irloop.conversion.loops.openvino_loop_builder import OpenVinoLoopBuilder
from irloop.dialects.openvino import activation, elementwise, matmul
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType
from irloop.kernels.support_vectors import MOST_ROUNDS, TOLERANCE, Duels

__all__ = ["probabilities"]

#: The most classes; the body of the Loop grows with their number.
MOST_CLASSES = 64


def probabilities(c: Import, scores: Value, duels: Duels) -> Value:
    """The probabilities [N, classes] of rows whose comparisons of classes have `scores` [N, pairs].

    Raises:
        RefusedError: when there are more than 64 classes.
    """
    if duels.count > MOST_CLASSES:
        raise c.refuse(
            f"it computes probabilities of {duels.count} classes, and irloop writes at most "
            f"{MOST_CLASSES}",
            "export the model without probabilities",
        )
    assert duels.shares is not None
    slopes, shifts = (c.constant(list(part), element_of(scores)) for part in duels.shares)
    bent = c.add(c.multiply(scores, slopes), shifts)
    won = c(activation.Sigmoid(), c(elementwise.Negative(), bent))
    won = c(activation.Clamp(min=1e-7, max=1 - 1e-7), won)
    return _coupled(c, _form(c, won, duels.count), duels.count)


def _form(c: Import, won: Value, count: int) -> Value:
    """The quadratic form [N, classes, classes] that the probabilities minimise."""
    element = element_of(won)
    places = np.zeros((count * (count - 1) // 2, count, count))
    others = np.zeros((count, count))
    for row, (one, other) in enumerate(combinations(range(count), 2)):
        places[row, one, other], places[row, other, one], others[other, one] = 1, -1, 1
    moved = c(matmul.MatMul(), won, c.constant(places.reshape(-1, count * count), element))
    flat = c.add(moved, c.constant(others.reshape(-1), element))
    share = c.reshape(flat, [-1, count, count])
    squares = c.reduce("Sum", c.multiply(share, share), [1])
    products = c.multiply(c.transpose(share, [0, 2, 1]), share)
    return c.subtract(c.multiply(squares, c.constant(np.eye(count), element)), products)


def _coupled(c: Import, form: Value, count: int) -> Value:
    """Iterate until the shares of all rows have settled; those that have settled stay."""
    loop = OpenVinoLoopBuilder(c, "coupling")
    shape = c.concat([c.sizes_of(form, [0]), c.i64([count])], 0)
    equal = c.broadcast(c.constant(1 / count, element_of(form)), shape)
    state = loop.state(equal, equal.type, "shares")
    inner = loop.inner
    shares, table = state.parameter, loop.invariant(form)
    slope = inner.squeeze(inner(matmul.MatMul(), table, inner.unsqueeze(shares, [2])), [2])
    value = inner.reduce("Sum", inner.multiply(shares, slope), [1])
    error = inner(elementwise.Abs(), inner.subtract(slope, value))
    worst = inner.reduce("Max", error, [1])
    settled = inner.less(worst, inner.scalar(TOLERANCE / count, worst))
    moved = shares
    for place, only in enumerate(np.eye(count)):
        row = inner.gather(table, inner.i64(place), 1)
        own, diagonal = (inner.gather(part, inner.i64([place]), 1) for part in (slope, row))
        step = inner.divide(inner.subtract(value, own), diagonal)
        growth = inner.add(inner.scalar(1.0, step), step)
        added = inner.multiply(step, inner.constant(only, element_of(step)))
        moved = inner.divide(inner.add(moved, added), growth)
        twice = inner.multiply(inner.scalar(2.0, own), own)
        more = inner.multiply(step, inner.add(inner.multiply(step, diagonal), twice))
        value = inner.divide(inner.add(value, more), inner.multiply(growth, growth))
        slope = inner.divide(inner.add(slope, inner.multiply(step, row)), growth)
    state.result = inner.select(settled, shares, moved)
    all_settled = inner.reduce("And", settled, [0, 1], keep=False)
    goes_on = inner.logical_not(all_settled)
    trip = c.i64(max(MOST_ROUNDS, count))
    return loop.loop(trip, c.constant(True, ElementType.BOOLEAN), goes_on)[state]
