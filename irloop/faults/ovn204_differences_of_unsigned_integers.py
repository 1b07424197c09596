"""OVN204: differences and minima of unsigned integers."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Minimum, Subtract
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType

__all__ = ["DifferencesOfUnsignedIntegers"]


class DifferencesOfUnsignedIntegers(
    Fault,
    code="OVN204",
    engine="openvino",
    title="Differences and minima of unsigned integers",
    effect=Effect.WRONG,
    passes=("widen_narrow_integers",),
    fix="irloop convert --target openvino-2021.4",
):
    """Differences and minima of unsigned integers.

    What happens:
        OpenVINO 2021.4 computes them by multiplying by -1, which unsigned types cannot represent.
    Where:
        A Subtract or Minimum of u8, u16, u32 or u64.
    What irloop does:
        With --target openvino-2021.4, conversion computes in a wider type.
    """

    operations = (Subtract, Minimum)

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, Subtract | Minimum) or node.inputs[0] is None:
            return
        element = element_of(node.inputs[0])
        if str(element) in ("u8", "u16", "u32", "u64"):
            yield f"{node.op.type} {node.name!r} of {element}"


@DifferencesOfUnsignedIntegers.case(
    "unsigned_differences",
    "IR: rare forms",
    "OpenVINO Minimum-1",
    "Elements are compared as the numbers of their type.",
    run([[250, 3, 7], [4, 2, 7]], [[246, 1, 0], [4, 2, 7]]),
)
def smallest() -> Model:
    m = IrModel()
    x, y = m.input("x", 3, element=ElementType.U8), m.input("y", 3, element=ElementType.U8)
    return m.done(m(Subtract(), x, y), m(Minimum(), x, y))
