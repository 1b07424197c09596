"""Random operations on tensors, and operations of old opsets."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.contrib.against_runtime import Case
from tests.ops.contrib.drawing.draw import TOLERANCES, Array, Draw, Drawer, trimmed

__all__ = ["DRAWERS"]


def expand_dims(d: Draw) -> Case:
    """ExpandDims."""
    shape = d.shape(0)
    x = d.floats(*shape, type=d.pick([np.float32, np.int64, np.float64]))
    axis = np.array(d.size(-len(shape) - 1, len(shape)), np.int32)
    if d.chance(0.3):
        axis = axis.reshape(1)
    constants = d.constants([1], [x, axis])
    # A computed axis needs the Unsqueeze of opset 13.
    opset = d.opset() if constants else d.opset(13)
    return Case("ExpandDims", [x, axis], constants=constants, opset=opset)


def gather_nd(d: Draw) -> Case:
    """GatherND."""
    shape = d.shape(1, 4)
    depth = d.size(1, len(shape))
    count = d.shape(1, 2)
    rows = [d.random.integers(0, size, count) for size in shape[:depth]]
    indices = np.stack(rows, -1).astype(d.pick([np.int32, np.int64]))
    inputs: list[Array | None] = [d.floats(*shape), indices]
    # The last size of the indices determines the rank of the result, so it must be known.
    constants = d.constants([1], inputs)
    return Case("GatherND", inputs, constants=constants, opset=d.opset(), opens=False)


def pad(d: Draw) -> Case:
    """Pad."""
    shape = [d.size(3, 5) for _ in range(d.size(1, 4))]
    mode = d.pick(["constant", "constant", "edge", "reflect"])
    low = -1 if mode == "constant" else 0
    pads = np.array([d.size(low, 2) for _ in range(2 * len(shape))], np.int64)
    if d.chance(0.3):
        pads = pads.reshape(1, -1)
    inputs = trimmed([d.floats(*shape), pads, d.floats(1) if d.chance() else None])
    words: dict[str, Any] = {} if mode == "constant" and d.chance() else {"mode": mode}
    return Case("Pad", inputs, constants=d.constants([1, 2], inputs), opset=d.opset(), **words)


def numbers(d: Draw) -> Case:
    """Range."""
    kind = d.pick([np.float32, np.int64, np.int32, np.float64, np.int16])
    delta = d.pick([1, 2, -1, -3])
    start = d.size(-3, 3)
    limit = start + delta * d.size(0, 4) + d.pick([0, 1]) * int(np.sign(delta))
    shape = d.pick([(), (1,)])
    inputs: list[Array | None] = [np.array(start, kind), np.array(limit, kind)]
    if delta != 1 or d.chance():
        inputs.append(np.array(delta, kind))
    inputs = [item.reshape(shape) for item in inputs if item is not None]
    return Case("Range", inputs, constants=d.constants([0, 1, 2], inputs), opset=d.opset())


def trilu(d: Draw) -> Case:
    """Trilu."""
    x = d.floats(*d.shape(2, 4), type=d.pick([np.float32, np.float64, np.int64]), scale=9.0)
    shift = np.array(d.size(-4, 4), np.int64) if d.chance() else None
    inputs = trimmed([x, shift])
    constants = d.constants([1], inputs)
    return Case("Trilu", inputs, constants=constants, opset=d.opset(), **d.words(upper=(0, 1)))


def unique(d: Draw) -> Case:
    """Unique."""
    x = d.random.integers(-3, 4, d.size(1, 9)).astype(np.float32)
    return Case("Unique", [x], outputs=3, opset=d.opset())


def grid_sample(d: Draw) -> Case:
    """GridSample."""
    batch = d.size(1, 2)
    x = d.floats(batch, d.size(1, 3), d.size(), d.size())
    grid = d.random.uniform(-1.3, 1.3, (batch, d.size(), d.size(), 2)).astype(np.float32)
    words = d.words(
        mode=("bilinear", "nearest", "bicubic"),
        padding_mode=("zeros", "border", "reflection"),
        align_corners=(0, 1),
    )
    return Case("GridSample", [x, grid], opset=d.opset(16), tolerance=1e-4, **words)


def distances(d: Draw) -> Case:
    """CDist."""
    size = d.size(1, 6)
    pair: list[Array | None] = [d.floats(d.size(), size) for _ in range(2)]
    words = d.words(metric=("euclidean", "sqeuclidean"))
    return Case("CDist", pair, opset=d.opset(), tolerance=1e-3, **words)


def inverse(d: Draw) -> Case:
    """Inverse."""
    element = np.dtype(d.pick([np.float32, np.float32, np.float16]))
    size = d.size(1, 6)
    x = d.floats(*d.shape(0, 2), size, size, type=element) * 0.3 + np.eye(size, dtype=element) * 2
    tolerance = TOLERANCES.get(element, 1e-4)
    return Case("Inverse", [x.astype(element)], opset=d.opset(), tolerance=tolerance)


def crops(d: Draw) -> Case:
    """CropAndResize."""
    batch, boxes = d.size(1, 3), d.size(1, 4)
    x = d.floats(batch, d.size(1, 3), d.size(2, 6), d.size(2, 6))
    corners = d.random.uniform(-0.2, 1.2, (boxes, 4)).astype(np.float32)
    if d.chance():
        corners = np.sort(corners.reshape(boxes, 2, 2), 1).reshape(boxes, 4)
    inputs: list[Array | None] = [
        x,
        corners,
        d.random.integers(0, batch, boxes).astype(np.int32),
        np.array([d.size(), d.size()], np.int32),
    ]
    words = d.words(mode=("bilinear", "nearest"), extrapolation_value=(0.0, -1.5))
    return Case("CropAndResize", inputs, constants=[3], opset=d.opset(16), tolerance=1e-4, **words)


def early(type: str) -> Drawer:
    """A function that generates an operation that only old opsets have."""

    def draw(d: Draw) -> Case:
        shape = [d.size(1, 2), d.size(1, 4), d.size(4, 7), d.size(4, 7)]
        words: dict[str, Any] = {"alpha": d.pick([0.5, -1.5]), "beta": d.pick([0.25, 2.0])}
        named: dict[str, Any] = {}
        if type == "Crop":
            words = {"border": [d.size(0, 1) for _ in range(4)]}
            named = {"scale": [d.size(1, 3), d.size(1, 3)]} if d.chance(0.4) else {}
        elif type == "ImageScaler":
            words = {"bias": [float(number) for number in d.floats(shape[1])]}
            named = {"scale": 1.5} if d.chance() else {}
        elif type == "Scale":
            words, named = {}, {"scale": -2.5} if d.chance() else {}
        else:
            shape = d.shape()
        opset = d.pick([7, 8, 9])
        return Case(type, [d.floats(*shape)], domain="", opset=opset, named=named, **words)

    return draw


DRAWERS: dict[str, Drawer] = {
    "ExpandDims": expand_dims,
    "GatherND": gather_nd,
    "Pad": pad,
    "Range": numbers,
    "Trilu": trilu,
    "Unique": unique,
    "GridSample": grid_sample,
    "CDist": distances,
    "Inverse": inverse,
    "CropAndResize": crops,
    **{
        type: early(type)
        for type in ("Crop", "ImageScaler", "Affine", "Scale", "ScaledTanh", "ParametricSoftplus")
    },
}
