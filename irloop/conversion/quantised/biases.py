"""Replaces an Add after a quantised product by a bias that integer kernels accept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irloop.analysis.operands import inputs_of, known, only_reader, single_number
from irloop.dialects.onnx.convolution import Conv
from irloop.dialects.onnx.elementwise import Add
from irloop.dialects.onnx.matmul import Gemm, MatMul
from irloop.dialects.onnx.quantize import DequantizeLinear13
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType
from irloop.passes.folding import folded
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["QuantisedBiases", "bias_of", "steps_of"]

_PRODUCTS = (Conv, Gemm, MatMul)
#: f32 represents all whole numbers up to this one exactly.
_MOST = 2**24


class QuantisedBiases(NodePass):
    """Turns a constant added to a quantised convolution or product of matrices into its bias.

    Given::

        y = Conv(DequantizeLinear(q, s, z), DequantizeLinear(w, t, u)) + Cast(Const i32 b) * (s * t)

    Result::

        y = Conv(DequantizeLinear(q, s, z), DequantizeLinear(w, t, u), DequantizeLinear(b, s * t))

    ONNX Runtime would compute the convolution in f32 if an Add followed it, and makes a Gemm in
    f32 of a MatMul and an Add of matrices. The bias is rounded to i32, as QLinearConv defines it.
    """

    name = "quantised_biases"
    dialects = frozenset({"onnx"})
    operations = (Add,)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        match = bias_of(node)
        scales = None if match is None else _scales(*match)
        if match is None or scales is None:
            return None
        product, bias = match
        x, weights = product.inputs[:2]
        steps, codes = steps_of(bias, *scales)
        if codes is None:
            return None
        inputs = (w.constant(codes, ElementType.I32), w.constant(steps, ElementType.F32))
        stored = w(DequantizeLinear13(axis=0), *inputs)
        # A MatMul has no bias.
        op = Gemm() if isinstance(product.op, MatMul) else product.op
        return w(op, x, weights, stored)


def bias_of(node: Node) -> tuple[Node, Array] | None:
    """Match an Add that adds a bias to a convolution or to a product of matrices.

    Returns the product and the bias, an f32 constant with one element per channel. `node` must be
    the only reader of the product. Returns None for any other node.
    """
    inputs = inputs_of(node.output, Add) if isinstance(node.op, Add) else None
    if inputs is None:
        return None
    left, right = inputs
    if isinstance(right.producer.op, _PRODUCTS):
        left, right = right, left
    product, dims = left.producer, shape_of(left).dims
    if not isinstance(product.op, _PRODUCTS) or len(product.inputs) != 2 or dims is None:
        return None
    is_matrix = isinstance(product.op, Gemm | MatMul)
    if is_matrix and (len(dims) != 2 or getattr(product.op, "alpha", 1.0) != 1.0):
        return None
    tensor = folded(right) if element_of(right) is ElementType.F32 else None
    if tensor is None or only_reader(left) is not node:
        return None
    wanted = (dims[1], *[1] * (len(dims) - 2))
    if tensor.shape not in (wanted, (1, *wanted)):
        return None
    return product, tensor.numpy().reshape(-1)


def steps_of(bias: Array, data: float, weights: Array) -> tuple[Array, Array | None]:
    """Return the quantisation steps of a bias, and the bias as integer multiples of them.

    `data` is the scale of the data, and `weights` holds the scales of the weights, one per channel.
    The step of a channel is the product of both scales, so that rounding the bias changes a result
    by at most half of the smallest product of two codes. The second result is None if the bias is
    too large for this.
    """
    import numpy as np

    steps = np.broadcast_to(np.float32(data) * weights.reshape(-1), bias.shape)
    with np.errstate(all="ignore"):
        codes = np.rint(bias / steps)
    return steps, codes if (np.abs(codes) < _MOST).all() else None


def _scales(product: Node, bias: Array) -> tuple[float, Array] | None:
    """Return the scale of the data of a product, and the scales of its weights.

    None if one of them is not dequantised, if the data have several scales, or if those of the
    weights are not one for each element of the bias, or one.
    """
    x, weights = product.inputs[:2]
    if x is None or weights is None:
        return None
    ops = x.producer.op, weights.producer.op
    if not all(isinstance(op, DequantizeLinear13) and not op.block_size for op in ops):
        return None
    data, each = single_number(x.producer.inputs[1]), known(weights.producer.inputs[1])
    assert isinstance(ops[1], DequantizeLinear13)
    axis = ops[1].axis % (shape_of(weights).rank or 1)
    if data is None or each is None:
        return None
    is_along = each.size == bias.size and axis == _axis_of_results(product)
    return (data, each) if each.size == 1 or is_along else None


def _axis_of_results(product: Node) -> int:
    """The axis of the weights that has one position for each channel or column of the results."""
    op = product.op
    return 0 if isinstance(op, Conv) or (isinstance(op, Gemm) and op.trans_b) else 1
