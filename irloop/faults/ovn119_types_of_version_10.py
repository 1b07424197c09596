"""OVN119: element types of inputs and outputs in an IR of version 10."""

from __future__ import annotations

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model
from irloop.graph.types import ElementType

__all__ = ["TypesOfVersion10"]


class TypesOfVersion10(
    Fault,
    code="OVN119",
    engine="openvino",
    title="Element types of inputs and outputs in an IR of version 10",
    effect=Effect.WRONG,
    minimal=False,
    rule="IRL902",
    fix="Write version 11: irloop convert --ir-version 11",
):
    """Element types of inputs and outputs in an IR of version 10.

    What happens:
        The reader changes them: i64 outputs become i32, other integer outputs and f16 inputs become
        f32. Measured in 2026.4.1 for i64, u8, i16 and f16, from the file and from a model in
        memory. In the minimal model, the new types can hold all values, so the results are right.
    Where:
        An IR of version 10 has inputs or outputs of types other than f32 and i32.
    What irloop does:
        Conversion reports it; --ir-version 11 keeps the types.
    """


@TypesOfVersion10.case(
    "types_of_version_10",
    "IR: rare forms",
    "OpenVINO IR version 10",
    "Inputs and outputs have the element types that the file gives them.",
    run([[1, 5]], [[2, 10]]),
    on_demand=True,
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 2, element=ElementType.I64)
    model = m.done(m(Add(), x, x))
    return Model(model.graph, model.dialect, 10)
