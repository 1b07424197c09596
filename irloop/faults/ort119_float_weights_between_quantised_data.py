"""ORT119: weights in f32 between quantised data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.patterns import has_one_constant_element
from irloop.dialects.classes import classes_of
from irloop.dialects.onnx.activation import Clip6, Clip11, Relu
from irloop.dialects.onnx.convolution import Conv, ConvTranspose
from irloop.dialects.onnx.elementwise import Max
from irloop.dialects.onnx.matmul import Gemm, MatMul
from irloop.dialects.onnx.quantize import (
    DequantizeLinear10,
    DequantizeLinear13,
    QuantizeLinear10,
    QuantizeLinear13,
)
from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.graph.walk import is_constant

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["FloatWeightsBetweenQuantisedData"]

#: The products whose f32 weights ONNX Runtime quantises.
QUANTISED_PRODUCTS = (Conv, ConvTranspose, Gemm)

#: Operations past which ONNX Runtime moves QuantizeLinear and DequantizeLinear.
_MOVES = classes_of(
    *("Concat", "Expand", "Flatten", "Gather", "Identity", "MaxPool", "Reshape", "Resize"),
    *("Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"),
)
#: Operations that ONNX Runtime fuses with a product.
_JOINED = classes_of(
    *("Add", "BatchNormalization", "Clip", "Div", "LeakyRelu", "Mul", "Relu", "Sub")
)
_SHAPES = classes_of("Shape", "Size")

#: Maximum number of operations between a product and the quantisation of its data or its results.
_DEPTH = 8


class FloatWeightsBetweenQuantisedData(
    Fault,
    code="ORT119",
    engine="onnxruntime",
    title="Weights in f32 between quantised data",
    effect=Effect.WRONG,
    fix="Quantise the weights, too, with a scale for each output channel.",
):
    """Weights in f32 between quantised data.

    What happens:
        The optimiser quantises the weights to 8 bits, with one scale for all of them, although the
        model does not quantise them. Small weights beside large ones become 0; results of
        convolutions differed by up to 5 steps of their quantisation.
    Where:
        A Conv, ConvTranspose or Gemm reads data from a DequantizeLinear with one scale, and its
        weights are a constant in f32. Only a QuantizeLinear reads the result, possibly after
        Relu or Clip.
    What irloop does:
        Conversion to ONNX inserts Max(d, d) between the DequantizeLinear, whose result is d, and
        the product.
    """

    operations = (*QUANTISED_PRODUCTS, MatMul)
    beside = (DequantizeLinear10, DequantizeLinear13)

    def find(self, node: Node) -> Iterator[str]:
        if has_weights_that_become_integers(node):
            yield f"{node.op.type} {node.name!r} has weights in f32 between quantised data"

    def is_repaired(self, node: Node) -> bool:
        """Return whether ONNX Runtime may quantise the weights, perhaps after other rewrites.

        The quantisation may be some operations away, which ONNX Runtime moves or fuses first.
        """
        data, weights = node.inputs[:2]
        if data is None or weights is None or isinstance(weights.producer.op, DequantizeLinear13):
            return False
        if not _is_dequantised(data, _DEPTH):
            return False
        # A body does not show which of its inputs are constant.
        is_known = node.owner is not None or is_constant(weights)
        return is_known and _reaches_quantisation(node, _DEPTH)

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Copy the data of the product.

        Given::

            d = DequantizeLinear(q, s, z)    y = QuantizeLinear(Conv(d, w), t, u)

        Result::

            d = DequantizeLinear(q, s, z)    y = QuantizeLinear(Conv(Max(d, d), w), t, u)
        """
        data = node.inputs[0]
        assert data is not None
        w.rewriter.set_input(node, 0, w(Max(), data, data))


def _is_dequantised(value: Value, depth: int) -> bool:
    node = value.producer
    if isinstance(node.op, DequantizeLinear13):
        return True
    if not depth or not isinstance(node.op, _MOVES):
        return False
    inputs = [item for item in node.inputs if item is not None]
    return any(_is_dequantised(item, depth - 1) for item in inputs)


def _reaches_quantisation(node: Node, depth: int) -> bool:
    """Return whether all that reads the results may become one QuantizeLinear.

    If the shape of the result is known, what reads it is folded.
    """
    users = [user for value in node.outputs for user, _ in value.uses]
    readers = [user for user in users if not isinstance(user.op, _SHAPES)]
    return bool(readers) and all(_is_quantisation(user, depth) for user in readers)


def _is_quantisation(node: Node, depth: int) -> bool:
    if isinstance(node.op, QuantizeLinear13):
        return True
    joins = isinstance(node.op, (*_MOVES, *_JOINED))
    return bool(depth) and joins and _reaches_quantisation(node, depth - 1)


def has_weights_that_become_integers(node: Node) -> bool:
    """Return whether `node` is a product with constant f32 weights between DequantizeLinear and
    QuantizeLinear.

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


@FloatWeightsBetweenQuantisedData.case(
    "float_weights_between_quantised_data",
    "ONNX: products",
    "ONNX Gemm-13",
    "Y = alpha * A' * B' + beta * C: the weights are numbers in f32, which nothing quantises.",
    # 10 * 0.4. In steps of 127 / 255, 0.4 would be 0.498.
    run([[[10, 0]]], [[[4]]]),
)
def smallest() -> str:
    return onnx_text("""
g (float[1, 2] x) => (float[1, 1] y)
<float one = {1.0}, uint8 zero = {0}, float[2, 1] w = {0.4, 127.0}> {
  q = QuantizeLinear (x, one, zero)
  d = DequantizeLinear (q, one, zero)
  h = Gemm (d, w)
  r = QuantizeLinear (h, one, zero)
  y = DequantizeLinear (r, one, zero)
}""")
