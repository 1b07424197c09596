"""Inputs, outputs and attributes of ONNX operations, from the schemas of the onnx package."""

from __future__ import annotations

from functools import cache
from inspect import cleandoc
from typing import Any

import onnx.defs

from irloop.dialects.attributes import Attribute, Operand

__all__ = ["attributes", "changes", "documentation", "operands"]


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


def attributes(type_name: str, opset: int, domain: str) -> tuple[Attribute, ...]:
    """The attributes of an operation, by name; none if onnx has no schema for it."""
    try:
        schema = onnx.defs.get_schema(type_name, opset, domain)
    except onnx.defs.SchemaError:
        return ()
    return tuple(
        Attribute(name, str(item.type).rpartition(".")[2].lower(), item.required)
        for name, item in sorted(schema.attributes.items())
    )


def documentation(type_name: str, opset: int, domain: str) -> tuple[str, dict[str, str]] | None:
    """What the standard says of an operation, and of its inputs, outputs and attributes by name."""
    try:
        schema = onnx.defs.get_schema(type_name, opset, domain)
    except onnx.defs.SchemaError:
        return None
    parts: list[Any] = [*schema.inputs, *schema.outputs, *schema.attributes.values()]
    return cleandoc(schema.doc or ""), {item.name: cleandoc(item.description) for item in parts}


def changes(
    type_name: str, since: int, until: int | None, domain: str
) -> tuple[tuple[int, str, str], ...]:
    """The types that later versions of an operation added, up to opset `until`.

    Each change has the opset, the type variable or the operand, and the new types.
    """
    changed: list[tuple[int, str, str]] = []
    known: dict[str, set[str]] = {}
    for schema in _history().get((type_name, domain), ()):
        version = schema.since_version
        for item in schema.type_constraints:
            name, types = item.type_param_str, set(item.allowed_type_strs)
            new = types - known.get(name, set())
            if new and since < version <= (until or version):
                changed.append((version, name, " | ".join(map(_plain, sorted(new)))))
            known[name] = types
    return tuple(changed)


@cache
def _history() -> dict[tuple[str, str], list[onnx.defs.OpSchema]]:
    """All versions of each operation, in their order."""
    schemas = onnx.defs.get_all_schemas_with_history()
    history: dict[tuple[str, str], list[onnx.defs.OpSchema]] = {}
    for item in sorted(schemas, key=lambda item: item.since_version):
        history.setdefault((item.name, item.domain), []).append(item)
    return history


def _plain(type: str) -> str:
    return type.removeprefix("tensor(").removesuffix(")") if type.startswith("tensor(") else type


def _operand(parameter: onnx.defs.OpSchema.FormalParameter, variables: set[str]) -> Operand:
    option = onnx.defs.OpSchema.FormalParameterOption
    types = [_plain(name) for name in sorted(parameter.types)]
    # Inputs and outputs of one type variable have the same type.
    variable = f"{parameter.type_str}: " if parameter.type_str in variables else ""
    return Operand(
        parameter.name,
        variable + " | ".join(types),
        optional=parameter.option == option.Optional,
        variadic=parameter.option == option.Variadic,
    )
