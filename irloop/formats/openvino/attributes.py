"""Converts the attributes of a `data` element to fields of an operation class, and back to text.

Texts are read as OpenVINO 2026.4 reads them: invalid booleans are ignored, and numbers are read up
to the first character that does not belong to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from irloop.formats.openvino import problems
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.numbers import attribute_float, attribute_integer
from irloop.formats.openvino.problems import Problem
from irloop.formats.openvino.texts import (
    ELEMENT_NAMES,
    element_of_name,
    parse_shape,
    shape_text,
)
from irloop.graph.op import Op
from irloop.graph.record import Record
from irloop.graph.types import ElementType, Shape

__all__ = [
    "INTEGER",
    "NO_SUCH_WORD",
    "NUMBER",
    "UNREADABLE",
    "AttributeProblem",
    "Codec",
    "codec_of",
    "parse_bool",
    "parse_choice",
    "parse_items",
    "parse_words",
]


class AttributeProblem(ValueError):  # noqa: N818 (not an error that leaves: the reader places it)
    """Raised when an attribute has an invalid value, or a mandatory attribute is missing.

    `name` is the attribute ("" if not known yet), and `code` the code of the finding. `what` is a
    predicate that follows the name in the message, for example "cannot be read". `expected`
    describes valid values.
    """

    def __init__(self, what: str, *, expected: str, code: str = "IRL115", name: str = "") -> None:
        super().__init__(f"{name} {what}" if name else what)
        self.what = what
        self.expected = expected
        self.code = code
        self.name = name

    def placed(self, layer: Layer) -> Problem:
        """Convert this exception to a `Problem`, located at the attribute in `layer`."""
        problem = None
        if self.code == "IRL103":
            problem = problems.no_attribute(layer, self.name)
        elif self.code == "IRL111":
            problem = problems.unknown_element_type(layer, self.name)
        elif self.code == "IRL112":
            problem = problems.bad_shape(layer, self.name)
        if problem is not None:
            return problem
        return problems.bad_attribute(layer, self.name, self.what, expected=self.expected)


# --- from text

#: The wording of IRL115 problems.
UNREADABLE = "cannot be read"
NO_SUCH_WORD = "has an unknown value"
INTEGER = "an integer of 64 bits"
NUMBER = "a number (inf, -inf, nan in lower case)"

#: White space around the entries of a list; OpenVINO refuses other spaces of Unicode.
_SPACE = " \t\n\r\f\v"
_BOOLS = {"true": True, "1": True, "false": False, "0": False}
#: Marks an invalid text that OpenVINO ignores, so that the default applies.
_IGNORED = object()


def parse_bool(text: str) -> bool | None:
    """Parse "true", "false", "1" or "0", in upper or lower case, as OpenVINO does.

    The result is None for any other string, which OpenVINO ignores.
    """
    return _BOOLS.get(text.lower())


def parse_items(text: str) -> list[str]:
    """The entries of a list, separated by commas; an empty last entry is ignored."""
    if not text.strip(_SPACE):
        return []
    items = [item.strip(_SPACE) for item in text.split(",")]
    return items if items[-1] else items[:-1]


def parse_words(text: str) -> tuple[str, ...]:
    """The words of a list, separated by commas; empty entries are ignored."""
    return tuple(item for item in parse_items(text) if item)


def parse_choice(choices: Iterable[Any], text: str) -> Any:
    """Return the item of `choices` that equals `text`, or None if there is none.

    Letter case and white space around `text` are ignored.
    """
    lower = text.strip().lower()
    return next((choice for choice in choices if str(choice).lower() == lower), None)


def _read_bool(text: str) -> Any:
    value = parse_bool(text)
    return _IGNORED if value is None else value


def _read_int(text: str) -> int:
    value = attribute_integer(text)
    if value is None:
        raise AttributeProblem(UNREADABLE, expected=INTEGER)
    return value


def _read_float(text: str) -> float:
    value = attribute_float(text)
    if value is None:
        raise AttributeProblem(UNREADABLE, expected=NUMBER)
    return value


def _read_str(text: str) -> str:
    return text


def _read_element(text: str) -> ElementType:
    element = element_of_name(text)
    if element is None:
        raise AttributeProblem(
            "is not an element type",
            expected="one of " + ", ".join(sorted(ELEMENT_NAMES)),
            code="IRL111",
        )
    return element


def _read_shape(text: str) -> Shape:
    shape = parse_shape(text)
    if shape is None:
        raise AttributeProblem(
            "is not a shape",
            expected="dimensions such as 1,2 or ?,1..5, or ...",
            code="IRL112",
        )
    return shape


def _read_choice(choices: tuple[Any, ...], text: str) -> Any:
    choice = parse_choice(choices, text)
    if choice is None:
        raise AttributeProblem(NO_SUCH_WORD, expected=", ".join(map(str, choices)))
    return choice


# --- to text


def _write_bool(value: bool) -> str:
    return "true" if value else "false"


def _write_float(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    # repr is the shortest text that reads back as the same double.
    return repr(float(value)).removesuffix(".0")


class _Field(Record):
    """One attribute of an operation: its name in the file, its field, and its two conversions.

    `field` is the name of the field in the operation class. `read` converts the text in the file to
    the value of this field, and `write` converts the value to text.
    """

    name: str
    field: str
    read: Callable[[str], Any]
    write: Callable[[Any], str]
    default: Any
    #: The value that OpenVINO assumes if a required attribute is missing; None if it refuses the
    #: file.
    absent: str | None = None
    #: The entries that are written for an empty list.
    written: tuple[Any, ...] = ()

    def value(self, text: str) -> Any:
        """Convert the string that the file has for this attribute to the value of the field.

        Returns `_IGNORED` for an invalid string that OpenVINO ignores, so that the default applies.

        Raises:
            AttributeProblem: for any other invalid string.
        """
        try:
            return self.read(text)
        except AttributeProblem as problem:
            raise AttributeProblem(
                problem.what, expected=problem.expected, code=problem.code, name=self.name
            ) from None

    @property
    def required(self) -> bool:
        """Return whether the file must contain the attribute."""
        return self.default is MISSING


_SCALARS: dict[Any, tuple[Callable[[str], Any], Callable[[Any], str]]] = {
    bool: (_read_bool, _write_bool),
    int: (_read_int, str),
    float: (_read_float, _write_float),
    str: (_read_str, str),
    ElementType: (_read_element, str),
    Shape: (_read_shape, shape_text),
}


def _text_forms(kind: Any) -> tuple[Callable[[str], Any], Callable[[Any], str]]:
    """The functions that read and write a field of type `kind`.

    Raises:
        TypeError: when irloop has no text form for fields of this type.
    """
    if kind in _SCALARS:
        return _SCALARS[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        given = [argument for argument in arguments if argument is not NoneType]
        if len(given) == 1:
            return _text_forms(given[0])
    if origin is Literal:
        return (lambda text: _read_choice(arguments, text)), str
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        if arguments[0] is str:
            return parse_words, ",".join
        read, write = _text_forms(arguments[0])
        return (
            lambda text: tuple(map(read, parse_items(text))),
            lambda values: ",".join(map(write, values)),
        )
    raise TypeError(f"no text form for an attribute of type {kind}")


class Codec:
    """Reads and writes the attributes of one operation class."""

    def __init__(self, cls: type[Any]) -> None:
        self.cls: type[Op] = cls
        hints = cls.attribute_types()
        self.fields = tuple(
            _Field(
                item.metadata.get("name") or item.name,
                item.name,
                *_text_forms(hints[item.name]),
                default=item.default,
                absent=item.metadata.get("absent"),
                written=item.metadata.get("written", ()),
            )
            for item in fields(cls)
        )
        self.names = frozenset(item.name for item in self.fields)

    def read(self, data: Mapping[str, str]) -> tuple[Op, dict[str, str]]:
        """Read an operation from the attributes of a `data` element, given as strings by name.

        Returns the operation, and the attributes in `data` that its class does not know.

        Raises:
            AttributeProblem: for an invalid text or a missing mandatory attribute.
        """
        values: dict[str, Any] = {}
        for field in self.fields:
            text = data.get(field.name)
            value = _IGNORED if text is None else field.value(text)
            if value is _IGNORED and field.required:
                text = field.absent
                value = _IGNORED if text is None else field.value(text)
            if value is not _IGNORED:
                values[field.field] = value
            elif field.required:
                raise AttributeProblem(
                    "is missing",
                    expected=f"{field.name}=... in the data of {self.cls.type}",
                    code="IRL103",
                    name=field.name,
                )
        unknown = {name: text for name, text in data.items() if name not in self.names}
        return self.cls(**values), unknown

    def write(self, op: Op) -> dict[str, str]:
        """The attributes of `op` as strings; fields that are None are omitted.

        An empty list is written as the entries that `_Field.written` has for its attribute. If
        there are none, and the default is an empty list, too, the attribute is omitted, because
        OpenVINO would read an empty string as a value.
        """
        texts = {}
        for attribute in self.fields:
            value = getattr(op, attribute.field)
            if value == ():
                value = attribute.written
            if value is not None and (value != () or attribute.default != ()):
                texts[attribute.name] = attribute.write(value)
        return texts


_CODECS: dict[type[Op], Codec] = {}


def codec_of(cls: type[Op]) -> Codec:
    """Return the `Codec` of an operation class, which is created only once."""
    codec = _CODECS.get(cls)
    if codec is None:
        codec = _CODECS[cls] = Codec(cls)
    return codec
