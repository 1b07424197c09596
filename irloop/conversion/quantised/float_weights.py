"""Keeps ONNX Runtime from quantising the f32 weights of some matrix products and convolutions.

This concerns products whose data is dequantised and whose result is quantised.
"""

from __future__ import annotations

from irloop.dialects.classes import classes_of
from irloop.dialects.onnx.convolution import Conv, ConvTranspose
from irloop.dialects.onnx.elementwise import Max
from irloop.dialects.onnx.matmul import Gemm, MatMul
from irloop.dialects.onnx.quantize import DequantizeLinear13, QuantizeLinear13
from irloop.graph.model import Node, Value
from irloop.graph.walk import is_constant
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["KeepFloatWeights"]

#: Operations past which ONNX Runtime moves QuantizeLinear and DequantizeLinear.
_MOVES = classes_of(
    *("Concat", "Expand", "Flatten", "Gather", "Identity", "MaxPool", "Reshape", "Resize"),
    *("Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"),
)
#: Operations that ONNX Runtime fuses with a product.
_JOINED = classes_of(
    *("Add", "BatchNormalization", "Clip", "Div", "LeakyRelu", "Mul", "Relu", "Sub")
)

#: Maximum number of operations between a product and the quantisation of its data or its results.
_DEPTH = 8


class KeepFloatWeights(MatcherPass):
    """Keeps ONNX Runtime from quantising the f32 weights of a product by copying its data input.

    Given::

        d = DequantizeLinear(q, s, z)    y = QuantizeLinear(Conv(d, w), t, u)

    Result::

        d = DequantizeLinear(q, s, z)    y = QuantizeLinear(Conv(Max(d, d), w), t, u)

    Hazard ORT119 is the reason: between DequantizeLinear and QuantizeLinear, ONNX Runtime quantises
    constant f32 weights to 8 bits, with one scale for all channels. The copy `Max(d, d)` prevents
    this. The pass also changes products that will be between these two operations only after ONNX
    Runtime has rewritten the graph.
    """

    name = "keep_float_weights"
    dialects = frozenset({"onnx"})

    def pattern(self) -> Pattern:
        products = (Conv, ConvTranspose, Gemm, MatMul)
        return wrap_type(products, where=producer_is(_is_quantised_in_engine))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        data = node.inputs[0]
        assert data is not None
        copy = Emitter(rewriter, node, node.name).emit(Max(), data, data)
        rewriter.set_input(node, 0, copy)
        return False


def _is_quantised_in_engine(node: Node) -> bool:
    data, weights = node.inputs[:2]
    if data is None or weights is None or isinstance(weights.producer.op, DequantizeLinear13):
        return False
    if not _is_dequantised(data, _DEPTH):
        return False
    graph = node.graph
    # A body does not show which of its inputs are constant.
    is_inner = graph is not None and graph.owner is not None
    return (is_inner or is_constant(weights)) and _reaches_quantisation(node, _DEPTH)


def _is_dequantised(value: Value, depth: int) -> bool:
    node = value.producer
    if isinstance(node.op, DequantizeLinear13):
        return True
    if not depth or not isinstance(node.op, _MOVES):
        return False
    inputs = [item for item in node.inputs if item is not None]
    return any(_is_dequantised(item, depth - 1) for item in inputs)


def _reaches_quantisation(node: Node, depth: int) -> bool:
    for value in node.outputs:
        for user, _ in value.uses:
            if isinstance(user.op, QuantizeLinear13):
                return True
            joins = isinstance(user.op, (*_MOVES, *_JOINED))
            if depth and joins and _reaches_quantisation(user, depth - 1):
                return True
    return False
