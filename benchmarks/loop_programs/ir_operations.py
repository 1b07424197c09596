"""Operations that a block of an IR program may append, with their meaning in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from benchmarks.loop_programs import recurrent
from benchmarks.loop_programs.ir_blocks import Array, Block
from irloop.dialects.openvino.activation import Clamp, ReLU, Sigmoid, SoftMax8
from irloop.dialects.openvino.comparison import (
    Greater,
    Less,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    LogicalXor,
    Select,
)
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import (
    Abs,
    Add,
    Maximum,
    Minimum,
    Multiply,
    Negative,
    Subtract,
    Tanh,
)
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.recurrent import (
    GRUCell,
    GRUSequence,
    LSTMCell,
    LSTMSequence,
    RNNCell,
    RNNSequence,
)
from irloop.dialects.openvino.reduction import ReduceSum
from irloop.dialects.openvino.search import CumSum
from irloop.dialects.openvino.shape import ShapeOf, Squeeze, Unsqueeze
from irloop.dialects.openvino.slicing import Concat, Slice
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["FLAVOURS", "bounded", "pick", "scalar_condition", "total"]

F32, I64, BOOL = ElementType.F32, ElementType.I64, ElementType.BOOLEAN
#: Limits in conditions on floats; programs do not create these numbers deliberately.
LIMITS = (-1.137, 0.219, 1.713)


def pick(block: Block, element: ElementType) -> Value:
    """A visible value of an element type, or a converted f32 value if there is none."""
    random = block.net.random
    found = [value for value, kind in block.visible() if kind is element]
    if found and (element is F32 or random.random() < 0.7):
        return block.enter(random.choice(found[:8]))
    source = random.choice([value for value, kind in block.visible() if kind is F32][:8])
    if element is BOOL:
        limit = block.constant(random.choice(LIMITS))
        return block.add(block.op(Greater(), np.greater, source, limit), BOOL)
    clamped = block.op(Clamp(-7.0, 7.0), lambda x: np.clip(x, -7, 7), source)
    # Halves are added before truncation, far from numbers that programs create.
    moved = block.op(Add(), np.add, clamped, block.constant(0.3713))
    made = block.op(Convert(element), lambda x: x.astype(element.numpy()), moved)
    return block.add(made, element)


def bounded(block: Block, value: Value, element: ElementType) -> Value:
    """Bound a value, so that many iterations cannot exceed the limits."""
    if element is F32:
        return block.add(block.op(Clamp(-4.25, 5.5), lambda x: np.clip(x, -4.25, 5.5), value), F32)
    if element is I64:
        low, high = block.constant(-50, I64), block.constant(60, I64)
        raised = block.op(Maximum(), np.maximum, value, low)
        return block.add(block.op(Minimum(), np.minimum, raised, high), I64)
    return value


def total(block: Block, value: Value, rank: int) -> Value:
    """The sum of all elements, a scalar."""
    axes = block.ints(*range(rank))
    return block.op(ReduceSum(), lambda x, _: x.sum(dtype=x.dtype), value, axes)


def scalar_condition(block: Block) -> Value:
    """A boolean scalar that depends on data."""
    limit = block.constant(block.net.random.choice(LIMITS))
    op, meaning = block.net.random.choice([(Less(), np.less), (Greater(), np.greater)])
    return block.op(op, meaning, total(block, pick(block, F32), 2), limit)


def _binary(block: Block) -> None:
    element = block.net.random.choice([F32, F32, F32, I64])
    choices: list[Any] = [
        (Add(), np.add),
        (Subtract(), np.subtract),
        (Maximum(), np.maximum),
        (Minimum(), np.minimum),
    ]
    op, meaning = block.net.random.choice(choices)
    block.add(block.op(op, meaning, pick(block, element), pick(block, element)), element)


def _softmax(axis: int) -> Callable[[Array], Array]:
    def meaning(x: Array) -> Array:
        powers = np.exp(x - x.max(axis, keepdims=True))
        return np.asarray(powers / powers.sum(axis, keepdims=True))

    return meaning


def _unary(block: Block) -> None:
    choices: list[Any] = [
        (Tanh(), np.tanh),
        (Sigmoid(), recurrent.sigmoid),
        (ReLU(), lambda x: np.maximum(x, 0)),
        (Negative(), np.negative),
        (Abs(), np.abs),
        (SoftMax8(0), _softmax(0)),
        (SoftMax8(1), _softmax(1)),
    ]
    op, meaning = block.net.random.choice(choices)
    block.add(block.op(op, meaning, pick(block, F32)), F32)


def _weight(block: Block, *shape: int) -> Value:
    return block.constant(block.net.numbers.normal(0, 0.4, shape).astype(np.float32))


def _product(block: Block) -> None:
    turned = block.net.random.random() < 0.5
    meaning = (lambda x, w: x @ w.T) if turned else np.matmul
    op = MatMul(transpose_b=turned)
    block.add(block.op(op, meaning, pick(block, F32), _weight(block, 3, 3)), F32)


def _joined(block: Block) -> None:
    """Append the concatenation of two values, split again."""
    both = block.op(Concat(1), lambda *x: np.concatenate(x, 1), pick(block, F32), pick(block, F32))
    start = block.net.random.randint(0, 3)
    cut = [block.ints(at) for at in (start, start + 3, 1, 1)]
    block.add(block.op(Slice(), lambda x, *_: x[:, start : start + 3], both, *cut), F32)


def _chosen(block: Block) -> None:
    element = block.net.random.choice([F32, I64])
    names = [pick(block, kind) for kind in (BOOL, element, element)]
    block.add(block.op(Select(), np.where, *names), element)


def _logic(block: Block) -> None:
    choices: list[Any] = [
        (LogicalAnd(), np.logical_and),
        (LogicalOr(), np.logical_or),
        (LogicalXor(), np.logical_xor),
    ]
    op, meaning = block.net.random.choice(choices)
    made = block.op(op, meaning, pick(block, BOOL), pick(block, BOOL))
    if block.net.random.random() < 0.3:
        made = block.op(LogicalNot(), np.logical_not, made)
    block.add(made, BOOL)


def _counted(block: Block) -> None:
    """Append a value that depends on the iteration number."""
    if block.iteration is None:
        return _binary(block)
    number = block.op(Convert(F32), lambda i: i.astype(np.float32), block.iteration)
    block.add(block.op(Add(), np.add, pick(block, F32), number), F32)
    return None


def _summed(block: Block) -> None:
    axis = block.net.random.randint(0, 1)
    made = block.op(
        CumSum(),
        lambda x, _: np.cumsum(x, axis, dtype=x.dtype),
        pick(block, F32),
        block.constant(axis, I64),
    )
    block.add(made, F32)


def _stored(block: Block) -> None:
    """Append a weight stored in 8-bit floats or fewer bits, converted where it is read."""
    kinds = (
        ElementType.F8E4M3,
        ElementType.F8E5M2,
        ElementType.BF16,
        ElementType.F16,
        ElementType.I4,
        ElementType.U4,
        ElementType.I8,
    )
    element = block.net.random.choice(kinds)
    block.net.features.add(str(element))
    numbers = block.net.numbers
    whole = element in {ElementType.I4, ElementType.U4, ElementType.I8}
    data = numbers.integers(0, 8, (3, 3)) if whole else numbers.normal(0, 0.4, (3, 3))
    if element in {ElementType.I4, ElementType.I8}:
        data = data - 4
    weight = block.constant(data, element)
    wide = block.op(Convert(F32), lambda x: x.astype(np.float32), weight)
    scaled = block.op(Multiply(), np.multiply, wide, block.constant(0.25))
    block.add(block.op(MatMul(), np.matmul, pick(block, F32), scaled), F32)


def _rounded(block: Block) -> None:
    """Append a value converted to an 8-bit float and back."""
    choices: list[tuple[ElementType, Any]] = [
        (ElementType.F8E4M3, ml_dtypes.float8_e4m3fn),
        (ElementType.F8E5M2, ml_dtypes.float8_e5m2),
    ]
    element, dtype = block.net.random.choice(choices)
    block.net.features.add(f"to {element}")
    small = block.op(Clamp(-4.0, 4.0), lambda x: np.clip(x, -4, 4), pick(block, F32))
    # OpenVINO rounds to f16 first.
    low = block.op(Convert(element), lambda x: x.astype(np.float16).astype(dtype), small)
    block.add(block.op(Convert(F32), lambda x: x.astype(np.float32), low), F32)


def _cell(block: Block) -> None:
    random = block.net.random
    kind = random.choice(["LSTM", "GRU", "GRU before", "RNN"])
    block.net.features.add(f"{kind} cell")
    x, h = pick(block, F32), pick(block, F32)
    if kind == "LSTM":
        weights = [_weight(block, 12, 3), _weight(block, 12, 3), _weight(block, 12)]
        c = pick(block, F32)
        lstm = LSTMCell(hidden_size=3)
        for value in block.emit(lstm, recurrent.lstm, x, h, c, *weights, n_outputs=2):
            block.add(value, F32)
        return
    if kind == "RNN":
        weights = [_weight(block, 3, 3), _weight(block, 3, 3), _weight(block, 3)]
        block.add(block.op(RNNCell(hidden_size=3), recurrent.rnn, x, h, *weights), F32)
        return
    before = kind == "GRU before"
    weights = [_weight(block, 9, 3), _weight(block, 9, 3), _weight(block, 12 if before else 9)]
    op = GRUCell(hidden_size=3, linear_before_reset=before)
    block.add(block.op(op, recurrent.gru, x, h, *weights), F32)


def _sequence(block: Block) -> None:
    """Append a recurrent sequence over the rows, with one batch item."""
    random = block.net.random
    kind, gates = random.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    block.net.features.add(f"{kind} sequence")
    direction = random.choice(["forward", "reverse", "bidirectional"])
    n = 2 if direction == "bidirectional" else 1
    x = block.op(Unsqueeze(), lambda v, _: v[None], pick(block, F32), block.constant(0, I64))
    length = block.op(ShapeOf(), lambda v: np.array(v.shape, np.int64), x)
    cut = [block.ints(at) for at in (1, 2, 1, 0)]
    length = block.op(Slice(), lambda v, *_: v[1:2], length, *cut)
    states = [_weight(block, 1, n, 3) for _ in range(2 if kind == "LSTM" else 1)]
    weights = [
        _weight(block, n, gates * 3, 3),
        _weight(block, n, gates * 3, 3),
        _weight(block, n, gates * 3),
    ]
    ops: dict[str, Any] = {
        "LSTM": (LSTMSequence, recurrent.lstm),
        "GRU": (GRUSequence, recurrent.gru),
        "RNN": (RNNSequence, recurrent.rnn),
    }
    cls, cell = ops[kind]
    functions = {"LSTM": ("sigmoid", "tanh", "tanh"), "GRU": ("sigmoid", "tanh")}
    activations = functions.get(kind, ("tanh",))
    op = cls(hidden_size=3, direction=direction, activations=activations)
    meaning = recurrent.sequence(cell, direction)
    made = block.emit(op, meaning, x, *states, length, *weights, n_outputs=len(states) + 1)
    whole = block.op(ReduceSum(), lambda v, _: v.sum(1), made[0], block.ints(1))
    block.add(block.op(Squeeze(), lambda v, _: v[0], whole, block.ints(0)), F32)
    for value in made[1:]:
        row = block.op(ReduceSum(), lambda v, _: v.sum((0, 1)), value, block.ints(0, 1))
        block.add(block.op(Add(), np.add, pick(block, F32), row), F32)


_PLAIN = [_binary, _binary, _binary, _unary, _unary, _product, _joined, _chosen, _logic, _counted]

#: The operations from which a program is generated.
FLAVOURS: dict[str, list[Callable[[Block], None]]] = {
    "plain": [*_PLAIN, _summed],
    "cells": [_cell] * 5,
    "sequences": [_sequence] * 4,
    "stored": [_stored] * 4,
    "8-bit floats": [_rounded] * 4,
    "deep": [],
}
