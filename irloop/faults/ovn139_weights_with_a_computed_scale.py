"""OVN139: constant weights of 8 bits or fewer with a computed scale."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.patterns import is_computed
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino import convolution, matmul, shape
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import (
    Multiply,
    Subtract,
)
from irloop.dialects.openvino.matmul import MatMul
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["WeightsWithAComputedScale"]

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

#: Narrow types with values that f16 cannot represent.
_WIDER = frozenset({ElementType.NF4, ElementType.F8E8M0})


class WeightsWithAComputedScale(
    Fault,
    code="OVN139",
    engine="openvino",
    title="Constant weights of 8 bits or fewer with a computed scale",
    effect=Effect.WRONG,
    fix="Convert the weights in two steps: to f16 and then to f32.",
):
    """Constant weights of 8 bits or fewer with a computed scale or zero point.

    What happens:
        The plugin keeps weights, scale and zero point of the first inference, or the memory that
        they were in: later inferences multiply by old or undefined values.
    Where:
        After a Convert of a constant of at most 8 bits comes a Multiply by a computed value, or a
        Subtract of a computed value and then a Multiply. A MatMul or a convolution reads the
        result.
    What irloop does:
        Conversion to IR converts the weights in two steps. They keep their narrow type in the file,
        and the plugin does not treat the Multiply as a constant scale.
    """

    operations = (Convert,)

    def find(self, node: Node) -> Iterator[str]:
        if scaled_by_a_computed_value(node):
            yield f"the weights {node.name!r} have a computed scale or zero point"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Convert constant weights of 8 bits or fewer in two steps if their scale is computed.

        Given::

            w = Multiply(Convert(Const u8, f32), scale)    y = MatMul(x, w)

        Result::

            w = Multiply(Convert(Convert(Const u8, f16), f32), scale)    y = MatMul(x, w)

        y would be computed with the scale of an earlier inference.
        """
        weights = node.inputs[0]
        if weights is None or not isinstance(node.op, Convert):
            return
        element = element_of(weights)
        is_wide = element in _WIDER or node.op.destination_type is ElementType.F16
        between = ElementType.F32 if is_wide else ElementType.F16
        if between is node.op.destination_type:
            return
        halfway = w(Convert(between), weights)
        w.rewriter.replace_node(node, [w(node.op, halfway)])


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


@WeightsWithAComputedScale.case(
    "weights_with_a_computed_scale",
    "IR: rare forms",
    "OpenVINO Multiply-1",
    "The operands are multiplied elementwise in each inference.",
    # [1 * 1 + 1 * 2, (1 * 3 + 1 * 4) * 2], then with other scales.
    run([[[1, 1]], [[1], [2]]], [[[3, 14]]]),
    run([[[1, 1]], [[3], [-1]]], [[[9, -7]]]),
    run([[[1, 0]], [[5], [2]]], [[[5, 6]]]),
)
def smallest() -> Model:
    m = IrModel()
    x, scale = m.input("x", 1, 2), m.input("scale", 2, 1)
    weights = m(Convert(ElementType.F32), m.constant([[1, 2], [3, 4]], ElementType.U8))
    return m.done(m(MatMul(transpose_b=True), x, m(Multiply(), weights, scale)))
