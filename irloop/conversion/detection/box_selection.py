"""Shared parts of operations that select boxes in ONNX: suppressing, limiting, sorting, padding.

Scores are [N, C, P], for N batch items, C classes and P boxes. Boxes are f32 [N, L, P, 4], where L
is C, or 1 if all classes share the boxes. The selection of M boxes is a list of rows (item, class,
box), [M, 3].
"""

from __future__ import annotations

from dataclasses import dataclass

from irloop.conversion.detection.scores import LOWEST, OUT, places
from irloop.conversion.framework.directions import Export
from irloop.dialects.onnx import gather, nms
from irloop.dialects.onnx.search import CumSum
from irloop.dialects.writing.sizes import Size, Sizes
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = [
    "Candidates",
    "best_of_items",
    "candidates",
    "column",
    "counted",
    "dense",
    "dropped",
    "first_places",
    "just_below",
    "members",
    "one_list",
    "ordered",
    "read",
    "require_opset",
    "starts",
    "suppressed",
    "without_class",
]

F32, I64 = ElementType.F32, ElementType.I64


def require_opset(c: Export) -> None:
    """Refuse opsets without GatherND, Range, CumSum and TopK.

    Raises:
        RefusedError: before opset 11.
    """
    if c.opset < 11:
        raise c.refuse(
            "it needs GatherND, CumSum and Range, which ONNX has since opset 11", opset=11
        )


def column(c: Export, rows: Value, at: int) -> Value:
    """One column [M] of rows [M, K]."""
    return c.gather(rows, c.i64(at), 1)


def read(c: Export, data: Value, rows: Value) -> Value:
    """Gather M elements of `data`; row i of `rows` [M, K] has the K coordinates of element i."""
    return c(gather.GatherND12() if c.opset >= 12 else gather.GatherND(), data, rows)


def dropped(c: Export, scores: Value, kept: Value) -> Value:
    """Set the scores of boxes that are not `kept` to minus infinity."""
    return c.select(kept, scores, c.constant(OUT, F32))


def without_class(c: Export, scores: Value, classes: Size, background: int) -> Value:
    """Exclude the boxes of class `background` from the candidates in scores [N, C, P].

    If `background` is negative, no class is the background, and the scores stay as they are.
    """
    if background < 0:
        return scores
    label = c.unsqueeze(places(c, classes), [1])
    shown = c.logical_not(c.equal(label, c.i64(background)))
    return dropped(c, scores, shown)


def just_below(number: float) -> float:
    """The largest f32 below `number`, so that "more than" the result means "at least `number`"."""
    import numpy as np

    return float(np.nextafter(np.float32(number), np.float32(-np.inf)))


@dataclass(frozen=True, slots=True)
class Candidates:
    """The best K boxes of each class: boxes [N, C, K, 4], scores [N, C, K].

    `index` [N, C, K] holds the original positions of the boxes. It is None if no box was left out;
    boxes may then be [N, 1, K, 4], shared by all classes.
    """

    boxes: Value
    scores: Value
    index: Value | None

    def origin(self, c: Export, rows: Value) -> Value:
        """Replace positions among the K best boxes by positions among all boxes.

        The positions are in the last column of `rows`.
        """
        if self.index is None:
            return rows
        box = c.unsqueeze(read(c, self.index, rows), [1])
        return c.concat([c.slice(rows, [0], [2], [1]), box], 1)


def first_places(c: Export, boxes: Value) -> Value:
    """Emit the index at which each list of boxes begins after `one_list` has joined all lists.

    `boxes` [N, L, P, F] holds L lists of P boxes for each of N items; `one_list` reshapes it to [N
    * L * P, F]. In this joined list, list l of item n begins at index (n * L + l) * P. The result
    is [N, L, 1].
    """
    sizes = Sizes(c)
    items, lists, count, _ = sizes.of(boxes, 4)
    item = c.reshape(places(c, items), [-1, 1, 1])
    first = c.multiply(item, sizes.list([sizes.times(lists, count)]))
    if lists == 1:
        return first
    start = c.multiply(places(c, lists), sizes.list([count]))
    return c.add(first, c.unsqueeze(start, [1]))


def members(c: Export, boxes: Value, index: Value) -> Value:
    """Select boxes by indices along axis 2, separately for each class.

    `boxes` is [N, L, P, F], where L is 1 or C; `index` is [N, C, K]; the result is [N, C, K, F].
    """
    return c.gather(one_list(c, boxes), c.add(index, first_places(c, boxes)), 0)


def one_list(c: Export, boxes: Value) -> Value:
    """Reshape boxes [N, L, P, F] to [N * L * P, F]."""
    sizes = Sizes(c)
    return c.reshape_to(boxes, sizes.list([-1, sizes.of(boxes, 4)[3]]))


def candidates(c: Export, boxes: Value, scores: Value, best: int) -> Candidates:
    """Select the `best` boxes with the highest scores for each batch item and class.

    `scores` are [N, C, P]. The selected boxes are sorted by score, the highest first. If `best` is
    negative, or not less than the known number of boxes, all boxes are kept, unsorted.
    """
    count = Sizes(c).of(scores, 3)[2]
    if best < 0 or (isinstance(count, int) and count <= best):
        return Candidates(boxes, scores, None)
    values, index = c.topk(scores, _at_most(c, count, best), 2)
    return Candidates(members(c, boxes, index), values, index)


