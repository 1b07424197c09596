"""OVN116: divide of negative integers."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Divide
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType
from irloop.graph.walk import is_constant

__all__ = ["DivisionOfNegativeIntegers"]


class DivisionOfNegativeIntegers(
    Fault,
    code="OVN116",
    engine="openvino",
    title="Divide of negative integers",
    effect=Effect.WRONG,
    fix="To round down, write (a - FloorMod(a, b)) / b.",
):
    """Divide of negative integers.

    What happens:
        By the specification, the quotient is rounded down if m_pythondiv is true. The CPU plugin
        always truncates it toward zero: -7 / 2 is -3. OpenVINO 2021.4.2 does the same. Both round
        down only if the operands are constants or known shapes, because the core folds such a
        quotient when it reads the model.
    Where:
        A Divide of signed integers with m_pythondiv whose operands are not all constant.
    What irloop does:
        irloop runs, folds and converts the model as the engines compute it: the ONNX Div that it
        writes truncates. FloorMod rounds down in all engines, so (a - FloorMod(a, b)) / b is the
        quotient rounded down.
    """

    concerns_conversion = False
    operations = (Divide,)

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, Divide) or not node.op.m_pythondiv:
            return
        if all(value is None or is_constant(value) for value in node.inputs):
            return
        first = node.inputs[0]
        if first is not None and str(element_of(first)) in ("i8", "i16", "i32", "i64"):
            yield f"Divide {node.name!r} of {element_of(first)} rounds towards zero"


@DivisionOfNegativeIntegers.case(
    "divide_of_negative_integers",
    "IR: rare forms",
    "OpenVINO Divide-1",
    "m_pythondiv: the quotient of integers is rounded down.",
    run([[-7, 7], [2, 2]], [[-4, 3]]),
    on_demand=True,
)
def smallest() -> Model:
    m = IrModel()
    x, y = m.input("x", 2, element=ElementType.I64), m.input("y", 2, element=ElementType.I64)
    return m.done(m(Divide(), x, y))
