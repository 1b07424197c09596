"""Region proposals: anchors are moved by offsets; the best boxes without overlaps are kept.

The loops run over items and kept boxes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop.kernels.detection import suppressed
from irloop.kernels.matmul import widened
from irloop.kernels.work import spend_each

__all__ = [
    "Anchors",
    "Array",
    "Function",
    "Selection",
    "anchor_boxes",
    "generate_proposals",
    "overlap_with_border",
    "proposals",
    "refined",
    "single_image_proposals",
]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]

#: The logarithm of the largest factor by which a box grows.
_MAX_GROWTH = math.log(1000.0 / 16.0)


@dataclass(frozen=True, slots=True)
class Selection:
    """The limits for selecting proposals.

    At most `before` boxes are examined and at most `after` are kept. `overlap` is the threshold for
    suppression, and `smallest` the minimum side of a box.
    """

    before: int
    after: int
    overlap: float
    smallest: float


@dataclass(frozen=True, slots=True)
class Anchors:
    """The attributes of Proposal that determine the boxes of one cell of the feature map.

    With `tensorflow`, the axes x and y are swapped, and the width of a box is x2 - x1 instead of
    x2 - x1 + 1.
    """

    base: float
    ratios: tuple[float, ...]
    scales: tuple[float, ...]
    stride: int
    tensorflow: bool


def anchor_boxes(anchors: Anchors) -> Array:
    """Compute the anchor boxes of the first cell of the feature map, [ratios * scales, 4]."""
    border = 0.0 if anchors.tensorflow else 1.0
    ratios = np.array(anchors.ratios, dtype=np.float32)
    width = np.sqrt(np.float32(anchors.base * anchors.base) / ratios)
    height = width * ratios
    if not anchors.tensorflow:
        width = np.floor(width + np.float32(0.5))
        height = np.floor(width * ratios + np.float32(0.5))
    sizes = np.stack((width, height), axis=1)[:, None] * np.array(anchors.scales)[:, None]
    half = ((sizes - border) / 2).reshape(-1, 2)
    centre = (anchors.base - border) / 2 - (anchors.base / 2 if anchors.tensorflow else 0.0)
    return np.concatenate((centre - half, centre + half), axis=1).astype(np.float32)


def refined(boxes: Array, moves: Array, border: float, *, ends: bool, limit: float) -> Array:
    """Apply predicted offsets to boxes [..., 4].

    The first two offsets shift the centre of the box, in multiples of its size. The other two are
    the logarithms of the factors by which its width and height are multiplied; larger logarithms
    than `limit` are replaced by `limit`. A width or height is the difference of two coordinates
    plus `border`. With `ends`, `border` is subtracted from the far corner of the result.
    """
    one = boxes.dtype.type(border)
    size = boxes[..., 2:] - boxes[..., :2] + one
    centre = boxes[..., :2] + size / 2 + moves[..., :2] * size
    half = np.exp(np.minimum(moves[..., 2:], boxes.dtype.type(limit))) * size / 2
    last = centre + half - one if ends else centre + half
    return np.concatenate((centre - half, last), axis=-1)


def _clipped(boxes: Array, height: float, width: float) -> Array:
    high = np.array([width, height, width, height], dtype=boxes.dtype)
    return np.asarray(np.maximum(np.minimum(boxes, high), 0))


def overlap_with_border(border: float) -> Function:
    """Return a function (boxes, box) that computes the IoU of `box` with each of `boxes`.

    A width or height is the difference of two coordinates plus `border`. Boxes that do not touch
    have an overlap of 0.
    """

    def share(boxes: Array, box: Array) -> Array:
        one = boxes.dtype.type(border)
        # Compute with whole columns, for the reason given in `overlaps_with`.
        left, top, right, bottom = boxes.T
        wide = np.minimum(right, box[2]) - np.maximum(left, box[0])
        high = np.minimum(bottom, box[3]) - np.maximum(top, box[1])
        shared = np.maximum(wide + one, 0) * np.maximum(high + one, 0)
        area = (right - left + one) * (bottom - top + one)
        union = area + (box[2:] - box[:2] + one).prod() - shared
        # Two empty boxes on one line touch and have no union.
        touching = (wide >= 0) & (high >= 0) & (union > 0)
        return np.asarray(np.where(touching, shared / np.where(touching, union, 1), 0))

    return share


def _large_enough(boxes: Array, border: float, height: float, width: float) -> Array:
    size = boxes[:, 2:] - boxes[:, :2] + boxes.dtype.type(border)
    return np.asarray((size[:, 0] >= width) & (size[:, 1] >= height))


def _best(selection: Selection, scores: Array) -> Array:
    spend_each(scores.size, 500, "sorting scores")
    return np.argsort(-scores, kind="stable")[: selection.before]


def _filled(rows: Array, count: int) -> Array:
    """The first `count` rows, padded with zeros."""
    result = np.zeros((count, *rows.shape[1:]), dtype=rows.dtype)
    result[: min(len(rows), count)] = rows[:count]
    return result


def proposals(
    anchors: Anchors,
    selection: Selection,
    scales: tuple[float, float],
    *,
    clip_before: bool,
    clip_after: bool,
    normalize: bool,
    n_outputs: int,
) -> Function:
    """Return a function that selects the best boxes of each item.

    The inputs are scores [N, 2 A, H, W], offsets [N, 4 A, H, W] and the image: (height, width,
    scale) or (height, width, scale of heights, scale of widths). The offsets of positions and sizes
    are divided by `scales`. Output 0 is [N * selection.after, 5] with rows (item, x1, y1, x2, y2);
    a row with item -1 ends the boxes of an item. Output 1 holds the scores.
    """
    border = 0.0 if anchors.tensorflow else 1.0
    share = overlap_with_border(border)

    def grid(height: int, width: int) -> Array:
        down, along = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
        x, y = (down, along) if anchors.tensorflow else (along, down)
        shift = np.stack((x, y, x, y), axis=-1) * anchors.stride
        base = anchor_boxes(anchors)
        return (shift[:, :, None].astype(np.float32) + base).reshape(-1, 4)

    def one(scores: Array, moves: Array, image: Sequence[float]) -> tuple[Array, Array]:
        # TensorFlow's boxes have x and y swapped, so the height and width of the image are swapped,
        # too.
        high, wide = image[:2] if not anchors.tensorflow else (image[1], image[0])
        boxes = grid(*scores.shape[1:])
        count = scores.shape[0] // 2
        worth = scores[count:].transpose(1, 2, 0).reshape(-1)
        move = moves.reshape(count, 4, *moves.shape[1:]).transpose(2, 3, 0, 1).reshape(-1, 4)
        place, size = scales
        move = move / np.array([place, place, size, size], dtype=move.dtype)
        boxes = _clipped(boxes, high, wide) if anchors.tensorflow else boxes
        boxes = refined(boxes, move, border, ends=False, limit=math.inf)
        boxes = _clipped(boxes, high - border, wide - border) if clip_before else boxes
        least_high = selection.smallest * image[2]
        least_wide = selection.smallest * image[-1]
        worth = worth * _large_enough(boxes, border, least_high, least_wide)
        ranked = _best(selection, worth)
        kept = ranked[suppressed(boxes[ranked], selection.overlap, share)[: selection.after]]
        boxes = _clipped(boxes[kept], high, wide) if clip_after else boxes[kept]
        if normalize:
            boxes = boxes / np.array([wide, high, wide, high], dtype=boxes.dtype)
        return boxes, worth[kept]

    def apply(scores: Array, moves: Array, image: Array) -> Any:
        sizes = image.reshape(-1).astype(np.float32).tolist()
        rows, worths = [], []
        with np.errstate(all="ignore"):
            for item, (worth, move) in enumerate(zip(scores, moves, strict=True)):
                boxes, values = one(widened(worth), widened(move), sizes)
                row = _filled(np.insert(boxes, 0, item, axis=1), selection.after)
                if len(boxes) < selection.after:
                    row[len(boxes), 0] = -1
                rows.append(row)
                worths.append(_filled(values, selection.after))
        listed = np.concatenate(rows).astype(scores.dtype)
        if n_outputs == 1:
            return listed
        return listed, np.concatenate(worths).astype(scores.dtype)

    return apply


def _moved_boxes(
    image: Sequence[float], anchors: Array, moves: Array, scores: Array, border: float
) -> tuple[Array, Array]:
    """Apply the offsets `moves` to the anchors, and clip the resulting boxes to the image.

    Returns the boxes [K, 4] and their scores [K], ordered by row, column and anchor.
    """
    count = scores.shape[0]
    move = moves.reshape(count, 4, *moves.shape[1:]).transpose(2, 3, 0, 1).reshape(-1, 4)
    boxes = refined(anchors.reshape(-1, 4), move, border, ends=True, limit=_MAX_GROWTH)
    boxes = _clipped(boxes, image[0] - border, image[1] - border)
    return boxes, scores.transpose(1, 2, 0).reshape(-1)


def single_image_proposals(selection: Selection) -> Function:
    """Make a kernel that computes the region proposals of one image.

    Its inputs are the image (height, width, scale), anchors [H * W * A, 4], offsets [4 A, H, W] and
    scores [A, H, W]. It returns K boxes [K, 4] and their scores [K], where K is `selection.after`.
    If fewer boxes are left after the suppression, the rest is zeros.
    """

    def apply(image: Array, anchors: Array, moves: Array, scores: Array) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            boxes, worth = _moved_boxes(
                image.reshape(-1).astype(np.float32).tolist(),
                widened(anchors),
                widened(moves),
                widened(scores),
                1.0,
            )
            worth = worth * _large_enough(boxes, 1.0, selection.smallest, selection.smallest)
            ranked = _best(selection, worth)
            free = suppressed(boxes[ranked], selection.overlap, overlap_with_border(0.0))
            kept = ranked[free[: selection.after]]
        rows, values = _filled(boxes[kept], selection.after), _filled(worth[kept], selection.after)
        return rows.astype(scores.dtype), values.astype(scores.dtype)

    return apply


def generate_proposals(selection: Selection, dtype: np.dtype[Any], *, normalized: bool) -> Function:
    """Make a kernel that computes the region proposals of a batch of images.

    The kernel takes image sizes [N, 3 or 4], anchors [H, W, A, 4], offsets [N, 4 A, H, W]
    and scores [N, A, H, W]. It returns the boxes [K, 4] and scores [K] of all items, and
    the number of boxes of each item [N].
    """
    border = 0.0 if normalized else 1.0
    share = overlap_with_border(border)

    def one(image: list[float], anchors: Array, moves: Array, scores: Array) -> tuple[Array, Array]:
        boxes, worth = _moved_boxes(image, anchors, moves, scores, border)
        least = selection.smallest * image[2], selection.smallest * image[-1]
        ranked = _best(selection, worth)
        ranked = ranked[_large_enough(boxes[ranked], border, *least)]
        kept = ranked[suppressed(boxes[ranked], selection.overlap, share)[: selection.after]]
        return boxes[kept], worth[kept]

    def apply(
        images: Array, anchors: Array, moves: Array, scores: Array
    ) -> tuple[Array, Array, Array]:
        wide = widened(anchors)
        with np.errstate(all="ignore"):
            parts = [
                one(image, wide, widened(move), widened(worth))
                for image, move, worth in zip(
                    images.astype(np.float32).tolist(), moves, scores, strict=True
                )
            ]
        counts = np.array([len(part[1]) for part in parts], dtype=dtype)
        rows = np.concatenate([part[0] for part in parts] or [np.zeros((0, 4))])
        values = np.concatenate([part[1] for part in parts] or [np.zeros(0)])
        return rows.astype(scores.dtype), values.astype(scores.dtype), counts

    return apply
