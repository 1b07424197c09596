"""Prior boxes: a fixed set of boxes around every cell of a feature map (SSD).

The loops run over the boxes of one cell; all cells are computed at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.work import spend_each

__all__ = [
    "Array",
    "Priors",
    "aspect_ratios",
    "clustered_boxes",
    "count_of",
    "element_boxes",
    "prior_boxes",
]

Array = np.ndarray[Any, np.dtype[Any]]
#: Shift of the centre, half the width and half the height, and whether the box is clipped.
Box = tuple[float, float, float, float, bool]


@dataclass(frozen=True, slots=True)
class Priors:
    """Settings of the boxes around a cell of the feature map; sizes are in pixels of the image."""

    min_size: tuple[float, ...] = ()
    max_size: tuple[float, ...] = ()
    aspect_ratio: tuple[float, ...] = ()
    density: tuple[float, ...] = ()
    fixed_ratio: tuple[float, ...] = ()
    fixed_size: tuple[float, ...] = ()
    flip: bool = False
    scale_all_sizes: bool = True
    ratios_last: bool = True
    clip: bool = False
    step: float = 0.0
    offset: float = 0.5
    variance: tuple[float, ...] = ()


def aspect_ratios(priors: Priors) -> list[float]:
    """The aspect ratio 1, then the listed ratios, each followed by its inverse if `flip` is set.

    A ratio that is in the list already is not added again.
    """
    ratios = [1.0]
    for ratio in priors.aspect_ratio:
        for candidate in (ratio, 1 / ratio) if priors.flip else (ratio,):
            if all(abs(candidate - known) >= 1e-6 for known in ratios):
                ratios.append(candidate)
    return ratios


def _root(number: float) -> float:
    """The square root; NaN for a negative number, as engines compute it."""
    return math.sqrt(number) if number >= 0 else math.nan


def _dense(size: float, density: float, ratio: float) -> list[Box]:
    """Return boxes of one size whose centres form a grid of `density` x `density` positions.

    The grid covers a square with sides of `size` around the centre of the cell. `ratio` is the
    width of a box divided by its height.
    """
    count = int(density)
    budget.reserve(240 * count * count, "the boxes of one size")
    spend_each(count * count, 500, "the boxes of one size")
    shift = size / count
    wide, high = size / 2 * _root(ratio), size / 2 / _root(ratio)
    first = -size / 2 + shift / 2
    return [
        (first + column * shift, first + row * shift, wide, high, True)
        for row in range(count)
        for column in range(count)
    ]


def _fixed(priors: Priors, ratios: Sequence[float]) -> list[Box]:
    boxes: list[Box] = []
    for at, size in enumerate(priors.fixed_size):
        density = priors.density[at] if at < len(priors.density) else 1.0
        if priors.fixed_ratio:
            for ratio in priors.fixed_ratio:
                boxes += _dense(size, density, ratio)
            continue
        if priors.density:
            boxes += _dense(size, density, 1.0)
        for ratio in ratios:
            if abs(ratio - 1.0) >= 1e-6:
                boxes += _dense(size, density, ratio)
    return boxes


def element_boxes(priors: Priors) -> list[Box]:
    """The boxes of one cell of the feature map, in the order of the specification."""
    ratios = aspect_ratios(priors)
    boxes = _fixed(priors, ratios)
    last = len(priors.min_size) - 1
    for index, size in enumerate(priors.min_size):
        boxes.append((0.0, 0.0, size / 2, size / 2, False))
        larger: list[Box] = []
        if index < len(priors.max_size):
            side = _root(size * priors.max_size[index]) / 2
            larger.append((0.0, 0.0, side, side, False))
        others: list[Box] = []
        if priors.scale_all_sizes or index == last:
            base = size if priors.scale_all_sizes else priors.min_size[0]
            others = [
                (0.0, 0.0, base / 2 * _root(ratio), base / 2 / _root(ratio), False)
                for ratio in ratios
                if abs(ratio - 1.0) >= 1e-6
            ]
        boxes += [*larger, *others] if priors.ratios_last else [*others, *larger]
    return boxes


def count_of(priors: Priors) -> int:
    """The number of boxes per cell of the feature map, as OpenVINO counts them.

    This can differ from the number of boxes that are generated. With fixed sizes, aspect ratios are
    counted even if fixed ratios replace them. Without `scale_all_sizes`, the boxes that `max_size`
    adds are not counted. Boxes beyond the count are dropped, and missing boxes are zeros.
    """
    ratios = len(aspect_ratios(priors))
    count = ratios + len(priors.min_size) - 1
    if priors.scale_all_sizes:
        count = ratios * len(priors.min_size) + len(priors.max_size)
    if priors.fixed_size:
        count = ratios * len(priors.fixed_size)
    more = [int(density) ** 2 - 1 for density in priors.density]
    return count + sum(more) * (len(priors.fixed_ratio) or ratios)


def _variances(variance: Sequence[float], count: int) -> Array:
    """Return the variances of `count` boxes as a vector: four numbers for each box.

    They become the second row of PriorBox's output. `variance` holds the four numbers of every
    box, or one number that is used for all four; if it is empty, the number is 0.1.
    """
    row = np.array(variance or (0.1,), dtype=np.float32)
    return np.tile(row, 4 * count // len(row))


def _reserve(boxes: int, parts: int) -> None:
    """Check the memory and charge the time for computing `boxes` prior boxes.

    The boxes are computed as `parts` separate arrays; each array takes some time of its own.
    """
    budget.reserve(4 * 8 * 4 * boxes, "prior boxes")
    spend_each(4 * boxes, 20, "prior boxes")
    spend_each(parts, 50_000, "prior boxes")


def prior_boxes(priors: Priors, layer: Sequence[int], image: Sequence[int]) -> Array:
    """The boxes relative to the image, (x1, y1, x2, y2), and their variances: [2, 4 * h * w * n].

    `layer` and `image` are (height, width). The number n of boxes in each cell is
    `count_of(priors)`; if fewer boxes are generated, the result is padded with zeros.
    """
    height, width = layer
    rows, columns = image
    count = count_of(priors)
    if not priors.scale_all_sizes:
        # Without `scale_all_sizes`, smaller sizes and steps are fractions of the image's height.
        scaled = tuple(size * rows for size in priors.min_size)
        priors = replace(priors, min_size=scaled, step=priors.step * rows)
    down = priors.step or rows / height
    along = priors.step or columns / width
    offset = priors.offset if priors.step else 0.5
    centre_y = ((np.arange(height) + offset) * down)[:, None]
    centre_x = (np.arange(width) + offset) * along
    parts = []
    elements = element_boxes(priors)
    _reserve(height * width * max(count, len(elements)), len(elements))
    for shift_x, shift_y, half_width, half_height, clipped in elements:
        x, y = centre_x + shift_x, centre_y + shift_y
        box = np.stack(
            np.broadcast_arrays(
                (x - half_width) / columns,
                (y - half_height) / rows,
                (x + half_width) / columns,
                (y + half_height) / rows,
            ),
            axis=-1,
        )
        if clipped:
            box[..., :2] = np.maximum(box[..., :2], 0)
            box[..., 2:] = np.minimum(box[..., 2:], 1)
        parts.append(box)
    boxes = np.stack(parts, axis=2)
    if priors.clip:
        boxes = np.clip(boxes, 0, 1)
    flat = np.zeros(4 * height * width * count, np.float32)
    made = boxes.reshape(-1)[: flat.size]
    flat[: made.size] = made
    return np.stack((flat, _variances(priors.variance, flat.size // 4)))


def clustered_boxes(
    widths: Sequence[float],
    heights: Sequence[float],
    steps: tuple[float, float] | None,
    offset: float,
    variance: Sequence[float],
    layer: Sequence[int],
    image: Sequence[int],
    *,
    clip: bool,
) -> Array:
    """Return the boxes of PriorBoxClustered, and their variances: [2, 4 * h * w * n].

    The boxes (x1, y1, x2, y2) are relative to the image. They surround every cell of a feature map
    of h rows and w columns. `widths` and `heights` have one element for each of the n boxes of a
    cell. `steps` are the vertical and the horizontal distance of the cells; None means image size /
    feature map size. `layer` and `image` are (height, width).
    """
    height, width = layer
    rows, columns = image
    down, along = (rows / height, columns / width) if steps is None else steps
    y = ((np.arange(height) + offset) * down)[:, None, None]
    x = ((np.arange(width) + offset) * along)[:, None]
    half_width, half_height = np.array(widths) / 2, np.array(heights) / 2
    _reserve(height * width * len(half_width), 1)
    box = np.stack(
        np.broadcast_arrays(
            (x - half_width) / columns,
            (y - half_height) / rows,
            (x + half_width) / columns,
            (y + half_height) / rows,
        ),
        axis=-1,
    )
    if clip:
        box = np.clip(box, 0, 1)
    flat = box.reshape(-1).astype(np.float32)
    return np.stack((flat, _variances(variance, flat.size // 4)))