def _at_most(c: Export, count: Size, limit: int) -> Value:
    """The smaller of `count` and `limit`, as a one-element vector."""
    if isinstance(count, int):
        return c.i64([min(count, limit)])
    return c.minimum(count, c.i64([limit]))


def suppressed(
    c: Export,
    boxes: Value,
    scores: Value,
    overlap: float,
    *,
    least: float | None = None,
    best: int = -1,
    limit: int = -1,
) -> Value:
    """Emit a NonMaxSuppression; return the rows (item, class, box) of the boxes that are kept.

    A box is dropped if its overlap with a better box of its class exceeds `overlap`. Only boxes
    with scores above `least` are candidates (None: all). The `best` candidates of each class
    take part (-1: all), and at most `limit` of each class are kept (-1: all). The rows are ordered
    by item, class and score.
    """
    sizes = Sizes(c)
    chosen = candidates(c, boxes, scores, best)
    items, lists, count, _ = sizes.of(chosen.boxes, 4)
    most = sizes.list([count]) if limit < 0 else c.i64([limit])
    thresholds = [c.constant([overlap], F32), c.constant([LOWEST if least is None else least], F32)]
    if lists == 1:
        own = sizes.reshape(chosen.boxes, [items, count, 4])
        rows = c(nms.NonMaxSuppression(), own, chosen.scores, most, *thresholds)
        return chosen.origin(c, rows)
    # NonMaxSuppression has one list of boxes for all classes of an item, so each class becomes an
    # item.
    groups = sizes.times(items, lists)
    own = sizes.reshape(chosen.boxes, [groups, count, 4])
    worth = sizes.reshape(chosen.scores, [groups, 1, count])
    rows = c(nms.NonMaxSuppression(), own, worth, most, *thresholds)
    group, box = (c.slice(rows, [at], [at + 1], [1]) for at in (0, 2))
    item = c.divide(group, sizes.list([lists]))
    label = c.subtract(group, c.multiply(item, sizes.list([lists])))
    return chosen.origin(c, c.concat([item, label, box], 1))


def ordered(c: Export, *keys: Value) -> Value:
    """The indices [M] that sort rows by several keys [M]; the last key is the most significant.

    Integer keys are sorted in ascending order, float keys (scores) in descending order.
    """
    order: Value | None = None
    for key in keys:
        arranged = key if order is None else c.gather(key, order, 0)
        count = c.sizes_of(arranged, [0])
        is_integer = element_of(arranged).is_integer
        if is_integer:
            # Make all keys distinct, because not every runtime has a stable TopK.
            place = c.numbers_below(c.squeeze(count, [0]))
            arranged = c.add(c.multiply(arranged, count), place)
        _, own = c.topk(arranged, count, 0, largest=not is_integer)
        order = own if order is None else c.gather(order, own, 0)
    assert order is not None, "there is at least one key"
    return order


def counted(c: Export, image: Value, items: Size) -> Value:
    """Count the rows of each batch item; emit the counts [N] as i64.

    `image` holds the batch item of each row, and `items` is N.
    """
    own = c.equal(c.unsqueeze(image, [1]), c.unsqueeze(places(c, items), [0]))
    return c.reduce("Sum", c.convert(own, I64), [0], keep=False)


def starts(c: Export, counts: Value) -> Value:
    """Compute the index of the first row of each item, if rows are sorted by item.

    `counts` holds the number of rows of each item.
    """
    return c(CumSum(exclusive=True), counts, c.i64(0))


def best_of_items(c: Export, order: Value, images: Value, items: Size, limit: int) -> Value:
    """Keep the first `limit` rows of each batch item; a negative `limit` keeps all rows.

    `order` [M] lists row numbers, grouped by batch item; the rows to prefer come first in each
    group. `images` maps a row number to its batch item, and `items` is the number of items. Returns
    the row numbers that remain, in the same order.
    """
    if limit < 0:
        return order
    if items == 1:
        return c.slice(order, [0], [limit], [0])
    own = c.gather(images, order, 0)
    first = starts(c, counted(c, own, items))
    size = c.size_of(order, 0)
    place = c.numbers_below(size)
    near = c.less(c.subtract(place, c.gather(first, own, 0)), c.i64(limit))
    return c(gather.Compress(0), order, near)


def dense(
    c: Export, table: Value, counts: Value, length: int, *, width: int | None = None
) -> Value:
    """Distribute rows of a table to their batch items: [N, length], padded with zeros.

    `table` [M] holds the rows of all N batch items, one item after the other, and `counts` [N] the
    number of rows of each item. If `width` is given, `table` is [M, width], and the result is
    [N, length, width]. An item with more than `length` rows loses its last rows.
    """
    place = c.i64([list(range(length))])
    index = c.add(c.unsqueeze(starts(c, counts), [1]), place)
    held = c.less(place, c.unsqueeze(counts, [1]))
    zeros = c.constant([0.0] if width is None else [[0.0] * width], F32)
    whole = c.concat([table, zeros], 0)
    return c.gather(whole, c.select(held, index, c.sizes_of(table, [0])), 0)
