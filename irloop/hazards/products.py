"""Finds matrix products of an IR that OpenVINO computes wrongly or refuses.

Hazards use these functions to find their patterns, and conversion to avoid them.
"""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino import convolution, matmul, shape
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Multiply, Subtract
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.hazards.patterns import has_one_constant_element, is_computed

__all__ = [
    "scaled_by_a_computed_value",
    "scales_a_vector_product",
]

#: Operations whose weights the plugin reads in their narrow type.
_WEIGHTED = (
    matmul.MatMul,
    convolution.Convolution,
    convolution.GroupConvolution,
    convolution.ConvolutionBackpropData,
    convolution.GroupConvolutionBackpropData,
)
#: Operations that may be between the scaled weights and the operation that reads them.
_MOVES = (shape.Reshape, shape.Transpose, Convert)

#: Maximum number of operations between a scale and the operation that reads the weights.
_DEPTH = 8


def scales_a_vector_product(node: Node) -> bool:
    """Return whether `node` multiplies by a constant vector, and its result is then scaled.

    The node must be a MatMul whose second operand is a constant vector. The result is scaled if a
    Multiply by a one-element constant reads it. Returns False if the first operand is known to have
    rank 1 or 2.
    """
    if not isinstance(node.op, matmul.MatMul) or len(node.inputs) != 2:
        return False
    left, right = node.inputs
    if left is None or right is None or shape_of(right).rank != 1:
        return False
    if shape_of(left).rank in (1, 2) or is_computed(right):
        return False
    readers = [reader for reader, _ in node.output.uses if isinstance(reader.op, Multiply)]
    factors = [value for reader in readers for value in reader.inputs if value is not node.output]
    return any(has_one_constant_element(value) for value in factors)


def scaled_by_a_computed_value(node: Node) -> bool:
    """Return whether `node` converts constant weights that are then scaled by computed values.

    The weights have at most 8 bits. The scale or the zero point is computed, and the scaled weights
    feed a product or a convolution.
    """
    if not isinstance(node.op, Convert) or not _is_narrow(node.inputs[0]):
        return False
    return any(_reaches_weights(item) for item in _scalings(node.output))


def _is_narrow(value: Value | None) -> bool:
    if value is None or not isinstance(value.producer.op, Constant):
        return False
    element = element_of(value)
    return element is not ElementType.BOOLEAN and element.bits <= 8


def _scalings(weights: Value) -> Iterator[Node]:
    """Yield each Multiply of `weights` by a scale where the scale or the zero point is computed.

    A zero point is subtracted from `weights` before the Multiply.
    """
    for reader, position in weights.uses:
        if isinstance(reader.op, Multiply):
            yield from _by_computed(reader, weights)
        elif isinstance(reader.op, Subtract) and position == 0:
            shift, shifted = reader.inputs[1], reader.output
            for later, _ in shifted.uses:
                if shift is not None and is_computed(shift) and isinstance(later.op, Multiply):
                    yield later
                elif isinstance(later.op, Multiply):
                    yield from _by_computed(later, shifted)


def _by_computed(node: Node, weights: Value) -> Iterator[Node]:
    others = [value for value in node.inputs if value is not None and value is not weights]
    if any(is_computed(value) for value in others):
        yield node


def _reaches_weights(node: Node, depth: int = _DEPTH) -> bool:
    """Return whether a product or a convolution reads an output of `node`.

    At most `depth` operations that only move or convert elements may be between the two.
    """
    readers = [reader for value in node.outputs for reader, _ in value.uses]
    if any(isinstance(reader.op, _WEIGHTED) for reader in readers):
        return True
    return depth > 0 and any(
        isinstance(reader.op, _MOVES) and _reaches_weights(reader, depth - 1) for reader in readers
    )
