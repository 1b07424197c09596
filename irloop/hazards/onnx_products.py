"""Finds products of an ONNX model that ONNX Runtime computes wrongly.

Hazards use these functions to find their patterns, and conversion to avoid them.
"""

from __future__ import annotations

from irloop.dialects.onnx.activation import Clip6, Clip11, Relu
from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.onnx.convolution import Conv, ConvTranspose
from irloop.dialects.onnx.matmul import Gemm, MatMul
from irloop.dialects.onnx.quantize import (
    DequantizeLinear10,
    DequantizeLinear13,
    QuantizeLinear10,
    QuantizeLinear13,
)
from irloop.dialects.onnx.shape import Transpose
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.hazards.patterns import has_one_constant_element

__all__ = [
    "QUANTISED_PRODUCTS",
    "has_weights_that_become_integers",
    "turns_before_a_vector",
]

#: The products whose f32 weights ONNX Runtime quantises.
QUANTISED_PRODUCTS = (Conv, ConvTranspose, Gemm)


def turns_before_a_vector(node: Node) -> bool:
    """True for an ONNX MatMul of a transposed matrix and a vector.

    The first operand may also be a Cast of the Transpose.
    """
    if not isinstance(node.op, MatMul) or len(node.inputs) != 2:
        return False
    left, right = node.inputs
    if left is None or right is None or shape_of(right).rank != 1:
        return False
    producer = left.producer
    while isinstance(producer.op, Cast6) and producer.inputs[0] is not None:
        producer = producer.inputs[0].producer
    if not isinstance(producer.op, Transpose):
        return False
    rank = shape_of(producer.outputs[0]).rank
    if rank is None:
        return False
    perm = list(producer.op.perm or reversed(range(rank)))
    return perm == [*range(rank - 2), rank - 1, rank - 2]


def has_weights_that_become_integers(node: Node) -> bool:
    """True for a product with constant f32 weights between DequantizeLinear and QuantizeLinear.

    ONNX Runtime's optimiser quantises the weights of such a product if four conditions hold: the
    data have a single scale, the weights are a constant of the same graph, the bias is constant or
    missing, and the product has only one reader.
    """
    if not isinstance(node.op, QUANTISED_PRODUCTS) or len(node.inputs) < 2:
        return False
    data, weights, *others = node.inputs
    if data is None or weights is None or not isinstance(weights.producer.op, Constant):
        return False
    if element_of(weights) is not ElementType.F32:
        return False
    if any(bias is not None and not _is_constant_vector(bias) for bias in others):
        return False
    source = data.producer
    if not isinstance(source.op, DequantizeLinear10 | DequantizeLinear13):
        return False
    return has_one_constant_element(source.inputs[1]) and _is_quantised(node)


def _is_constant_vector(value: Value) -> bool:
    return isinstance(value.producer.op, Constant) and shape_of(value).rank == 1


def _is_quantised(node: Node) -> bool:
    """Return whether only a QuantizeLinear reads the result of `node`.

    Relus and Clips may be between the two if each has a single reader.
    """
    while len(node.output.uses) == 1:
        node = node.output.uses[0][0]
        if isinstance(node.op, QuantizeLinear10 | QuantizeLinear13):
            return True
        if not isinstance(node.op, Relu | Clip6 | Clip11):
            return False
    return False
