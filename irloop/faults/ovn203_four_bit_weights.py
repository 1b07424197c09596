"""OVN203: weights of 4 bits."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Multiply
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant
from irloop.graph.types import ElementType

__all__ = ["FourBitWeights"]


class FourBitWeights(
    Fault,
    code="OVN203",
    engine="openvino",
    title="Weights of 4 bits",
    effect=Effect.WRONG,
    passes=("unpack_constants",),
    fix="irloop convert --target openvino-2021.4",
):
    """Weights of 4 bits.

    What happens:
        OpenVINO 2021.4 swaps the two elements that are stored in a byte.
    Where:
        A constant of type u4 or i4.
    What irloop does:
        With --target openvino-2021.4, conversion stores the elements in 8 bits.
    """

    operations = (Constant,)

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, Constant) and str(node.op.tensor.element) in ("u4", "i4"):
            yield f"constant {node.name!r} of type {node.op.tensor.element}"


@FourBitWeights.case(
    "four_bit_weights",
    "IR: rare forms",
    "OpenVINO Constant-1",
    "The first of two elements of 4 bits is in the low half of the byte.",
    run([[1, 1, 2]], [[1, 2, 30]]),
)
def smallest() -> Model:
    m = IrModel()
    weights = m(Convert(ElementType.F32), m.constant([1, 2, 15], ElementType.U4))
    return m.done(m(Multiply(), m.input("x", 3), weights))
