"""Non-maximum suppression: keep the best boxes, and drop boxes that overlap a kept one.

Each class is treated separately. The Python loop has one step for each kept box; the overlaps of
that box with all others are computed at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels import rotated
from irloop.kernels.work import spend_each, spend_overlaps

__all__ = [
    "Array",
    "Function",
    "Suppression",
    "non_max_suppression",
    "onnx_function",
    "openvino_function",
    "overlaps",
    "rotated_function",
]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]
#: Computes the overlap of every box with one of the boxes.
Share = Callable[[Array, int], Array]


def _corners(boxes: Array, *, centred: bool) -> tuple[Array, Array, Array, Array]:
    """Return the lower bounds of boxes on both axes, then their upper bounds on both axes."""
    first, second, third, fourth = (boxes[:, column] for column in range(4))
    if centred:
        half = boxes.dtype.type(0.5)
        return (
            second - fourth * half,
            first - third * half,
            second + fourth * half,
            first + third * half,
        )
    return (
        np.minimum(first, third),
        np.minimum(second, fourth),
        np.maximum(first, third),
        np.maximum(second, fourth),
    )


def overlaps(boxes: Array, chosen: int, *, centred: bool) -> Array:
    """Return the intersection over union of each box [N, 4] with box number `chosen`.

    It is 0 if either box is empty.
    """
    top, left, bottom, right = _corners(boxes, centred=centred)
    area = (bottom - top) * (right - left)
    high = np.minimum(bottom, bottom[chosen]) - np.maximum(top, top[chosen])
    wide = np.minimum(right, right[chosen]) - np.maximum(left, left[chosen])
    shared = np.maximum(high, 0) * np.maximum(wide, 0)
    union = area + area[chosen] - shared
    usable = (area > 0) & (area[chosen] > 0) & (union > 0)
    result: Array = np.where(usable, shared / np.where(usable, union, 1), 0)
    return result


class Suppression:
    """Non-maximum suppression among the boxes of one class.

    `keep` returns the indices and the scores of the kept boxes, best first.
    """

    def __init__(
        self, *, share: Share, iou: float, sigma: float = 0.0, equal_suppresses: bool = False
    ) -> None:
        """Suppress boxes that overlap a better box by more than `iou`.

        `share` computes the overlap of every box with one box. If `equal_suppresses` is true, an
        overlap equal to `iou` suppresses a box, too. If `sigma` is not 0, the scores of overlapping
        boxes are lowered instead, as in soft non-maximum suppression.
        """
        self.share = share
        self.iou = np.float32(iou)
        self.sigma = sigma
        self.equal_suppresses = equal_suppresses

    def keep(
        self, boxes: Array, scores: Array, limit: int, threshold: float | None
    ) -> tuple[list[int], list[float]]:
        """Select at most `limit` boxes, and return their indices and their scores, best first.

        Boxes [N, 4 or 5] with scores not above `threshold` are left out; a threshold of None leaves
        out no box. With a sigma, the scores are those after the suppression.
        """
        current = scores.astype(np.float32)
        alive = np.ones(len(current), bool) if threshold is None else current > threshold
        kept: list[int] = []
        values: list[float] = []
        while len(kept) < limit and alive.any():
            best = int(np.where(alive, current, -np.inf).argmax())
            if not alive[best]:
                # All remaining scores are minus infinity.
                best = int(alive.argmax())
            spend_overlaps(len(boxes), 40)
            kept.append(best)
            values.append(float(current[best]))
            alive[best] = False
            share = self.share(boxes, best).astype(np.float32)
            if self.sigma > 0:
                current = current * np.exp(-share * share * np.float32(0.5 / self.sigma))
                if threshold is not None:
                    alive &= current > threshold
            elif self.equal_suppresses:
                alive &= share < self.iou
            else:
                alive &= share <= self.iou
        return kept, values


def non_max_suppression(
    boxes: Array,
    scores: Array,
    limit: int,
    threshold: float | None,
    suppression: Suppression,
    *,
    descending: bool,
) -> tuple[Array, Array]:
    """Select boxes by non-maximum suppression, for each batch item and class separately.

    Return rows [K, 3] of (item, class, box) and their scores [K]. `boxes` are [B, N, 4], or [B, N,
    5] if they are rotated; `scores` are [B, C, N]. At most `limit` boxes are kept for an item and
    class, and only boxes with scores above `threshold`, unless it is None. The rows are sorted by
    item, class and score, or with `descending` by score alone.
    """
    budget.spend(scores.shape[0] * scores.shape[1], "suppression")
    spend_each(scores.size, 20, "suppression")
    rows: list[tuple[int, int, int]] = []
    values: list[float] = []
    with np.errstate(all="ignore"):
        for item in range(scores.shape[0]):
            for label in range(scores.shape[1]):
                kept, worth = suppression.keep(boxes[item], scores[item, label], limit, threshold)
                rows += [(item, label, box) for box in kept]
                values += worth
    selected = np.array(rows, dtype=np.int64).reshape(-1, 3)
    worth_of = np.array(values, dtype=np.float32)
    if descending:
        order = np.argsort(-worth_of, kind="stable")
        selected, worth_of = selected[order], worth_of[order]
    return selected, worth_of


def _number(given: Array | None) -> float:
    return 0.0 if given is None or not given.size else float(given.reshape(-1)[0])


def onnx_function(*, centred: bool) -> Function:
    """Return a kernel for ONNX's NonMaxSuppression.

    The kernel takes boxes, scores, the maximum number of boxes per class, an overlap threshold and
    a score threshold. It returns the selected indices as rows (item, class, box). If `centred`, a
    box is given by its centre and size, otherwise by two corners.
    """

    def apply(
        boxes: Array,
        scores: Array,
        limit: Array | None = None,
        iou: Array | None = None,
        threshold: Array | None = None,
    ) -> Any:
        least = None if threshold is None or not threshold.size else _number(threshold)
        selected, _ = non_max_suppression(
            boxes,
            scores,
            max(int(_number(limit)), 0),
            least,
            Suppression(share=partial(overlaps, centred=centred), iou=_number(iou)),
            descending=False,
        )
        return selected

    return apply


def openvino_function(
    dtype: np.dtype[Any], *, centred: bool, descending: bool, n_outputs: int
) -> Function:
    """Return a kernel for OpenVINO's NonMaxSuppression.

    The kernel takes boxes, scores and, optionally, the maximum number of boxes per class, the
    overlap threshold, the score threshold and sigma. It returns the first `n_outputs` of: the
    indices [K, 3] in `dtype`, the scores [K, 3] and the count [1]. If `centred`, a box is given by
    its centre and size, otherwise by two corners. If `descending`, the rows are sorted by score
    across the whole batch. A box whose overlap equals the threshold is suppressed, unlike in ONNX.
    """
    share = partial(overlaps, centred=centred)
    return _scored(dtype, share, descending=descending, equal=True, n_outputs=n_outputs)


def rotated_function(
    dtype: np.dtype[Any], *, clockwise: bool, descending: bool, n_outputs: int
) -> Function:
    """Return a kernel for OpenVINO's NMSRotated.

    It takes and returns the same arrays as the kernel of `openvino_function`, except that the boxes
    are [B, N, 5]: centre x, centre y, width, height and angle in radians. If `clockwise`, positive
    angles turn clockwise. A box whose overlap equals the threshold is kept.
    """
    share = partial(rotated.overlaps, clockwise=clockwise)
    return _scored(dtype, share, descending=descending, equal=False, n_outputs=n_outputs)


def _scored(
    dtype: np.dtype[Any], share: Share, *, descending: bool, equal: bool, n_outputs: int
) -> Function:

    def apply(
        boxes: Array,
        scores: Array,
        limit: Array | None = None,
        iou: Array | None = None,
        threshold: Array | None = None,
        sigma: Array | None = None,
    ) -> Any:
        selected, values = non_max_suppression(
            boxes.astype(np.float32, copy=False),
            scores.astype(np.float32, copy=False),
            max(int(_number(limit)), 0),
            _number(threshold),
            Suppression(
                share=share,
                iou=_number(iou),
                sigma=_number(sigma),
                equal_suppresses=equal,
            ),
            descending=descending,
        )
        indices = selected.astype(dtype)
        if n_outputs == 1:
            return indices
        listed = np.concatenate((selected[:, :2].astype(np.float32), values[:, None]), axis=1)
        count = np.array([len(selected)], dtype=dtype)
        return (indices, listed.astype(scores.dtype, copy=False), count)[:n_outputs]

    return apply
