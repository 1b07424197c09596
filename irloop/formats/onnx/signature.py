"""Signatures of operations from ONNX's schemas: inputs, outputs, attributes."""

from __future__ import annotations

from functools import cache

import onnx

from irloop.formats.onnx.types import DATA_TYPES, data_type_name
from irloop.formats.onnx.versions import schema_of
from irloop.graph.record import Record
from irloop.graph.types import OptionalType, SequenceType, ValueType

__all__ = ["NEWEST", "STANDARD", "Signature", "kind_name", "signature_of", "type_text"]

#: The schemas use this number for an unlimited count.
_NO_LIMIT = (1 << 31) - 1


class Signature(Record):
    """One version of an operation: its inputs, outputs, attributes and types.

    `attributes` holds the kind of each attribute, and whether it is required. `mandatory` are the
    positions of required inputs, `named` those of outputs that must have a name. `variadic` is the
    position of the first repeated input (None if no input repeats); repeated inputs may not be
    omitted. `types` holds the types that each input accepts, empty for any; the last entry applies
    to all later inputs. `results` holds the types that each output may have, in the same way.
    """

    label: str
    deprecated: bool
    inputs: tuple[int, int | None]
    outputs: tuple[int, int | None]
    mandatory: frozenset[int]
    variadic: int | None
    attributes: dict[str, tuple[str, bool]]
    types: tuple[frozenset[str], ...]
    named: frozenset[int]
    results: tuple[frozenset[str], ...]


#: The newest opset that the installed onnx supports.
NEWEST = int(onnx.defs.onnx_opset_version())
#: The domains whose operations ONNX itself defines; "" is ai.onnx.
STANDARD = frozenset({"", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training"})


@cache
def signature_of(type: str, opset: int, domain: str) -> Signature | None:
    """The signature of an operation in an opset; None if the standard does not define it."""
    schema = schema_of(type, opset, domain)
    if schema is None:
        return None
    inputs = list(schema.inputs)
    single = onnx.defs.OpSchema.FormalParameterOption.Single
    variadic = onnx.defs.OpSchema.FormalParameterOption.Variadic
    types = {item.type_param_str: item.allowed_type_strs for item in schema.type_constraints}
    return Signature(
        f"{schema.name}-{schema.since_version}",
        bool(schema.deprecated),
        (schema.min_input, _limit(schema.max_input)),
        (schema.min_output, _limit(schema.max_output)),
        frozenset(at for at, item in enumerate(inputs) if item.option == single),
        next((at for at, item in enumerate(inputs) if item.option == variadic), None),
        {
            name: (str(item.type).rpartition(".")[2], bool(item.required))
            for name, item in schema.attributes.items()
        },
        tuple(frozenset(types.get(item.type_str, [item.type_str])) for item in inputs),
        frozenset(at for at, item in enumerate(schema.outputs) if item.option == single),
        tuple(frozenset(types.get(item.type_str, [item.type_str])) for item in schema.outputs),
    )


def _limit(number: int) -> int | None:
    return None if number >= _NO_LIMIT else number


@cache
def kind_name(number: int) -> str:
    """The name of the attribute kind `number` in the schemas; empty if there is no such kind."""
    names = {value: name for name, value in onnx.AttributeProto.AttributeType.items() if value}
    return str(names.get(number, ""))


@cache
def type_text(type: ValueType) -> str:
    """A type in the schemas' notation, as in ``seq(tensor(float))``; empty if it is unknown."""
    if isinstance(type, SequenceType | OptionalType):
        item = type_text(type.item)
        kind = "seq" if isinstance(type, SequenceType) else "optional"
        return f"{kind}({item})" if item else ""
    code = DATA_TYPES.get(type.element)
    return f"tensor({data_type_name(code).lower()})" if code else ""
