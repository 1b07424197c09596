"""Attributes, inputs and outputs of an operation class as data.

Validation, `irloop ops` and the documentation pages of operations are built on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from irloop.graph.op import Op
from irloop.graph.tensor import Tensor
from irloop.graph.types import ElementType, Shape

__all__ = ["Attribute", "Operand", "attributes_of", "operands_of"]

_SCALARS = {bool: "bool", int: "int", float: "float", Shape: "shape", Tensor: "tensor"}
_LISTS = {int: "ints", float: "floats", str: "names"}


class Attribute(NamedTuple):
    """One attribute of an operation class.

    `kind` is "bool", "int", "float", "word" (one of `words`), "element" (an element type; one of
    `words` if these are given), "shape", "tensor", "text", or a list: "ints", "floats", "names".
    `required` is true if a file must contain the attribute; otherwise `default` is its value where
    the file omits it (None: the attribute is absent). `least` and `most` are the bounds of a
    number, `entries` those of the length of a list. `absent` is the value that OpenVINO assumes if
    a required attribute is missing, or None if it refuses the file.
    """

    name: str
    kind: str
    required: bool
    default: Any = None
    words: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    entries: tuple[int, int | None] = (0, None)
    absent: str | None = None

    @property
    def description(self) -> str:
        """The kind, the default and the range on one line, for people."""
        default = "required" if self.required else f"default {_text(self.default)}"
        if self.absent is not None:
            default = f"required; without it OpenVINO takes {self.absent or 'ones'}"
        facts = [", ".join(self.words) if self.words else self.kind, default]
        if self.least is not None and self.most is None:
            facts.append(f"{self.least} or more")
        elif self.least is not None:
            facts.append(f"{self.least} to {self.most}")
        least, most = self.entries
        if least:
            facts.append(f"{least} entries" if most == least else f"{least} or more entries")
        return "; ".join(facts)


class Operand(NamedTuple):
    """An input or output of an operation class.

    `types` names the possible element types. An `optional` input may be omitted; a `variadic`
    operand may occur any number of times. Operands with the same `variable` must have the same
    element type; an empty `variable` means that the type does not depend on other operands.
    """

    name: str
    types: str
    optional: bool = False
    variadic: bool = False
    variable: str = ""

    @property
    def label(self) -> str:
        """The name, followed by a note if the operand is optional or variadic."""
        if self.variadic:
            return f"{self.name} (any number)"
        return f"{self.name} (optional)" if self.optional else self.name


def _text(default: Any) -> str:
    if default is None:
        return "none"
    if isinstance(default, tuple):
        return f"[{', '.join(map(_text, default))}]"
    return str(default).lower() if isinstance(default, bool) else str(default)


_KNOWN: dict[type[Op], dict[str, Attribute]] = {}


def attributes_of(cls: type[Op]) -> dict[str, Attribute]:
    """The attributes of an operation class, keyed by their names in files."""
    if cls in _KNOWN:
        return _KNOWN[cls]
    hints = cls.attribute_types()
    items = fields(cls)
    found = (_attribute(item.name, hints[item.name], item.default, item.metadata) for item in items)
    _KNOWN[cls] = {item.name: item for item in found}
    return _KNOWN[cls]


def _attribute(field: str, hint: Any, default: Any, metadata: Any) -> Attribute:
    words = metadata.get("words", ())
    kind = _kind(_without_none(hint), words)
    choices = get_args(_without_none(hint)) if get_origin(_without_none(hint)) is Literal else ()
    return Attribute(
        metadata.get("name") or field,
        kind,
        default is MISSING or metadata.get("needed", False),
        None if default is MISSING else default,
        words or tuple(map(str, choices)),
        metadata.get("least"),
        metadata.get("most"),
        metadata.get("entries", (0, None)),
        metadata.get("absent"),
    )


def _without_none(hint: Any) -> Any:
    """X for ``X | None``; any other type is returned unchanged."""
    given = [item for item in get_args(hint) if item is not NoneType]
    is_union = get_origin(hint) not in (tuple, Literal)
    return given[0] if is_union and len(given) == 1 else hint


def _kind(hint: Any, words: tuple[str, ...]) -> str:
    if get_origin(hint) is tuple:
        return _LISTS.get(get_args(hint)[0], "text")
    if get_origin(hint) is Literal:
        return "word"
    if hint is ElementType:
        return "element"
    if hint is str and words:
        return "word"
    return _SCALARS.get(hint, "text")


def operands_of(cls: type[Op]) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """The inputs and outputs of a class, from its `operands` and `inputs`.

    `operands` is a string such as ``data: any, axis?: i32 | i64 -> any``. A name with ? is
    optional, one with ... is variadic. Operands of one type share a variable, whose types are at
    the end: ``x: T, bias?: T -> T where T: f16 | f32``. Without `operands`, only the number of
    inputs is known.
    """
    if cls.operands:
        text, _, constraints = cls.operands.partition(" where ")
        pairs = (item.split(":") for item in constraints.split(",") if item)
        variables = {name.strip(): types.strip() for name, types in pairs}
        inputs, _, outputs = text.partition("->")
        return _operands(inputs, "input", variables), _operands(outputs, "output", variables)
    least, most = cls.arity
    count = least if most is None else most
    operands = [Operand(f"input {at}", "any", optional=at >= least) for at in range(count)]
    if most is None:
        operands.append(Operand("more inputs", "any", variadic=True))
    if cls.n_outputs is None:
        return tuple(operands), (Operand("outputs", "any", variadic=True),)
    return tuple(operands), tuple(Operand(f"output {at}", "any") for at in range(cls.n_outputs))


def _operands(text: str, what: str, variables: Mapping[str, str]) -> tuple[Operand, ...]:
    operands = []
    items = [item.strip() for item in text.split(",") if item.strip()]
    for at, declaration in enumerate(items):
        name, colon, types = declaration.partition(":")
        name = name if colon else what if len(items) == 1 else f"{what} {at}"
        types = (types if colon else declaration).strip()
        optional, variadic = name.endswith("?"), name.endswith("...")
        variable = types if types in variables else ""
        types = variables.get(types, types)
        operands.append(Operand(name.rstrip("?."), types, optional, variadic, variable))
    return tuple(operands)
