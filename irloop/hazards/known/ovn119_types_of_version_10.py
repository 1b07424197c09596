"""OVN119: element types of inputs and outputs in an IR of version 10."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["TypesOfVersion10"]


class TypesOfVersion10(
    Hazard,
    code="OVN119",
    engine="openvino",
    versions=("2026.4.1",),
    title="Element types of inputs and outputs in an IR of version 10",
    effect=Effect.WRONG,
    minimal=False,
    case="types_of_version_10",
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
