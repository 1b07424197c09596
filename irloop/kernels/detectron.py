"""Detectron's operations around region proposals: prior grids, pyramids, final detections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.detection import suppressed
from irloop.kernels.matmul import widened
from irloop.kernels.proposals import overlap_with_border, refined
from irloop.kernels.roi import roi_align
from irloop.kernels.work import spend_each

__all__ = ["Array", "Final", "Function", "best_rois", "detections", "prior_grid", "pyramid"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Final:
    """Settings for choosing the final detections."""

    score: float
    overlap: float
    growth: float
    classes: int
    per_class: int
    per_image: int
    weights: tuple[float, ...]


def prior_grid(size: tuple[int, int], strides: tuple[float, float], *, flatten: bool) -> Function:
    """Return a function that makes the prior boxes around each cell of a feature map.

    It takes the priors [P, 4], the feature map [N, C, H, W] and the image. It returns the boxes
    [H, W, P, 4], or [H * W * P, 4] with `flatten`.

    `size` is the height and width of the grid of cells; 0 means the size of the feature map.
    `strides` are the vertical and the horizontal stride; 0 means image size / grid size. If the
    grid is smaller than the feature map, the boxes are followed by zeros.
    """

    def apply(priors: Array, features: Array, image: Array) -> Any:
        height, width = (
            given or found for given, found in zip(size, features.shape[2:], strict=True)
        )
        down = strides[0] or image.shape[2] / height
        along = strides[1] or image.shape[3] / width
        corners = 4 * height * width * len(priors)
        budget.reserve(2 * 4 * corners, "prior boxes of a grid")
        spend_each(corners, 12, "prior boxes of a grid")
        y = ((np.arange(height) + 0.5) * down).astype(np.float32)[:, None]
        x = ((np.arange(width) + 0.5) * along).astype(np.float32)
        shift = np.stack(np.broadcast_arrays(x, y, x, y), axis=-1)
        boxes = (widened(priors) + shift[:, :, None]).astype(priors.dtype)
        shape = (*features.shape[2:], len(priors), 4)
        result = np.zeros((int(np.prod(shape[:3])), 4), dtype=priors.dtype)
        rows = boxes.reshape(-1, 4)[: len(result)]
        result[: len(rows)] = rows
        return result if flatten else result.reshape(shape)

    return apply


def best_rois(count: int) -> Function:
    """Make a kernel that returns the `count` regions with the highest scores, padded with zeros.

    The kernel takes regions [R, 4] and their scores [R].
    """

    def apply(rois: Array, scores: Array) -> Any:
        order = np.argsort(-scores, kind="stable")[:count]
        result = np.zeros((count, 4), dtype=rois.dtype)
        result[: len(order)] = rois[order]
        return result

    return apply


def _levels(rois: Array, count: int) -> Array:
    """The pyramid level from which each region is read; `count` for an empty region."""
    area = (rois[:, 2] - rois[:, 0]) * (rois[:, 3] - rois[:, 1])
    side = np.sqrt(np.maximum(area, 0)) / np.float32(224)
    level = np.floor(np.log2(side + np.float32(1e-6)) + 2).astype(np.int64)
    return np.where(area > 0, np.clip(level, 0, count - 1), count)


def pyramid(size: int, ratio: int, scales: tuple[float, ...], *, aligned: bool) -> Function:
    """Make a kernel that pools regions [R, 4] from feature maps to [R, C, size, size].

    Its operands are the regions and the maps [1, C, H, W]; it returns the features and the regions.
    A region with sides of about 224 is read from the third map, a region of half that size from the
    second, and so on. `scales` holds the size of a cell of each map, and `ratio` is the number of
    samples per bin and axis. With `aligned`, coordinates are shifted by half a cell. An empty
    region gives zeros.
    """
    readers = [
        roi_align(
            size,
            size,
            ratio,
            float(np.float32(1) / np.float32(scale)),
            "avg",
            after=-0.5 if aligned else 0.0,
            at_least_one=True,
        )
        for scale in scales
    ]

    def apply(rois: Array, *maps: Array) -> tuple[Array, Array]:
        result = np.zeros((len(rois), maps[0].shape[1], size, size), dtype=maps[0].dtype)
        levels = _levels(widened(rois), len(maps))
        for level, (read, features) in enumerate(zip(readers, maps, strict=False)):
            own = np.flatnonzero(levels == level)
            if own.size:
                result[own] = read(features, rois[own], np.zeros(len(own), np.int64))
        return result, rois

    return apply


def detections(final: Final) -> Function:
    """Make a kernel that selects the final detections from scored regions.

    The kernel takes regions [R, 4], offsets [R, 4 C], scores [R, C] and the image (height,
    width, scale). It returns boxes [per_image, 4], classes [per_image] and scores
    [per_image], padded with zeros. Class 0 is the background.
    """

    def apply(rois: Array, moves: Array, scores: Array, image: Array) -> tuple[Array, Array, Array]:
        wide, worth = widened(rois), widened(scores)
        spend_each(worth.size, 300, "sorting scores")
        weights = np.array(final.weights, dtype=wide.dtype)
        move = widened(moves).reshape(len(rois), -1, 4) / weights
        with np.errstate(all="ignore"):
            boxes = refined(wide[:, None], move, 1.0, ends=True, limit=final.growth)
            boxes = np.maximum(boxes, 0)
            solid = (wide[:, 2:] > wide[:, :2]).all(axis=1)
            rows: list[tuple[int, int]] = []
            for label in range(1, final.classes):
                chosen = np.flatnonzero(solid & (worth[:, label] > np.float32(final.score)))
                ranked = chosen[np.argsort(-worth[chosen, label], kind="stable")]
                kept = suppressed(boxes[ranked, label], final.overlap, overlap_with_border(1))
                kept = kept if final.per_class < 0 else kept[: final.per_class]
                rows += [(label, int(ranked[at])) for at in kept]
        if len(rows) > final.per_image:
            rows.sort(key=lambda row: -worth[row[1], row[0]])
            rows = rows[: final.per_image]
        labels = np.array([row[0] for row in rows], dtype=np.int64)
        places = np.array([row[1] for row in rows], dtype=np.int64)
        corners = np.zeros((final.per_image, 4), dtype=rois.dtype)
        classes = np.zeros(final.per_image, dtype=np.int32)
        values = np.zeros(final.per_image, dtype=scores.dtype)
        corners[: len(rows)] = boxes[places, labels]
        classes[: len(rows)], values[: len(rows)] = labels, worth[places, labels]
        return corners, classes, values

    return apply
