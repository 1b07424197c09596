"""Writes products with 4-bit weights as MatMulNBits, an operation of ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop.dialects.contrib.quantized_matmul import MatMulNBits
from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.onnx.elementwise import Mul, Sub
from irloop.dialects.onnx.matmul import MatMul
from irloop.dialects.onnx.quantize import DequantizeLinear13
from irloop.dialects.onnx.shape import Reshape, Reshape14, Transpose
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["BlockedProducts"]

Array = np.ndarray[Any, np.dtype[Any]]

#: The block sizes of ONNX Runtime, the largest first, because it needs the fewest scales.
BLOCKS = (128, 64, 32, 16)

#: For each type, the number that is added to its codes to make them unsigned. The 8-bit types are
#: included, because 4-bit codes are stored in 8 bits before opset 21.
_SHIFTS = {ElementType.U4: 0, ElementType.I4: 8, ElementType.U8: 0, ElementType.I8: 8}
_FLOATS = frozenset({ElementType.F32, ElementType.F16, ElementType.BF16})

#: Maximum number of operations between a constant and the product that reads it.
_DEPTH = 8


@dataclass
class _Weights:
    """Quantized weights; the real weights are (codes - zeros) * scales.

    `codes` are the quantized integers, unsigned with 4 bits. The three arrays have the same shape.
    """

    codes: Array
    zeros: Array
    scales: Array

    def moved(self, shape: Sequence[int] | None, perm: Sequence[int] | None = None) -> _Weights:
        """Return the weights reshaped to `shape` or, if `shape` is None, transposed by `perm`."""

        def move(array: Array) -> Array:
            return array.transpose(perm) if shape is None else array.reshape(shape)

        return _Weights(move(self.codes), move(self.zeros), move(self.scales))


class BlockedProducts(NodePass):
    """Replaces products with constant 4-bit weights by MatMulNBits of ONNX Runtime.

    Given::

        w = (Cast(Const u4 [N, K]) - zeros) * scales    y = MatMul(x, Transpose(w))

    Result::

        y = com.microsoft.MatMulNBits(x, packed codes, scales, packed zeros)

    The weights may also be a DequantizeLinear. Scales and zero points have to be equal within
    blocks of 16 weights or more along K. ONNX Runtime then reads the 4-bit weights in each product,
    instead of storing them as f32 when it loads the model.
    """

    name = "blocked_products"
    dialects = frozenset({"onnx"})

    operations = (MatMul,)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        x, weights = node.inputs
        if x is None or weights is None or element_of(x) is not ElementType.F32:
            return None
        if shape_of(weights).rank != 2 or (shape_of(x).rank or 0) < 2:
            return None
        stored = _weights(weights, _DEPTH)
        if stored is None:
            return None
        # MatMulNBits stores the columns of the second operand as rows.
        stored = stored.moved(None, (1, 0))
        rows, columns = stored.codes.shape
        size = next((size for size in BLOCKS if _is_blocked(stored, size)), 0)
        if not size or not rows:
            return None
        codes, zeros = _packed(stored, size)
        inputs = [
            w.constant(codes, ElementType.U8),
            w.constant(stored.scales[:, ::size].reshape(-1), ElementType.F32),
            w.constant(zeros, ElementType.U8),
        ]
        return w(MatMulNBits(columns=columns, rows=rows, block_size=size), x, *inputs)


def _weights(value: Value, depth: int) -> _Weights | None:
    """Return the constant 4-bit weights from which `value` is computed, or None.

    `value` is an operand of a product. The weights are searched backwards through at most `depth`
    operations: casts, reshapes and transposes, then the Mul or DequantizeLinear that scales the
    weights.
    """
    node, op = value.producer, value.producer.op
    source = node.inputs[0] if node.inputs else None
    if source is None or not depth:
        return None
    if isinstance(op, Cast6 | Reshape | Reshape14 | Transpose):
        weights = _weights(source, depth - 1)
        dims = shape_of(value).static()
        if weights is None or (isinstance(op, Cast6) and op.to not in _FLOATS):
            return None
        if isinstance(op, Transpose):
            return weights.moved(None, op.perm or tuple(reversed(range(weights.codes.ndim))))
        return weights if isinstance(op, Cast6) else None if dims is None else weights.moved(dims)
    if isinstance(op, Mul):
        return _scaled(node)
    if isinstance(op, DequantizeLinear13):
        return _dequantized(node, op)
    return None


def _scaled(node: Node) -> _Weights | None:
    """Read the weights if `node` computes (Cast(integers) - Cast(zeros)) * scales, else None.

    The operands of the Mul may be in either order, and the Sub may be missing.
    """
    for data, factor in (node.inputs, node.inputs[::-1]):
        scales = None if factor is None else _number(factor)
        if data is None or scales is None:
            continue
        zeros: Array | None = np.zeros((), np.float32)
        before: Value | None = data
        if isinstance(data.producer.op, Sub):
            before, offset = data.producer.inputs
            zeros = None if offset is None else _number(offset)
        codes = None if before is None else _codes(before)
        if codes is None or zeros is None:
            continue
        return _united(codes, zeros, scales)
    return None


def _dequantized(node: Node, op: DequantizeLinear13) -> _Weights | None:
    data, factor, offset = (*node.inputs, None)[:3]
    codes = None if data is None else _stored(data)
    scales = None if factor is None else _number(factor)
    zeros = np.zeros((), np.float32) if offset is None else _number(offset)
    if codes is None or scales is None or zeros is None or op.output_dtype not in _KEPT:
        return None
    axis = op.axis % max(codes[0].ndim, 1)

    def spread(array: Array) -> Array:
        if array.size == 1:
            return array.reshape(())
        if op.block_size:
            wide = array.repeat(op.block_size, axis)
            return wide.take(np.arange(codes[0].shape[axis]), axis)
        return array.reshape([-1 if at == axis else 1 for at in range(codes[0].ndim)])

    return _united(codes, spread(zeros), spread(scales))


_KEPT = frozenset({ElementType.DYNAMIC, ElementType.F32})


def _united(codes: tuple[Array, int], zeros: Array, scales: Array) -> _Weights | None:
    """Return quantised weights as unsigned 4-bit integers, with zero points and scales.

    `codes` is a pair: the quantised integers, and a number that makes them unsigned, for example 8
    for signed 4-bit integers. The number is added to the integers and to the zero points. Zero
    points and scales are broadcast to the shape of the integers. The result is None if a sum is not
    an integer in 0..15, or if the shapes cannot be broadcast.
    """
    array, shift = codes
    moved = zeros + shift
    if array.size and not -shift <= array.min() <= array.max() <= 15 - shift:
        return None
    if np.broadcast_shapes(array.shape, zeros.shape, scales.shape) != array.shape:
        return None
    if not ((moved >= 0) & (moved <= 15) & (moved == np.floor(moved))).all():
        return None
    full = (np.broadcast_to(item, array.shape) for item in (moved.astype(np.uint8), scales))
    return _Weights((array.astype(np.int16) + shift).astype(np.uint8), *full)


def _codes(value: Value) -> tuple[Array, int] | None:
    """Find the constant 4-bit integers that `value` casts to floats.

    Returns them with the offset that makes them unsigned; None if `value` is not such a Cast.
    """
    op, source = value.producer.op, value.producer.inputs[:1]
    if not isinstance(op, Cast6) or op.to not in _FLOATS or not source or source[0] is None:
        return None
    return _stored(source[0])


def _stored(value: Value) -> tuple[Array, int] | None:
    op = value.producer.op
    if not isinstance(op, Constant) or op.tensor.element not in _SHIFTS:
        return None
    return op.tensor.numpy(), _SHIFTS[op.tensor.element]


def _number(value: Value) -> Array | None:
    """Return the elements of a constant as f32; None if `value` is not a constant.

    Casts between the constant and `value` are skipped.
    """
    while isinstance(value.producer.op, Cast6):
        source = value.producer.inputs[0]
        if source is None:
            return None
        value = source
    op = value.producer.op
    return op.tensor.numpy().astype(np.float32) if isinstance(op, Constant) else None


def _is_blocked(weights: _Weights, size: int) -> bool:
    """Return whether all scales, and all zero points, are equal within each block of `size`
    columns.

    False if `size` is greater than both the number of columns and the smallest block that ONNX
    Runtime supports.
    """
    columns = weights.codes.shape[1]
    if size > max(columns, BLOCKS[-1]):
        return False
    return all(
        bool((array == array[:, ::size].repeat(size, 1)[:, :columns]).all())
        for array in (weights.scales, weights.zeros)
    )


def _packed(weights: _Weights, size: int) -> tuple[Array, Array]:
    """Pack 4-bit weights and their zero points, two numbers to a byte.

    The first of two numbers has the lower four bits of a byte. The weights become bytes [rows,
    blocks, size / 2], where `size` is the number of weights in a block; the zero points become a
    flat array of bytes.
    """
    rows, columns = weights.codes.shape
    blocks = -(-columns // size)
    codes = np.zeros((rows, blocks * size), np.uint8)
    codes[:, :columns] = weights.codes
    zeros = np.zeros((rows, blocks + blocks % 2), np.uint8)
    zeros[:, :blocks] = weights.zeros[:, ::size]
    packed = [array[:, ::2] | (array[:, 1::2] << 4) for array in (codes, zeros)]
    return packed[0].reshape(rows, blocks, size // 2), packed[1].reshape(-1)
