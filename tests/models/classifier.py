"""An image classifier after MobileNet 3: inverted residuals, squeeze and excitation, hard swish."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.models.layers import F32, Layers

#: Channels out, expanded channels, kernel, stride, squeeze and excitation, hard swish.
BLOCKS = (
    (16, 16, 3, 2, True, False),
    (24, 72, 3, 2, False, False),
    (24, 88, 3, 1, False, False),
    (40, 96, 5, 2, True, True),
    (40, 240, 5, 1, True, True),
    (48, 120, 5, 1, True, True),
    (96, 288, 5, 2, True, True),
)


def build() -> onnx.ModelProto:
    """A model from images [batch, 3, 64, 64] to probabilities [batch, 100]; opset 14."""
    net = Layers(1)
    x = net.op("HardSwish", net.convolution("image", (3, 16), stride=2))
    inside = 16
    for outside, wide, kernel, stride, squeezed, swish in BLOCKS:
        activation = "HardSwish" if swish else "Relu"
        y = net.op(activation, net.convolution(x, (inside, wide), 1))
        y = net.op(activation, net.convolution(y, (wide, wide), kernel, stride, wide))
        y = _excited(net, y, wide) if squeezed else y
        y = net.convolution(y, (wide, outside), 1)
        x = net.op("Add", x, y) if stride == 1 and inside == outside else y
        inside = outside
    x = net.op("HardSwish", net.convolution(x, (inside, 288), 1))
    flat = net.op("Flatten", net.op("GlobalAveragePool", x), axis=1)
    hidden = net.op("HardSwish", net.op("Gemm", flat, net.weight(256, 288), transB=1))
    logits = net.op("Gemm", hidden, net.weight(100, 256), net.weight(100), transB=1)
    net.rename(net.op("Softmax", logits, axis=-1), "probabilities")
    image = helper.make_tensor_value_info("image", F32, ["batch", 3, 64, 64])
    result = helper.make_tensor_value_info("probabilities", F32, ["batch", 100])
    return net.model([image], [result], opset=14)


def _excited(net: Layers, x: str, channels: int) -> str:
    narrow = channels // 4
    mean = net.op("GlobalAveragePool", x)
    hidden = net.op("Conv", mean, net.weight(narrow, channels, 1, 1), net.weight(narrow))
    gates = net.op(
        "Conv", net.op("Relu", hidden), net.weight(channels, narrow, 1, 1), net.weight(channels)
    )
    return str(net.op("Mul", x, net.op("HardSigmoid", gates, alpha=1 / 6, beta=0.5)))


def inputs() -> list[list[Any]]:
    """One image, and a batch of three."""
    random = np.random.default_rng(2)
    return [[random.normal(size=(batch, 3, 64, 64)).astype(np.float32)] for batch in (1, 3)]
