"""Writes scaled integer weights as DequantizeLinear, so that integer kernels can be used.

Weights of products without an integer kernel keep their arithmetic: ONNX Runtime computes it only
once, when it loads the model.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from irloop import budget
from irloop.analysis.operands import inputs_of, known, only_reader, single_number
from irloop.conversion.quantised.biases import bias_of, steps_of
from irloop.conversion.quantised.reading import BYTES, Scale, scale_of, scale_value
from irloop.dialects.onnx.activation import Clip11, Relu
from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.onnx.convolution import Conv
from irloop.dialects.onnx.elementwise import Mul, Sub
from irloop.dialects.onnx.matmul import Gemm, MatMul
from irloop.dialects.onnx.quantize import DequantizeLinear13, QuantizeLinear13
from irloop.dialects.onnx.shape import Reshape, Reshape14, Squeeze13, Transpose, Unsqueeze13
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["QuantisedWeights", "TransposedWeights", "has_integer_kernel", "weights_of"]

#: Operations that move elements, through which ONNX Runtime still finds a DequantizeLinear.
_MOVES = (Reshape, Reshape14, Squeeze13, Transpose, Unsqueeze13)
#: Maximum number of operations between an operand of a product and its dequantisation.
_DEPTH = 4

Array = np.ndarray[Any, np.dtype[Any]]

#: Constant integers, their zero points and their scales, as `_weights` returns them.
Found = tuple[Value, Array, Scale]


class QuantisedWeights(NodePass):
    """Replaces the arithmetic that scales constant integer weights by DequantizeLinear.

    Given::

        d = DequantizeLinear(q, s, z)    y = MatMul(d, Cast(Const i8 w) * t)

    Result::

        d = DequantizeLinear(q, s, z)    y = MatMul(d, DequantizeLinear(w, t, Const i8 0))

    This is done if ONNX Runtime has integer kernels for all products that use the weights. Other
    weights keep their arithmetic: ONNX Runtime computes it once, when it loads the model, but would
    run DequantizeLinear in each inference.
    """

    name = "quantised_weights"
    dialects = frozenset({"onnx"})
    operations = (Mul,)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        stored = _weights(node.output)
        if stored is None or not _is_multiplied(node.output, stored, _DEPTH):
            return None
        weights, zeros, scale = stored
        axis = 1 if scale.axis is None else scale.axis
        zero = w.constant(zeros, element_of(weights))
        return w(DequantizeLinear13(axis=axis), weights, scale_value(w, scale), zero)


class TransposedWeights(NodePass):
    """Stores quantised weights transposed, if a MatMul multiplies their transposed matrix.

    Given::

        y = MatMul(d, Transpose(Cast(Const i8 w [N, K]) * t [N, 1]))

    Result::

        y = MatMul(d, DequantizeLinear(Const i8 w [K, N], t [N], Const i8 0, axis 1))

    ONNX Runtime has an integer kernel for the latter only. A MatMul of matrices is a Gemm, which
    transposes itself.
    """

    name = "transposed_weights"
    dialects = frozenset({"onnx"})
    operations = (Transpose,)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        stored = _transposed(node)
        if stored is None or not all(
            position == 1
            and isinstance(user.op, MatMul)
            and has_integer_kernel(user, stored, _step_of(user))
            for user, position in node.output.uses
        ):
            return None
        weights, zeros, scale = stored
        op = weights.producer.op
        assert isinstance(op, Constant)
        budget.reserve(op.tensor.nbytes, "transposing weights")
        codes = np.ascontiguousarray(op.tensor.numpy().T)
        turned = w.tensor(ArrayTensor(codes, op.tensor.element), weights.producer.name)
        zero = w.constant(zeros, element_of(weights))
        return w(DequantizeLinear13(axis=1), turned, scale_value(w, scale), zero)


def weights_of(value: Value) -> Found | None:
    """Return the integers, zero points and scales from which the weights `value` are computed."""
    if isinstance(value.producer.op, Transpose):
        return _transposed(value.producer)
    return _weights(value) if isinstance(value.producer.op, Mul) else None


def _transposed(node: Node) -> Found | None:
    """Return the integers of weights whose matrix is transposed, with the scales of the result."""
    op, source = node.op, node.inputs[0]
    if source is None or not isinstance(op, Transpose) or op.perm not in ((1, 0), None):
        return None
    stored = _weights(source) if isinstance(source.producer.op, Mul) else None
    if stored is None or shape_of(source).rank != 2 or stored[2].axis == 1:
        return None
    weights, zeros, scale = stored
    return weights, zeros, Scale(scale.numbers, None if scale.axis is None else 1)


def _weights(value: Value) -> Found | None:
    """Find the constant integers, zero points and scales of a product that dequantises weights.

    Returns None if `value` is not computed in this way.
    """
    left, right = value.producer.inputs
    if left is None or right is None:
        return None
    for first, second in ((left, right), (right, left)):
        parts = inputs_of(first, Sub)
        cast = inputs_of(first if parts is None else parts[0], Cast6)
        if cast is None or element_of(cast[0]) not in BYTES or shape_of(first).rank is None:
            continue
        scale = scale_of(second, first)
        if not isinstance(cast[0].producer.op, Constant) or scale is None:
            continue
        zeros = _zeros(None if parts is None else parts[1], cast[0], scale)
        if zeros is not None:
            return cast[0], zeros, scale
    return None


def _zeros(value: Value | None, weights: Value, scale: Scale) -> Array | None:
    """Return constant zero points in the shape of the scales.

    If `value` is None, the zero points are 0. The result is None if `value` is not constant, does
    not have one element for each scale, or has an element that the weights' type cannot hold.
    """
    shape = scale.numbers.shape
    if value is None:
        return np.zeros(shape)
    array = known(value)
    if array is None or array.ndim > (shape_of(weights).rank or 0):
        return None
    low, high = BYTES[element_of(weights)]
    if (array % 1).any() or array.min(initial=0) < low or array.max(initial=0) > high:
        return None
    if array.size == 1:
        return np.full(shape, array.reshape(()))
    rank = shape_of(weights).rank or 0
    aligned = (1,) * (rank - array.ndim) + array.shape
    wanted = [1] * rank
    wanted[scale.axis or 0] = scale.numbers.size
    return array.reshape(shape) if aligned == tuple(wanted) else None


def _is_multiplied(value: Value, weights: Found, depth: int) -> bool:
    """Return whether all readers of the weights `value` are products on integers.

    ONNX Runtime must have integer kernels for these products. If the weights have only one scale,
    operations that move elements may come between the weights and a product. `depth` is the maximum
    length of a chain of readers from the weights to a product.
    """
    if not depth or not value.uses:
        return False
    for user, position in value.uses:
        if isinstance(user.op, _MOVES) and position == 0 and weights[2].axis is None:
            if not _is_multiplied(user.output, weights, depth - 1):
                return False
        elif position != 1 or not has_integer_kernel(user, weights, _step_of(user)):
            return False
    return True


def has_integer_kernel(node: Node, stored: Found, step: float | None) -> bool:
    """Return whether ONNX Runtime has an integer kernel for a product with quantised weights.

    `node` multiplies data (input 0) by the weights (input 1) whose integers, zero points and scales
    are `stored`. `step` is the scale of the data, or None if they are not quantised with one scale.

    ONNX Runtime ignores which axis the scales of the weights belong to, and applies them to the
    result. So several scales must belong to an axis of the result; for other scales, the result is
    False, because ONNX Runtime would fail or compute wrong values.
    """
    _, zeros, scale = stored
    weights = node.inputs[1]
    rank = None if weights is None else shape_of(weights).rank
    if rank is None or step is None:
        return False
    if isinstance(node.op, Conv):
        # The integer kernel of Conv has one zero point for all channels.
        is_even = bool((zeros == zeros.reshape(-1)[0]).all())
        return scale.axis in (None, 0) and is_even and _is_quantised(node, step, scale)
    if isinstance(node.op, Gemm):
        return scale.axis in (None, 0 if node.op.trans_b else 1)
    return isinstance(node.op, MatMul) and rank == 2 and scale.axis in (None, 1)


def _step_of(product: Node) -> float | None:
    return data_scale(product.inputs[0], _DEPTH)


def data_scale(value: Value | None, depth: int) -> float | None:
    """Return the scale of the DequantizeLinear from which `value` is computed.

    The search goes back from `value` through operations that only move elements, such as Transpose,
    and visits at most `depth` nodes. Returns None if it finds no DequantizeLinear, or one with
    several scales.
    """
    if value is None or not depth:
        return None
    node = value.producer
    if isinstance(node.op, _MOVES):
        return data_scale(node.inputs[0], depth - 1)
    return single_number(node.inputs[1]) if isinstance(node.op, DequantizeLinear13) else None


def _is_quantised(node: Node, step: float, scale: Scale) -> bool:
    """Return whether the result of a convolution is read by QuantizeLinear only.

    A bias and a Relu or Clip may come between the two. The bias must not be too large for multiples
    of `step` * `scale`, where `step` is the scale of the data and `scale` that of the weights.
    QuantizeLinear must limit its data to the same range as the Relu or Clip, or to a part of it.
    """
    value = node.output
    reader = only_reader(value)
    bias = None if reader is None else bias_of(reader)
    if reader is not None and bias is not None:
        if steps_of(bias[1], step, scale.numbers)[1] is None:
            return False
        value = reader.output
        reader = only_reader(value)
    # ONNX Runtime drops a Relu or Clip if QuantizeLinear limits its data to the same range.
    limits = None if reader is None else _limits_of(reader)
    if reader is not None and limits is not None:
        value = reader.output
    return bool(value.uses) and all(
        isinstance(user.op, QuantizeLinear13)
        and position == 0
        and (limits is None or _is_within(user, limits))
        for user, position in value.uses
    )


def _limits_of(node: Node) -> tuple[float, float] | None:
    """The limits of a Relu, or of a Clip with constant limits; None for any other node."""
    if isinstance(node.op, Relu):
        return 0.0, math.inf
    if not isinstance(node.op, Clip11):
        return None
    low, high = (single_number(value) for value in (*node.inputs, None, None)[1:3])
    return None if low is None or high is None else (low, high)


def _is_within(node: Node, limits: tuple[float, float]) -> bool:
    """Return whether a QuantizeLinear with one scale has no code for numbers beyond `limits`."""
    scale, zero = (single_number(value) for value in node.inputs[1:3])
    if scale is None or zero is None or node.inputs[2] is None:
        return False
    low, high = BYTES.get(element_of(node.inputs[2]), (-math.inf, math.inf))
    least, most = (low - zero) * scale, (high - zero) * scale
    # Half of a step is rounded to the limit.
    return least > limits[0] - scale / 2 and most < limits[1] + scale / 2
