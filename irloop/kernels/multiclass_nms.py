"""Suppression over all classes at once: MulticlassNms drops boxes, MatrixNms lowers scores.

The loops run over items, classes and kept boxes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.work import spend_each, spend_overlaps

__all__ = ["Array", "Function", "Limits", "matrix_nms", "multiclass_nms", "pairwise_overlaps"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]
#: Takes the boxes [N, 4] and scores [N] of one class; returns the chosen indices and scores.
Choose = Callable[[Array, Array], tuple[Array, Array]]


#: Nanoseconds per pair of boxes when all pairs are compared: for the overlap, and for lowering the
#: scores by it.
A_PAIR = 200

#: Steps of the budget for the NumPy calls for one class.
A_CLASS = 40


@dataclass(frozen=True, slots=True)
class Limits:
    """Settings that MulticlassNms and MatrixNms share.

    `best` limits the boxes of each class, and `kept` those of each item; -1 means no limit. `order`
    is "score", "classid" or "none". Unless `normalized` is true, coordinates are pixels, and a side
    from x1 to x2 has the length x2 - x1 + 1.
    """

    order: str
    across_batch: bool
    score: float
    best: int
    kept: int
    background: int
    normalized: bool
    dtype: np.dtype[Any]

    def first(self, scores: Array, chosen: Array) -> Array:
        """Return the chosen boxes with the highest scores, at most `self.best`, best first.

        A negative `self.best` means no limit.
        """
        ranked = chosen[np.argsort(-scores[chosen], kind="stable")]
        return ranked if self.best < 0 else ranked[: self.best]


def pairwise_overlaps(boxes: Array, others: Array, *, normalized: bool) -> Array:
    """Intersection over union [N, M] of boxes [N, 4] with others [M, 4] (x1, y1, x2, y2).

    Unless `normalized`, coordinates are pixels, and a side from x1 to x2 has the length x2 - x1 +
    1.
    """
    border = boxes.dtype.type(0 if normalized else 1)
    area = (boxes[:, 2] - boxes[:, 0] + border) * (boxes[:, 3] - boxes[:, 1] + border)
    other = (others[:, 2] - others[:, 0] + border) * (others[:, 3] - others[:, 1] + border)
    low = np.maximum(boxes[:, None, :2], others[:, :2])
    high = np.minimum(boxes[:, None, 2:], others[:, 2:])
    shared = np.maximum(high - low + border, 0).prod(axis=2)
    union = area[:, None] + other - shared
    usable = (area[:, None] > 0) & (other > 0)
    result: Array = np.where(usable, shared / np.where(usable, union, 1), 0)
    return result


def _collected(
    limits: Limits, choose: Choose, boxes: Array, scores: Array, image: int
) -> tuple[Array, Array]:
    """The kept boxes of one item, best first: rows (item, class, box) and their scores.

    Scores are [C, N]; boxes are [N, 4] or, with one set per class, [C, N, 4].
    """
    rows, values = [], []
    spend_each(scores.size, 300, "sorting scores")
    budget.spend(A_CLASS * len(scores), "sorting scores")
    for label in range(len(scores)):
        if label == limits.background:
            continue
        found, worth = choose(boxes[label] if boxes.ndim == 3 else boxes, scores[label])
        rows.append(np.stack((np.full_like(found, image), np.full_like(found, label), found), 1))
        values.append(worth)
    if not rows:
        return np.zeros((0, 3), np.int64), np.zeros(0, np.float32)
    listed, worths = np.concatenate(rows), np.concatenate(values)
    order = np.lexsort((listed[:, 2], listed[:, 1], -worths))
    order = order if limits.kept < 0 else order[: limits.kept]
    return listed[order], worths[order]


def _sorted(limits: Limits, rows: Array, values: Array) -> Array:
    """Return the indices that sort the rows of the whole batch, as `limits.order` requires.

    For "score" the best scores come first; for "classid" the rows are sorted by class, then by item
    and score. For any other order the rows stay in place.
    """
    image, label, box = rows.T
    if limits.order == "score":
        return np.lexsort((box, label, image, -values))
    if limits.order == "classid":
        return np.lexsort((box, -values, image, label))
    return np.arange(len(rows))


def _all(
    limits: Limits, choose: Choose, items: list[tuple[Array, Array]], *, by_class: bool
) -> tuple[Array, Array, Array]:
    """Choose boxes in every item of the batch; `items` holds the boxes and the scores of each.

    Returns rows (item, class, box) of the chosen boxes, their scores, and the number of rows of
    each item. `limits` determines whether rows are sorted across the batch or within each item. The
    order "classid" within each item is ignored unless `by_class` is true.
    """
    parts = []
    for item, (boxes, scores) in enumerate(items):
        rows, values = _collected(limits, choose, boxes, scores, item)
        if by_class and limits.order == "classid" and not limits.across_batch:
            order = np.lexsort((rows[:, 2], -values, rows[:, 1]))
            rows, values = rows[order], values[order]
        parts.append((rows, values))
    if not parts:
        return np.zeros((0, 3), np.int64), np.zeros(0, np.float32), np.zeros(0, limits.dtype)
    rows = np.concatenate([part[0] for part in parts])
    values = np.concatenate([part[1] for part in parts])
    counts = np.array([len(part[0]) for part in parts], dtype=limits.dtype)
    if limits.across_batch:
        order = _sorted(limits, rows, values)
        rows, values = rows[order], values[order]
    return rows, values, counts


def _listed(rows: Array, values: Array, boxes: Array, dtype: np.dtype[Any]) -> Array:
    """Return an array [K, 6] with the class, the score and the box of each detection."""
    columns = (rows[:, 1:2].astype(np.float32), values[:, None], boxes)
    return np.concatenate(columns, axis=1).astype(dtype)


def multiclass_nms(limits: Limits, iou: float, eta: float) -> Function:
    """Make the kernel of MulticlassNms, which drops boxes that overlap a better one.

    The kernel takes boxes [B, N, 4] and scores [B, C, N]. It returns the kept boxes as rows [K, 6]
    of class, score, x1, y1, x2 and y2, their flat indices [K, 1], and the number of rows of each
    item [B]. If input 2 is present, it holds the number of boxes of each item; boxes are then
    [C, N, 4] and scores [C, N].

    A box is dropped if its overlap with a better box of its class is at least `iou`. If `eta` is
    below 1, this threshold is multiplied by `eta` after each kept box while it is above 0.5.
    """

    def choose(boxes: Array, scores: Array) -> tuple[Array, Array]:
        ranked = limits.first(scores, np.flatnonzero(scores >= np.float32(limits.score)))
        kept: list[int] = []
        worst = np.full(len(ranked), -1, dtype=np.float32)
        threshold, place = np.float32(iou), 0
        while place < len(ranked):
            free = np.flatnonzero(worst[place:] < threshold)
            if not free.size:
                break
            place += int(free[0])
            spend_overlaps(len(ranked), 70)
            kept.append(int(ranked[place]))
            share = pairwise_overlaps(
                boxes[ranked], boxes[ranked[place : place + 1]], normalized=limits.normalized
            )
            worst = np.maximum(worst, share[:, 0])
            threshold = threshold * np.float32(eta) if eta < 1 and threshold > 0.5 else threshold
            place += 1
        chosen = np.array(kept, dtype=np.int64)
        return chosen, scores[chosen]

    def apply(
        boxes: Array, scores: Array, numbers: Array | None = None
    ) -> tuple[Array, Array, Array]:
        wide = boxes.astype(np.float32, copy=False)
        worths = scores.astype(np.float32, copy=False)
        with np.errstate(all="ignore"):
            if numbers is None:
                items = list(zip(wide, worths, strict=True))
                rows, values, counts = _all(limits, choose, items, by_class=True)
                flat = rows[:, 0] * boxes.shape[1] + rows[:, 2]
                chosen = wide.reshape(-1, 4)[flat]
            else:
                ends = np.cumsum(numbers.reshape(-1).astype(np.int64))
                starts = ends - numbers.reshape(-1)
                items = [
                    (wide[:, start:end], worths[:, start:end])
                    for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
                ]
                rows, values, counts = _all(limits, choose, items, by_class=True)
                place = starts[rows[:, 0]] + rows[:, 2]
                flat = place * boxes.shape[0] + rows[:, 1]
                chosen = wide[rows[:, 1], place]
        listed = _listed(rows, values, chosen, boxes.dtype)
        return listed, flat.astype(limits.dtype)[:, None], counts

    return apply


def matrix_nms(limits: Limits, decay: str, sigma: float, least: float) -> Function:
    """Make a kernel for MatrixNms, which lowers the scores of boxes that overlap better boxes.

    No box is removed for its overlaps. Boxes whose lowered score stays above `least` are kept.
    `decay` is linear or gaussian. Limits and results are those of `multiclass_nms`.
    """

    def choose(boxes: Array, scores: Array) -> tuple[Array, Array]:
        ranked = limits.first(scores, np.flatnonzero(scores > np.float32(limits.score)))
        ordered = boxes[ranked]
        budget.reserve(40 * len(ranked) ** 2, "comparing all boxes")
        spend_each(len(ranked) ** 2, A_PAIR, "comparing all boxes")
        share = pairwise_overlaps(ordered, ordered, normalized=limits.normalized)
        # If boxes are not normalized, the overlap counts a border of one pixel, but boxes that do
        # not touch must have the overlap 0.
        apart = (ordered[:, None, :2] > ordered[:, 2:]) | (ordered[:, None, 2:] < ordered[:, :2])
        share = np.where(apart.any(axis=2), 0, share)
        better = np.tril(np.ones(share.shape, bool), -1)
        most = np.where(better, share, 0).max(axis=1, initial=0)
        if decay == "gaussian":
            factor = np.exp((most * most - share * share) * np.float32(sigma))
        else:
            factor = (1 - share) / (1 - most + np.float32(1e-10))
        lowered = np.where(better, factor, 1).min(axis=1, initial=1).astype(np.float32)
        worths = scores[ranked] * lowered
        left = worths > np.float32(least)
        return ranked[left], worths[left]

    def apply(boxes: Array, scores: Array) -> tuple[Array, Array, Array]:
        wide = boxes.astype(np.float32, copy=False)
        worths = scores.astype(np.float32, copy=False)
        with np.errstate(all="ignore"):
            items = list(zip(wide, worths, strict=True))
            rows, values, counts = _all(limits, choose, items, by_class=False)
        flat = rows[:, 0] * boxes.shape[1] + rows[:, 2]
        listed = _listed(rows, values, wide.reshape(-1, 4)[flat], boxes.dtype)
        return listed, flat.astype(limits.dtype)[:, None], counts

    return apply
