"""Sequence to sequence: a GRU encodes, and a Loop decodes word by word until the end token."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.models.layers import F32, I64, Layers

WORDS, WIDTH, END = 40, 32, 2


def build() -> onnx.ModelProto:
    """A model from words [length, 1] and a limit to the output words [n] and their logits; opset
    16.
    """
    net = Layers(9)
    table = net.weight(WORDS, WIDTH, gain=8)
    x = net.op("Gather", table, "words", axis=0)
    weights = [net.weight(1, rows, cols) for rows, cols in ((3 * WIDTH, WIDTH), (3 * WIDTH, WIDTH))]
    y, last = net.op(
        "GRU",
        x,
        *weights,
        net.weight(1, 6 * WIDTH),
        outputs=2,
        hidden_size=WIDTH,
        linear_before_reset=1,
    )
    memory = net.op("Squeeze", y, net.ints(1, 2))
    state = net.op("Squeeze", last, net.ints(0))
    begin = net.constant([1], np.int64)
    body = _body(net, table, memory)
    *_, words, logits = net.op(
        "Loop", "limit", net.constant(True, np.bool_), begin, state, outputs=4, body=body
    )
    net.rename(net.op("Squeeze", words, net.ints(1)), "written")
    net.rename(net.op("Squeeze", logits, net.ints(1)), "logits")
    given = [
        helper.make_tensor_value_info("words", I64, ["length", 1]),
        helper.make_tensor_value_info("limit", I64, []),
    ]
    results = [
        helper.make_tensor_value_info("written", I64, ["n"]),
        helper.make_tensor_value_info("logits", F32, ["n", WORDS]),
    ]
    return net.model(given, results, opset=16)


def _body(net: Layers, table: str, memory: str) -> onnx.GraphProto:
    """One step: attention to the encoded words, a GRU cell of separate gates, the next word.

    The body captures the table and the memory.
    """
    step = Layers(outer=net)
    word = step.op("Gather", table, "word", axis=0)
    scores = step.op("Softmax", step.op("MatMul", "state", step.op("Transpose", memory)), axis=-1)
    seen = step.op("MatMul", scores, memory)
    given = step.op("Concat", word, seen, axis=1)
    reset = step.op("Sigmoid", _mixed(step, given, "state"))
    update = step.op("Sigmoid", _mixed(step, given, "state"))
    fresh = step.op("Tanh", _mixed(step, given, step.op("Mul", reset, "state")))
    kept = step.op("Mul", update, "state")
    taken = step.op("Mul", step.op("Sub", step.constant(1), update), fresh)
    step.rename(step.op("Add", kept, taken), "state_out")
    step.rename(step.linear("state_out", WIDTH, WORDS), "logits_out")
    step.rename(step.op("ArgMax", "logits_out", axis=1, keepdims=0), "word_out")
    step.rename("word_out", "written_out")
    going = step.op("Not", step.op("Equal", "word_out", step.constant([END], np.int64)))
    step.rename(step.op("Squeeze", going), "going")
    info = helper.make_tensor_value_info
    boolean = TensorProto.BOOL
    inside = [info("at", I64, []), info("on", boolean, []), info("word", I64, [1])]
    outside = [info("going", boolean, []), info("word_out", I64, [1])]
    return step.graph(
        "step",
        [*inside, info("state", F32, [1, WIDTH])],
        [
            *outside,
            info("state_out", F32, [1, WIDTH]),
            info("written_out", I64, [1]),
            info("logits_out", F32, [1, WORDS]),
        ],
    )


def _mixed(step: Layers, x: str, state: str) -> str:
    return str(step.op("Add", step.linear(x, 2 * WIDTH, WIDTH), step.linear(state, WIDTH, WIDTH)))


def inputs() -> list[list[Any]]:
    """Sentences that end at the limit, at the end token, and immediately."""
    random = np.random.default_rng(10)
    lengths = (3, 9, 5, 4)
    limits = (2, 50, 1, 0)
    return [
        [random.integers(3, WORDS, (length, 1)), np.array(limit)]
        for length, limit in zip(lengths, limits, strict=True)
    ]
