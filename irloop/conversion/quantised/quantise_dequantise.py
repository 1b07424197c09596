"""Finds arithmetic that quantises or dequantises, and writes QuantizeLinear or DequantizeLinear."""

from __future__ import annotations

from irloop.conversion.quantised.reading import (
    Codes,
    Scale,
    codes_of,
    scale_of,
    scale_value,
    shifted,
)
from irloop.dialects.onnx.elementwise import Mul
from irloop.dialects.onnx.quantize import DequantizeLinear13, QuantizeLinear13
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["QuantisedPairs", "quantised"]


class QuantisedPairs(NodePass):
    """Replaces the arithmetic of a quantisation that is followed by a dequantisation.

    Given::

        c = Clip(Round(x / s), -3, 252)    y = c * t

    Result::

        q = QuantizeLinear(x, s, Const u8 3)    y = DequantizeLinear(q, t, Const u8 3)

    There must be only one scale, because ONNX Runtime ignores the axis of several scales when it
    computes a product on integers. The limits have to be 255 apart and contain 0, so that u8
    saturates at the limits of the Clip. The results are equal, except that a NaN becomes the lower
    limit, as in OpenVINO. ONNX Runtime runs matrix products and convolutions of such pairs on
    integers.
    """

    name = "quantised_pairs"
    dialects = frozenset({"onnx"})
    operations = (Mul,)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        pair = _pair(node.output)
        if pair is None:
            return None
        codes, zero, scale = pair
        wide = quantised(w, codes, -codes.low, ElementType.U8)
        inputs = (scale_value(w, scale), w.constant(zero, ElementType.U8))
        return w(DequantizeLinear13(), wide, *inputs)


def quantised(emitter: NodeWriter, codes: Codes, zero: float, element: ElementType) -> Value:
    """Emit a QuantizeLinear that quantises `codes.x` to integers of type `element`.

    Its scale is `codes.scale`, and its zero point is `zero`.
    """
    inputs = (scale_value(emitter, codes.scale), emitter.constant(zero, element))
    return emitter(QuantizeLinear13(), codes.x, *inputs)


def _pair(value: Value) -> tuple[Codes, float, Scale] | None:
    """Split a product that dequantises 8-bit integers into integers, zero point and scale.

    Returns None unless `value` is such a product, with one scale for all elements.
    """
    left, right = value.producer.inputs
    if left is None or right is None:
        return None
    for first, second in ((left, right), (right, left)):
        inner, added = shifted(first)
        codes = codes_of(inner)
        if codes is None or codes.high - codes.low != 255 or not -255 <= codes.low <= 0:
            continue
        zero = -codes.low - added
        scale = scale_of(second, first)
        if scale is not None and scale.axis is None and codes.low.is_integer() and 0 <= zero <= 255:
            return codes, zero, scale
    return None
