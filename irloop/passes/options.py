"""Options of passes, which are fields of the pass class and can be given in code or as text.

    @dataclass(eq=False)
    class Unroll(ModelPass):
        trips: int = option(64, "maximum number of iterations")

As text, a pass and its options have the form ``unroll``, ``unroll=8`` (the value of its first
option) or ``unroll:trips=8:nodes=1000``. A colon begins the next option only if the name of an
option follows it; any other colon is a part of the value. An option that takes several values is
given once for each value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import Field, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from irloop.errors import UsageError
from irloop.graph.record import Record

if TYPE_CHECKING:
    from irloop.passes.base import Pass

__all__ = ["Option", "Request", "build", "option", "options_of", "parse_request"]


def option(default: Any, doc: str) -> Any:
    """A field of a pass that users may set; `doc` describes it in a phrase without a full stop."""
    return field(default=default, metadata={"doc": doc})


class Option(NamedTuple):
    """The description of an option for users.

    `type` describes in words which values are allowed, and `default` is the default value in the
    notation of the command line.
    """

    name: str
    type: str
    default: str
    doc: str


class Request(Record):
    """A pass and its options, parsed from a string such as ``unroll:trips=8``.

    `options` holds pairs of option name and value, both as strings. The name "" means the first
    option of the pass, as in ``unroll=8``.
    """

    name: str
    options: tuple[tuple[str, str], ...] = ()


def parse_request(text: str) -> Request:
    """Parse a string that names a pass and its options, such as ``unroll:trips=8``.

    In ``NAME=VALUE`` the value belongs to the first option of the pass; the result names this
    option "". NAME may be ``FILE.py:CLASS``.

    Raises:
        UsageError: when the string cannot be parsed.
    """
    # In FILE.py:CLASS, the file may contain colons and equals signs, but the class may not.
    file, marker, end = text.rpartition(".py:")
    head, *rest = re.split(r":(?=[A-Za-z_-]+=)", end)
    name, equals, value = head.partition("=")
    if not re.fullmatch(r"[A-Za-z][\w.-]*", name):
        raise UsageError(
            f"{text!r} does not name a pass",
            expected="NAME, NAME=VALUE, NAME:OPTION=VALUE:OPTION=VALUE, or FILE.py:CLASS for NAME",
        )
    pairs = [("", value)] if equals else []
    pairs += [(key.replace("-", "_"), value) for key, _, value in (i.partition("=") for i in rest)]
    if marker:
        return Request(f"{file}{marker}{name}", tuple(pairs))
    return Request(name.replace("-", "_"), tuple(pairs))


def options_of(cls: type[Pass]) -> tuple[Option, ...]:
    """The options of a pass, in the order in which its class declares them."""
    types = get_type_hints(cls)
    return tuple(
        Option(item.name, _words(types[item.name]), _written(item.default), item.metadata["doc"])
        for item in _fields(cls)
    )


def build(cls: type[Pass], request: Request) -> Pass:
    """An instance of `cls` with the options that `request` gives.

    Raises:
        UsageError: for an option that the pass does not have, or a value of another type.
    """
    known = [item.name for item in _fields(cls)]
    types = get_type_hints(cls)
    values: dict[str, Any] = {}
    for given, text in request.options:
        name = given or (known[0] if known else "")
        if name not in known:
            raise UsageError(
                f"pass {cls.name} has no option {name!r}" if name else f"{cls.name} has no options",
                expected=", ".join(known) or f"{cls.name} alone",
                found=f"{name}={text}",
            )
        value = _value(cls, name, text, types[name])
        if isinstance(value, tuple):
            values[name] = (*values.get(name, ()), *value)
        elif name in values:
            raise UsageError(f"option {name} of pass {cls.name} is given twice")
        else:
            values[name] = value
    return cls(**values)


def _fields(cls: type[Pass]) -> list[Field[Any]]:
    return [item for item in fields(cls) if "doc" in item.metadata] if is_dataclass(cls) else []


def _words(type: Any) -> str:
    if get_origin(type) is Literal:
        return "|".join(map(str, get_args(type)))
    if get_origin(type) is tuple:
        return f"{_words(get_args(type)[0])}, several times"
    inner = [item for item in get_args(type) if item is not None.__class__]
    if inner:
        return _words(inner[0])
    return {int: "whole number", float: "number", bool: "yes|no", str: "text"}[type]


def _written(default: Any) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    return "" if default is None or default == () else str(default)


def _value(cls: type[Pass], name: str, text: str, type: Any) -> Any:
    try:
        return _parsed(text, type)
    except ValueError:
        raise UsageError(
            f"option {name} of pass {cls.name} cannot be {text!r}",
            expected=_words(type),
            found=text,
        ) from None


def _parsed(text: str, type: Any) -> Any:
    """Parse `text` as a value of `type`; raises ValueError if it is invalid."""
    if get_origin(type) is tuple:
        return (_parsed(text, get_args(type)[0]),)
    if get_origin(type) is Literal:
        return _chosen(text, {str(item): item for item in get_args(type)})
    inner = [item for item in get_args(type) if item is not None.__class__]
    if inner:
        return _parsed(text, inner[0])
    return _chosen(text.lower(), _BOOLEANS) if type is bool else type(text)


_BOOLEANS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def _chosen(text: str, choices: Mapping[str, Any]) -> Any:
    if text not in choices:
        raise ValueError(text)
    return choices[text]
