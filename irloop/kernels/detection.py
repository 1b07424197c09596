"""DetectionOutput (SSD): decode boxes from priors and keep the best boxes of each class.

The loops run over items, classes and kept boxes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.matmul import widened
from irloop.kernels.work import spend_each, spend_overlaps

__all__ = ["Array", "Detection", "Function", "detect", "overlaps_with", "suppressed"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Detection:
    """Settings for decoding and choosing boxes; a limit of -1 means no limit."""

    background: int
    best: int
    kept: int
    centred: bool
    shared: bool
    variances: bool
    overlap: float
    score: float
    clip_before: bool
    clip_after: bool
    by_box: bool
    normalized: bool
    size: tuple[int, int]
    objectness: float


def _decoded(priors: Array, variances: Array, moves: Array, *, centred: bool) -> Array:
    """Decode boxes [..., P, 4] from priors [P, 4] or [..., P, 4] and predicted offsets `moves`."""
    moved = moves * variances
    if not centred:
        return np.asarray(priors + moved)
    size = priors[..., 2:] - priors[..., :2]
    centre = (priors[..., :2] + priors[..., 2:]) / 2 + moved[..., :2] * size
    half = np.exp(moved[..., 2:]) * size / 2
    return np.concatenate((centre - half, centre + half), axis=-1)


def overlaps_with(boxes: Array, box: Array) -> Array:
    """Intersection over union of boxes [N, 4] with one box [4]; 0 for empty boxes."""
    # Compute with whole columns: `prod` over an axis of size 2 takes five times as long.
    left, top, right, bottom = boxes.T
    wide = np.minimum(right, box[2]) - np.maximum(left, box[0])
    high = np.minimum(bottom, box[3]) - np.maximum(top, box[1])
    shared = np.maximum(wide, 0) * np.maximum(high, 0)
    area = np.maximum(right - left, 0) * np.maximum(bottom - top, 0)
    union = area + np.maximum(box[2:] - box[:2], 0).prod() - shared
    return np.asarray(np.where(shared > 0, shared / np.where(shared > 0, union, 1), 0))


def suppressed(boxes: Array, threshold: float, share: Function) -> list[int]:
    """Indices of the boxes that non-maximum suppression keeps.

    `boxes` are sorted, the best first. `share(boxes, box)` returns the overlap of each of the boxes
    with one box. A box is suppressed if its overlap with a box that is already kept is above the
    threshold.
    """
    alive = np.ones(len(boxes), bool)
    kept = []
    for index in range(len(boxes)):
        if alive[index]:
            spend_overlaps(len(boxes) - index, 40)
            kept.append(index)
            alive[index + 1 :] &= share(boxes[index + 1 :], boxes[index]) <= np.float32(threshold)
    return kept


def _by_class(how: Detection, boxes: Array, scores: Array) -> list[tuple[int, int]]:
    """The (class, prior) pairs of the boxes that are kept.

    Overlapping boxes are suppressed within each class separately. The pairs are in the order of the
    classes; within a class, the pair with the best score comes first.
    """
    rows: list[tuple[int, int]] = []
    for label in range(scores.shape[1]):
        if label == how.background:
            continue
        worth = scores[:, label]
        chosen = np.flatnonzero(worth > np.float32(how.score))
        ranked = chosen[np.argsort(-worth[chosen], kind="stable")]
        ranked = ranked if how.best < 0 else ranked[: how.best]
        own = boxes[0 if how.shared else label][ranked]
        rows += [(label, int(ranked[at])) for at in suppressed(own, how.overlap, overlaps_with)]
    return rows


def _by_box(how: Detection, boxes: Array, scores: Array) -> list[tuple[int, int]]:
    """Select boxes by non-maximum suppression, each box only for its best class.

    Returns (class, box) pairs in the order of the classes; within a class, the pair with the best
    score comes first. Class 0 and the background class are never the class of a box.
    """
    allowed = scores.copy()
    allowed[:, 0] = -1
    if how.background >= 0:
        allowed[:, how.background : how.background + 1] = -1
    labels = allowed.argmax(axis=1)
    worth = allowed[np.arange(len(labels)), labels]
    chosen = np.flatnonzero((labels > 0) & (worth > -1) & (worth >= np.float32(how.score)))
    ranked = chosen[np.argsort(-worth[chosen], kind="stable")]
    ranked = ranked if how.best < 0 else ranked[: how.best]
    rows: list[tuple[int, int]] = []
    for label in np.unique(labels[ranked]).tolist():
        members = ranked[labels[ranked] == label]
        own = boxes[0 if how.shared else label][members]
        rows += [(label, int(members[at])) for at in suppressed(own, how.overlap, overlaps_with)]
    return rows


def _limited(how: Detection, rows: list[tuple[int, int]], scores: Array) -> list[tuple[int, int]]:
    """Keep the `how.kept` rows (class, box) with the highest scores, and sort them by class.

    If `how.kept` is negative, or there are not more rows than `how.kept`, all rows are returned in
    their order. `scores` is indexed by [box, class].
    """
    if how.kept < 0 or len(rows) <= how.kept:
        return rows
    ranked = sorted(rows, key=lambda row: (-scores[row[1], row[0]], row[1]))[: how.kept]
    return sorted(ranked, key=lambda row: row[0])


def _priors(how: Detection, priors: Array, image: int) -> tuple[Array, Array]:
    """Return the priors of one batch item as corners in 0..1, and their variances, each [P, 4].

    If the input has no variances, because the predicted offsets contain them, all variances are 1.
    """
    rows = priors[image if len(priors) > 1 else 0]
    width = 4 if how.normalized else 5
    count = rows.shape[1] // width
    boxes = rows[0].reshape(count, width)[:, width - 4 :]
    if not how.normalized:
        height, across = how.size
        boxes = boxes / np.array([across, height, across, height], dtype=boxes.dtype)
    if not how.variances:
        return boxes, np.ones_like(boxes)
    return boxes, rows[1, : 4 * count].reshape(count, 4)


def detect(how: Detection, rows: Callable[[int, int, int], int]) -> Function:
    """Make a kernel that decodes predicted boxes, selects the best and lists them.

    The kernel's operands are offsets [N, P * 4], scores [N, P * C] and P priors. The priors have
    the shape [1 or N, 1 or 2, P * 4]; if they are not normalized, the last dimension is P * 5. Two
    optional operands are the scores and offsets of a first stage. The offsets of the first stage
    move the priors. Its scores exclude priors that contain no object.

    The result has the shape [1, 1, rows(N, P, C), 7]. Each row holds the item, the class, the score
    and the four coordinates of a box. If some rows are not needed, the first of these has the item
    -1.
    """

    def decoded(priors: Array, item: int, moves: Array, first: Array | None) -> Array:
        boxes, variances = _priors(how, priors, item)
        if first is not None:
            boxes = _decoded(boxes, variances, first, centred=how.centred)
            boxes = np.clip(boxes, 0, 1) if how.clip_before else boxes
        boxes = _decoded(boxes, variances, moves, centred=how.centred)
        return np.clip(boxes, 0, 1) if how.clip_before else boxes

    def item_rows(image: int, boxes: Array, scores: Array) -> list[list[float]]:
        chosen = (_by_box if how.by_box else _by_class)(how, boxes, scores)
        detections = []
        for label, prior in _limited(how, chosen, scores):
            box = boxes[0 if how.shared else label, prior]
            box = np.clip(box, 0, 1) if how.clip_after else box
            shown = label - 1 if how.by_box else label
            detections.append([image, shown, float(scores[prior, label]), *box.tolist()])
        return detections

    def apply(
        moves: Array,
        scores: Array,
        priors: Array,
        first_scores: Array | None = None,
        first_moves: Array | None = None,
    ) -> Any:
        items = len(moves)
        count = priors.shape[2] // (4 if how.normalized else 5)
        classes = scores.shape[1] // max(count, 1)
        groups = (items, count, -1, 4)
        wide = widened(moves).reshape(groups).swapaxes(1, 2)
        worth = widened(scores).reshape(items, count, classes)
        spend_each(worth.size, 300, "sorting scores")
        budget.spend(20 * items * classes, "sorting scores")
        first = None
        if first_scores is not None and first_moves is not None:
            first = widened(first_moves).reshape(groups).swapaxes(1, 2)
            shown = first_scores.reshape(items, count, 2)[:, :, 1:] >= np.float32(how.objectness)
            nothing = (np.arange(classes) == how.background).astype(worth.dtype)
            worth = np.where(shown, worth, nothing)
        detections: list[list[float]] = []
        with np.errstate(all="ignore"):
            for image in range(items):
                refined = None if first is None else first[image]
                boxes = decoded(widened(priors), image, wide[image], refined)
                detections += item_rows(image, boxes, worth[image])
        result = np.zeros((1, 1, rows(items, count, classes), 7), dtype=moves.dtype)
        if detections:
            result[0, 0, : len(detections)] = detections
        if len(detections) < result.shape[2]:
            result[0, 0, len(detections), 0] = -1
        return result

    return apply
