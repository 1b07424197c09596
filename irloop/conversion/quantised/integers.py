"""Replaces arithmetic that quantises values to 8-bit integers by QuantizeLinear."""

from __future__ import annotations

from irloop.analysis.operands import inputs_of
from irloop.conversion.quantised.quantise_dequantise import quantised
from irloop.conversion.quantised.reading import BYTES, Codes, codes_of, shifted
from irloop.dialects.onnx.convert import Cast6
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["QuantisedIntegers"]


class QuantisedIntegers(NodePass):
    """Replaces the arithmetic of a quantisation to 8-bit integers by QuantizeLinear.

    Given::

        q = Cast(Clip(Round(x / s), -3, 252) + 3, u8)

    Result::

        q = QuantizeLinear(x, s, Const u8 3)
    """

    name = "quantised_integers"
    dialects = frozenset({"onnx"})
    operations = (Cast6,)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        match = _quantised_integers(node.output)
        if match is None:
            return None
        codes, zero = match
        return quantised(w, codes, zero, element_of(node.output))


def _quantised_integers(value: Value) -> tuple[Codes, float] | None:
    """Return the quantised integers from which `value` is computed, and their zero point.

    Returns None if `value` is not the result of a quantisation to 8 bits with saturation.
    """
    cast, element = inputs_of(value, Cast6), element_of(value)
    if cast is None or element not in BYTES:
        return None
    limits = BYTES[element]
    inner, zero = shifted(cast[0])
    codes = codes_of(inner)
    if codes is None or (codes.low + zero, codes.high + zero) != limits:
        return None
    return (codes, zero) if limits[0] <= zero <= limits[1] else None
