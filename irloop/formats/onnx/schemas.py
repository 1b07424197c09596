"""Inputs and outputs of ONNX operations, from the schemas of the onnx package."""

from __future__ import annotations

import onnx.defs

from irloop.dialects.attributes import Operand

__all__ = ["operands"]


def operands(
    type_name: str, opset: int, domain: str
) -> tuple[tuple[Operand, ...], tuple[Operand, ...]] | None:
    """The inputs and outputs of an operation; None if onnx has no schema for it."""
    try:
        schema = onnx.defs.get_schema(type_name, opset, domain)
    except onnx.defs.SchemaError:
        return None
    variables = {item.type_param_str for item in schema.type_constraints}
    return (
        tuple(_operand(item, variables) for item in schema.inputs),
        tuple(_operand(item, variables) for item in schema.outputs),
    )


def _operand(item: onnx.defs.OpSchema.FormalParameter, variables: set[str]) -> Operand:
    option = onnx.defs.OpSchema.FormalParameterOption
    types = [name.removeprefix("tensor(").removesuffix(")") for name in sorted(item.types)]
    # Inputs and outputs of one type variable have the same type.
    variable = f"{item.type_str}: " if item.type_str in variables else ""
    return Operand(
        item.name,
        variable + " | ".join(types),
        optional=item.option == option.Optional,
        variadic=item.option == option.Variadic,
    )
