"""A text recogniser after CRNN: convolutions, then two bidirectional LSTMs over the columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.models.layers import F32, Layers

HEIGHT, HIDDEN, LETTERS = 16, 24, 30


def build() -> onnx.ModelProto:
    """A model from a line of text [batch, 1, 16, width] to [width / 4, batch, letters]; opset
    12.
    """
    net = Layers(7)
    x = net.op("Relu", net.convolution("line", (1, 16)))
    x = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.op("Relu", net.convolution(x, (16, 32)))
    x = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = net.op("Relu", net.convolution(x, (32, 48)))
    x = net.op("MaxPool", x, kernel_shape=[4, 1], strides=[4, 1])
    columns = net.op("Transpose", net.op("Squeeze", x, axes=[2]), perm=[2, 0, 1])
    columns = _bidirectional(net, columns, 48)
    columns = _bidirectional(net, columns, 2 * HIDDEN)
    letters = net.op("LogSoftmax", net.linear(columns, 2 * HIDDEN, LETTERS), axis=2)
    net.rename(letters, "letters")
    line = helper.make_tensor_value_info("line", F32, ["batch", 1, HEIGHT, "width"])
    result = helper.make_tensor_value_info("letters", F32, ["steps", "batch", LETTERS])
    return net.model([line], [result], opset=12)


def _bidirectional(net: Layers, x: str, inside: int) -> str:
    """An LSTM over [steps, batch, inside] with zeros as initial states; their size is known only at
    run time.
    """
    shape = net.op("Concat", net.ints(2), net.size(x, 1), net.ints(HIDDEN), axis=0)
    zero = net.op("ConstantOfShape", shape)
    wide, narrow = 4 * HIDDEN, HIDDEN
    weights = net.weight(2, wide, inside), net.weight(2, wide, narrow), net.weight(2, 2 * wide)
    y, _, _ = net.op(
        "LSTM",
        x,
        *weights,
        "",
        zero,
        zero,
        outputs=3,
        direction="bidirectional",
        hidden_size=HIDDEN,
    )
    return str(net.op("Reshape", net.op("Transpose", y, perm=[0, 2, 1, 3]), net.ints(0, 0, -1)))


def inputs() -> list[list[Any]]:
    """A short line, and a batch of two long lines."""
    random = np.random.default_rng(8)
    sizes = ((1, 24), (2, 60))
    return [
        [random.normal(size=(batch, 1, HEIGHT, width)).astype(np.float32)] for batch, width in sizes
    ]
