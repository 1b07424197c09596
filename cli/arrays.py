"""Matches arrays from files with the inputs of a model, and describes values on one line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from irloop.errors import UsageError

if TYPE_CHECKING:
    from irloop import Model

__all__ = ["describe", "matched"]

_SHOWN = 6

#: Maximum number of characters of a string that are printed.
_CHARACTERS = 1000


def matched(model: Model, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return `arrays` with each key replaced by the name of the input that it identifies.

    A key is a name of the input, ``in<position>``, or ``arr_<position>``:
    ``numpy.savez(file, x, y)`` names its arrays arr_0 and arr_1.

    Raises:
        UsageError: when a key matches no input, or two keys match the same input.
    """
    names = [node.name for node in model.graph.parameters]
    aliases = {
        alias: node.name
        for node in reversed(model.graph.parameters)
        for alias in (*node.outputs[0].names, node.name)
    }
    pairs: dict[str, Any] = {}
    for key, value in arrays.items():
        name = aliases.get(key) or _at_position(key, names)
        if name is None or name in pairs:
            raise UsageError(
                f"{key!r} is not an input of the model"
                if name is None
                else f"{key!r} is another name of input {name!r}, which is already given",
                expected=", ".join(names) or "no inputs",
                found=", ".join(arrays),
                fix=f"name the arrays after the inputs, or in0 to in{len(names) - 1} by position",
            )
        pairs[name] = value
    return pairs


def _at_position(key: str, names: list[str]) -> str | None:
    match = re.fullmatch(r"(?:in|arr_)(\d{1,6})", key)
    if match is None or int(match[1]) >= len(names):
        return None
    return names[int(match[1])]


def describe(value: Any) -> str:
    """Type, shape and the first elements of a value on one line."""
    import numpy as np

    if value is None:
        return "nothing"
    if isinstance(value, list):
        return f"a sequence of {len(value)}: {'; '.join(map(describe, value[:_SHOWN]))}"
    array = np.asarray(value)
    first = ", ".join(_short(item) for item in array.reshape(-1)[:_SHOWN])
    more = ", ..." if array.size > _SHOWN else ""
    return f"{array.dtype.name}{list(array.shape)} {first}{more}".rstrip()


def _short(item: Any) -> str:
    text = str(item)
    return text if len(text) <= _CHARACTERS else f"{text[:_CHARACTERS]}..."
