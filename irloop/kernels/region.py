"""RegionYolo: predictions of YOLO's grid cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irloop.kernels import activation
from irloop.kernels.matmul import widened

__all__ = ["Array", "Function", "region_yolo"]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


def _sigmoid(x: Array) -> Any:
    return 1 / (1 + np.exp(-x))


def region_yolo(
    coords: int, classes: int, regions: int, *, softmax: bool, flat: tuple[int, int]
) -> Function:
    """Make a kernel that activates the positions, the confidence and the classes of YOLO regions.

    The data is [N, regions * (coords + 1 + classes), H, W].

    Each region has `coords` coordinates, the confidence and one value per class. The first two
    coordinates and the confidence go through a sigmoid, and the classes through a sigmoid or a
    softmax. With softmax, the axes from flat[0] to flat[1], both included, are flattened into one.
    """
    each = coords + 1 + classes
    by_class = activation.softmax(2)

    def apply(x: Array) -> Any:
        wide = widened(x).copy()
        used = regions * each
        cells = wide[:, :used].reshape(len(x), regions, each, *x.shape[2:])
        with np.errstate(all="ignore"):
            cells[:, :, :2] = _sigmoid(cells[:, :, :2])
            last = coords + 1 if softmax else each
            cells[:, :, coords:last] = _sigmoid(cells[:, :, coords:last])
            if softmax:
                cells[:, :, coords + 1 :] = by_class(cells[:, :, coords + 1 :])
        wide[:, :used] = cells.reshape(len(x), used, *x.shape[2:])
        if softmax:
            first, end = flat[0] % x.ndim, flat[1] % x.ndim
            wide = wide.reshape(*x.shape[:first], -1, *x.shape[end + 1 :])
        return wide.astype(x.dtype, copy=False)

    return apply
