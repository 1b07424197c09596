"""A transformer encoder after BERT: masked attention over batches and sequences of any length."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.models.layers import F32, I64, Layers

WORDS, LONGEST, WIDTH, HEADS, DEPTH = 200, 32, 64, 4, 3


def build() -> onnx.ModelProto:
    """A model from words and a mask [batch, length] to states and a pooled vector; opset 17."""
    net = Layers(5)
    words = net.op("Gather", net.weight(WORDS, WIDTH), "words", axis=0)
    length = net.op("Squeeze", net.size("words", 1), net.ints(0))
    places = net.op("Range", net.constant(0, np.int64), length, net.constant(1, np.int64))
    x = net.op("Add", words, net.op("Gather", net.weight(LONGEST, WIDTH), places, axis=0))
    x = _normalised(net, x)
    hidden = net.op("Cast", net.op("Unsqueeze", "mask", net.ints(1, 2)), to=F32)
    hidden = net.op("Sub", net.constant(1), hidden)
    hidden = net.op("Mul", hidden, net.constant(-1e4))
    for _ in range(DEPTH):
        x = _normalised(net, net.op("Add", x, _attention(net, x, hidden)))
        wide = net.linear(x, WIDTH, 4 * WIDTH)
        x = _normalised(net, net.op("Add", x, net.linear(_gelu(net, wide), 4 * WIDTH, WIDTH)))
    net.rename(x, "states")
    first = net.op("Gather", x, net.constant(0, np.int64), axis=1)
    net.rename(net.op("Tanh", net.linear(first, WIDTH, WIDTH)), "pooled")
    given = [
        helper.make_tensor_value_info(name, I64, ["batch", "length"]) for name in ("words", "mask")
    ]
    results = [
        helper.make_tensor_value_info("states", F32, ["batch", "length", WIDTH]),
        helper.make_tensor_value_info("pooled", F32, ["batch", WIDTH]),
    ]
    return net.model(given, results, opset=17)


def _normalised(net: Layers, x: str) -> str:
    scale = net.constant(net.random.normal(1, 0.1, WIDTH))
    return str(net.op("LayerNormalization", x, scale, net.weight(WIDTH), axis=-1, epsilon=1e-12))


def _gelu(net: Layers, x: str) -> str:
    erf = net.op("Erf", net.op("Div", x, net.constant(math.sqrt(2))))
    grown = net.op("Mul", x, net.op("Add", erf, net.constant(1)))
    return str(net.op("Mul", grown, net.constant(0.5)))


def _attention(net: Layers, x: str, hidden: str) -> str:
    batch, length = net.size(x, 0), net.size(x, 1)
    split = net.op("Concat", batch, length, net.ints(HEADS), net.ints(WIDTH // HEADS), axis=0)
    joined = net.op("Concat", batch, length, net.ints(WIDTH), axis=0)

    def heads(perm: list[int]) -> str:
        parts = net.op("Reshape", net.linear(x, WIDTH, WIDTH), split)
        return str(net.op("Transpose", parts, perm=perm))

    scores = net.op("MatMul", heads([0, 2, 1, 3]), heads([0, 2, 3, 1]))
    scores = net.op("Div", scores, net.constant(math.sqrt(WIDTH // HEADS)))
    weights = net.op("Softmax", net.op("Add", scores, hidden), axis=-1)
    mixed = net.op("MatMul", weights, heads([0, 2, 1, 3]))
    mixed = net.op("Reshape", net.op("Transpose", mixed, perm=[0, 2, 1, 3]), joined)
    return net.linear(mixed, WIDTH, WIDTH)


def inputs() -> list[list[Any]]:
    """A full sequence, and a batch of two sequences, the second of which is padded."""
    random = np.random.default_rng(6)
    return [
        [random.integers(0, WORDS, (1, 7)), np.ones((1, 7), np.int64)],
        [random.integers(0, WORDS, (2, 12)), np.repeat([[1] * 12, [1] * 5 + [0] * 7], 1, 0)],
    ]
