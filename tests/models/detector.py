"""A one-stage object detector after YOLO: pyramid, decoded boxes, suppression in the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.models.layers import F32, I64, Layers

CLASSES, SIZE = 8, 64
#: For each level: the stride of the grid, and the widths and heights of its anchors, in pixels.
LEVELS = ((8, ((10, 13), (16, 30))), (16, ((30, 33), (40, 50))))


def build() -> onnx.ModelProto:
    """A model from one image [1, 3, 64, 64] to boxes [n, 4], scores [n] and classes [n]; opset
    13.
    """
    net = Layers(3)
    x = _block(net, net.op("Sub", "image", net.constant(0.5)), (3, 16), 2)
    x = _partial(net, _block(net, x, (16, 32), 2), 32)
    fine = _partial(net, _block(net, x, (32, 48), 2), 48)
    coarse = _pooled(net, _block(net, fine, (48, 64), 2), 64)
    lifted = _block(net, coarse, (64, 48))
    lifted = net.op(
        "Resize",
        lifted,
        "",
        net.constant([1, 1, 2, 2]),
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    fine = _block(net, net.op("Concat", fine, lifted, axis=1), (96, 48))
    found = [
        _decoded(net, level, channels, *LEVELS[at])
        for at, (level, channels) in enumerate(((fine, 48), (coarse, 64)))
    ]
    _suppressed(net, net.op("Concat", *found, axis=1))
    image = helper.make_tensor_value_info("image", F32, [1, 3, SIZE, SIZE])
    results = [
        helper.make_tensor_value_info("boxes", F32, ["n", 4]),
        helper.make_tensor_value_info("scores", F32, ["n"]),
        helper.make_tensor_value_info("classes", I64, ["n"]),
    ]
    return net.model([image], results, opset=13)


def _block(net: Layers, x: str, channels: tuple[int, int], stride: int = 1) -> str:
    y = net.convolution(x, channels, 3, stride)
    return str(net.op("Mul", y, net.op("Sigmoid", y)))


def _partial(net: Layers, x: str, channels: int) -> str:
    """Pass one half of the channels on unchanged, the other through a bottleneck."""
    half = channels // 2
    kept, worked = net.op("Split", x, net.ints(half, half), outputs=2, axis=1)
    worked = net.op("Add", worked, _block(net, worked, (half, half)))
    return _block(net, net.op("Concat", kept, worked, axis=1), (channels, channels))


def _pooled(net: Layers, x: str, channels: int) -> str:
    parts = [x]
    for _ in range(3):
        pooled = net.op("MaxPool", parts[-1], kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1])
        parts.append(pooled)
    return _block(net, net.op("Concat", *parts, axis=1), (4 * channels, channels))


def _decoded(net: Layers, x: str, channels: int, step: int, anchors: Any) -> str:
    """Rows of centre, size, objectness and classes: [1, boxes, 5 + classes]."""
    count, row, side = len(anchors), 5 + CLASSES, SIZE // step
    maps = net.op(
        "Conv", x, net.weight(count * row, channels, 1, 1, gain=4), net.weight(count * row)
    )
    maps = net.op("Reshape", maps, net.ints(1, count, row, side, side))
    maps = net.op("Sigmoid", net.op("Transpose", maps, perm=[0, 1, 3, 4, 2]))
    centre, size, rest = net.op("Split", maps, net.ints(2, 2, 1 + CLASSES), outputs=3, axis=-1)
    columns, rows = np.meshgrid(np.arange(side), np.arange(side))
    grid = np.stack([columns, rows], -1)[None, None] - 0.5
    centre = net.op("Mul", centre, net.constant(2))
    centre = net.op("Mul", net.op("Add", centre, net.constant(grid)), net.constant(step))
    size = net.op("Pow", net.op("Mul", size, net.constant(2)), net.constant(2))
    size = net.op("Mul", size, net.constant(np.reshape(anchors, (1, count, 1, 1, 2))))
    rows_of = net.op("Concat", centre, size, rest, axis=-1)
    return str(net.op("Reshape", rows_of, net.ints(1, -1, row)))


def _suppressed(net: Layers, rows: str) -> None:
    ends = np.cumsum([2, 2, 1, CLASSES])
    starts = ends - [2, 2, 1, CLASSES]
    centre, size, objectness, classes = (
        net.op("Slice", rows, net.ints(int(a)), net.ints(int(b)), net.ints(2))
        for a, b in zip(starts, ends, strict=True)
    )
    half = net.op("Div", size, net.constant(2))
    corners = net.op("Sub", centre, half), net.op("Add", centre, half)
    boxes = net.op("Concat", *corners, axis=-1)
    scores = net.op("Transpose", net.op("Mul", classes, objectness), perm=[0, 2, 1])
    limits = net.ints(20), net.constant([0.5]), net.constant([0.8])
    picked = net.op("NonMaxSuppression", boxes, scores, *limits)
    _, kinds, places = net.op("Split", picked, net.ints(1, 1, 1), outputs=3, axis=1)
    flat = net.op("Squeeze", places, net.ints(1))
    net.rename(net.op("Gather", net.op("Squeeze", boxes, net.ints(0)), flat, axis=0), "boxes")
    where = net.op("Concat", kinds, places, axis=1)
    net.rename(net.op("GatherND", net.op("Squeeze", scores, net.ints(0)), where), "scores")
    net.rename(net.op("Squeeze", kinds, net.ints(1)), "classes")


def inputs() -> list[list[Any]]:
    """Two images."""
    random = np.random.default_rng(4)
    return [[random.uniform(size=(1, 3, SIZE, SIZE)).astype(np.float32)] for _ in range(2)]
