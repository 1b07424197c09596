"""OVN125: arithmetic of 8-bit floats."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import (
    Arithmetic,
    Maximum,
    Unary,
)
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node
from irloop.graph.types import EIGHT_BIT_FLOATS, ElementType

__all__ = ["ArithmeticOfEightBitFloats"]


class ArithmeticOfEightBitFloats(
    Fault,
    code="OVN125",
    engine="openvino",
    title="Arithmetic of 8-bit floats",
    effect=Effect.REFUSAL,
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


@ArithmeticOfEightBitFloats.case(
    "eight_bit_maximum",
    "IR: rare forms",
    "OpenVINO Maximum-1",
    "T: any numeric type; an 8-bit float is one.",
    run([[1, -2]], [[1, -2]]),
)
def smallest() -> Model:
    m = IrModel()
    small = m(Convert(ElementType.F8E4M3), m.input("x", 2))
    return m.done(m(Convert(ElementType.F32), m(Maximum(), small, small)))
