"""Emits operations that find the k best elements in ONNX's order: of equal ones, the first is best.

OpenVINO promises this order for the stable TopK of opset11 only. The TopK of opset3 returns equal
elements in any order, and of more than k equal ones any k.
"""

from __future__ import annotations

import numpy as np

from irloop.analysis.bounds import EXACT
from irloop.conversion.framework.directions import Import
from irloop.dialects.openvino import gather, search
from irloop.graph.builder import shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["first_best", "ordered_topk"]

#: The longest axis whose pairs of a group and a position fit into an i32, as which OpenVINO's CPU
#: computes an i64 as well: the largest pair is n * n + n - 1.
LONGEST = 46339
#: The positions along a longer axis are counted at run time.
FEW = 1024

_UNORDERED = "does not keep the order of equal elements of an axis of unknown or large size"


def ordered_topk(c: Import, data: Value, k: Value, axis: int, mode: str) -> tuple[Value, Value]:
    """Emit the `k` best elements along an axis and their i64 positions, both from best to worst.

    `k` is a scalar; `mode` is max or min. Of equal elements, the first is better.
    """
    count, shape = c.constant_of(k), shape_of(data)
    if count is not None and count == 1 and shape.rank is not None:
        return first_best(c, data, axis, mode)
    if c.opset >= 11:
        return _stable(c, data, k, axis, mode)
    size = None if shape.dims is None else shape.dims[axis]
    if isinstance(size, int) and size <= LONGEST:
        return _sorted_twice(c, data, k, (axis, size), mode)
    if c.has(11, None, otherwise=_UNORDERED):
        return _stable(c, data, k, axis, mode)
    c.warn(
        "CNV112",
        f"equal elements may come in another order than in ONNX: opset{c.opset} {_UNORDERED}",
        "write a newer opset: --opset 11, or fix the size of the axis: --shape",
    )
    return c.topk(data, k, axis, mode=mode)


def first_best(
    c: Import, data: Value, axis: int, mode: str, *, keep: bool = True
) -> tuple[Value, Value]:
    """Emit the best element along an axis, which remains with size 1, and its i64 position.

    The rank must be known. Of the positions of elements that equal the best, the least is the
    result. On long axes this takes less time in OpenVINO than the stable TopK. With `keep` False,
    the position has no axis.
    """
    rank = c.rank_of(data)
    axis %= rank
    best, _ = c.topk(data, c.i64(1), axis, mode=mode)
    positions, last = _positions(c, data, axis)
    # A NaN equals nothing, so there may be no such position.
    candidates = c.select(c.equal(data, best), positions, last)
    size = shape_of(data).dim(axis)
    # OpenVINO's CPU reduces integers in f32, and of rank 3 wrongly if arithmetic follows.
    if isinstance(size, int) and size < EXACT and rank < 3:
        return best, c.reduce("Min", candidates, [axis], keep=keep)
    position, _ = c.topk(candidates, c.i64(1), axis, mode="min")
    return best, position if keep else c.squeeze(position, [axis])


def _positions(c: Import, data: Value, axis: int) -> tuple[Value, Value]:
    """The positions along an axis, with axes of size 1 behind it, and the last position."""
    behind, known = c.rank_of(data) - axis - 1, shape_of(data).dim(axis)
    if isinstance(known, int) and 0 < known <= FEW:
        return c.i64(np.arange(known).reshape(known, *[1] * behind)), c.i64(known - 1)
    size = c.size_of(data, axis)
    positions = c.numbers_below(size)
    if behind:
        positions = c.unsqueeze(positions, list(range(1, behind + 1)))
    return positions, c.subtract(size, c.i64(1))


def _stable(c: Import, data: Value, k: Value, axis: int, mode: str) -> tuple[Value, Value]:
    op = search.TopK11(axis, mode, "value", ElementType.I64, stable=True)
    values, positions = c.emit(op, data, k, n_outputs=2).outputs
    return values, positions


def _sorted_twice(
    c: Import, data: Value, k: Value, along: tuple[int, int], mode: str
) -> tuple[Value, Value]:
    """Sort the elements, and then each group of equal ones by position.

    The second sort has the number of the group and the position as its key, so no two are equal.
    `along` is the axis and its size.
    """
    axis, size = along
    values, positions = c.topk(data, c.i64(size), axis, mode=mode)
    previous = c.gather(values, c.i64(np.maximum(np.arange(size) - 1, 0)), axis)
    is_new = c.logical_not(c.equal(values, previous))
    group = c(search.CumSum(), c.convert_always(is_new, ElementType.I64), c.i64(axis))
    key = c.add(c.multiply(group, c.i64(size)), positions)
    _, order = c.topk(key, k, axis, mode="min")
    pick = gather.GatherElements(axis)
    return c(pick, values, order), c(pick, positions, order)
