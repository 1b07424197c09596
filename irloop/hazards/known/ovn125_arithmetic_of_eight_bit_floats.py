"""OVN125: arithmetic of 8-bit floats."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.elementwise import Arithmetic, Unary
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.graph.types import EIGHT_BIT_FLOATS
from irloop.hazards.hazard import Effect, Hazard

__all__ = ["ArithmeticOfEightBitFloats"]


class ArithmeticOfEightBitFloats(
    Hazard,
    code="OVN125",
    engine="openvino",
    versions=("2026.4.1",),
    title="Arithmetic of 8-bit floats",
    effect=Effect.REFUSAL,
    case="eight_bit_maximum",
    fix="Convert the operands to f32, and the result back.",
):
    """Arithmetic of 8-bit floats.

    What happens:
        The model is not compiled (unsupported src_prc: f8e4m3): the plugin only moves and converts
        8-bit floats.
    Where:
        An elementwise operation other than Convert computes with f8e4m3, f8e5m2 or f8e8m0.
    What irloop does:
        Conversion to IR computes with such values in f32. Where it inserts a copy of a state, it
        converts the state to f32 for the copy, too.
    """

    operations = (Arithmetic, Unary)

    def find(self, node: Node) -> Iterator[str]:
        given = node.inputs[0] if isinstance(node.op, Arithmetic | Unary) else None
        if given is not None and element_of(given) in EIGHT_BIT_FLOATS:
            yield f"{node.op.type} {node.name!r} computes with {element_of(given)}"
