"""Parses the numbers of an IR as OpenVINO 2026.4 and 2021.4 do.

The rules below were measured with both versions.

There are three grammars of integers. Integers of the structure (ids, ends of edges, offsets, sizes,
port maps, the version) may have white space and a sign before the digits, but nothing after the
digits. A `<dim>` is read the same way, but only up to the first character that is not a digit. An
attribute in `data` is also read up to that character, but a plus sign is refused. All of them must
fit into 64 bits.

A floating-point number in `data` may have a plus sign, except before `inf` and `nan`. After `inf`
and `nan` there may only be white space. An exponent needs digits, and the number must fit into a
double.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection

__all__ = [
    "are_ids",
    "attribute_float",
    "attribute_integer",
    "attribute_number",
    "canonical_id",
    "dim_integer",
    "is_id",
    "signed",
    "unsigned",
]

_SIGNED = re.compile(r"\s*([+-]?\d+)", re.ASCII)
_ATTRIBUTE = re.compile(r"\s*(-?\d+)", re.ASCII)
_EXPONENT = r"(?:[eE][+-]?\d++|(?![eE]))"
_FLOAT = re.compile(
    rf"\s*([+-]?(?:\d++\.?\d*+{_EXPONENT}|\.\d++{_EXPONENT})|(?:-?inf|nan)(?=\s*$))", re.ASCII
)
_LARGEST = 2**63 - 1
#: Integers with fewer digits than this always fit into 64 bits.
_CERTAIN = 19
#: A longer text is a 64-bit number only with leading zeros; Python would need quadratic time to
#: convert a million digits.
_MOST_CHARACTERS = 64


def signed(text: str | None) -> int | None:
    """A signed integer of the XML structure, such as an axis; None if the text is not one."""
    if text is None:
        return None
    if len(text) < _CERTAIN and text.isdecimal() and text.isascii():
        # Nearly every number in a file is like this, and regular expressions are slower.
        return int(text)
    match = _SIGNED.fullmatch(text)
    return None if match is None else _number(match)


def unsigned(text: str | None) -> int | None:
    """Parse an id, offset or size: a nonnegative integer. Return None for any other string."""
    if text is not None and len(text) < _CERTAIN and text.isdecimal() and text.isascii():
        return int(text)
    value = signed(text)
    return None if value is None or value < 0 else value


def canonical_id(text: str) -> str:
    """Return an id without a plus sign and leading zeros, so that `+07` becomes `7`.

    A text that is not a non-negative integer is returned unchanged.
    """
    if len(text) < _CERTAIN and text.isdecimal() and text.isascii() and text[0] != "0":
        return text
    value = unsigned(text)
    return text if value is None else str(value)


def is_id(text: str | None) -> bool:
    """Return whether the text is a valid id: a non-negative integer."""
    return unsigned(text) is not None


def are_ids(texts: Collection[str]) -> bool:
    """Return whether all texts are ids; for many texts this is faster than a call of `is_id` for
    each.
    """
    digits = "".join(texts)
    if digits.isdecimal() and digits.isascii():
        lengths = set(map(len, texts))
        if min(lengths) > 0 and max(lengths) < _CERTAIN:
            return True
    return all(map(is_id, texts))


def dim_integer(text: str) -> int | None:
    """The number at the start of a `<dim>`; None if there is none, or if it is less than -1."""
    match = _SIGNED.match(text)
    value = None if match is None else _number(match)
    return None if value is None or value < -1 else value


def attribute_integer(text: str) -> int | None:
    """Parse the integer at the start of a `<data>` attribute, such as 3 from "3.5" or "3 ".

    Returns None if the text does not start with an integer.
    """
    match = _ATTRIBUTE.match(text)
    return None if match is None else _number(match)


def attribute_float(text: str) -> float | None:
    """The number at the start of the text of a `<data>` attribute; None if there is none."""
    found = attribute_number(text, is_integer=False)
    return None if found is None else float(found[0])


def attribute_number(text: str, *, is_integer: bool) -> tuple[str, str] | None:
    """Split an attribute into the number at its start and the rest, which OpenVINO ignores.

    With `is_integer`, only an integer is read, so 3.5 is split into 3 and .5. Returns None if the
    text does not start with a number that fits into 64 bits.
    """
    match = (_ATTRIBUTE if is_integer else _FLOAT).match(text)
    if match is None:
        return None
    number = match.group(1)
    if is_integer:
        return None if _number(match) is None else (number, text[match.end() :])
    if math.isinf(float(number)) and not number.endswith("inf"):
        return None
    return number, text[match.end() :]


def _number(match: re.Match[str]) -> int | None:
    digits = match.group(1)
    if len(digits) > _MOST_CHARACTERS:
        return None
    value = int(digits)
    return value if -_LARGEST - 1 <= value <= _LARGEST else None
