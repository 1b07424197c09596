"""The integers of an IR, read as OpenVINO 2026.4 and 2021.4 read them (measured).

There are three grammars. The structure of a file (ids, ends of edges, offsets, sizes, port maps,
the version) has white space and a sign before the digits, and nothing after them. A `<dim>` is
read the same way, up to the first character that is no digit. An attribute in `data` is read up
to that character too, but a plus sign is refused. All of them have to fit 64 bits.
"""

from __future__ import annotations

import re

__all__ = ["attribute_integer", "canonical_id", "dim_integer", "signed", "unsigned"]

_SIGNED = re.compile(r"\s*([+-]?\d+)", re.ASCII)
_ATTRIBUTE = re.compile(r"\s*(-?\d+)", re.ASCII)
_LARGEST = 2**63 - 1
#: No longer text is a number of 64 bits, unless zeros lead it; a million digits would take
#: Python quadratic time.
_MOST_CHARACTERS = 64


def signed(text: str | None) -> int | None:
    """An integer of the structure; None when the text is not one."""
    match = None if text is None else _SIGNED.fullmatch(text)
    return None if match is None else _number(match)


def unsigned(text: str | None) -> int | None:
    """An id, offset or size: an integer of the structure from 0 on; None when it is not one."""
    value = signed(text)
    return None if value is None or value < 0 else value


def canonical_id(text: str) -> str:
    """The digits of an id, so that `+07` and `7` are one; a text that is no id as it is."""
    value = unsigned(text)
    return text if value is None else str(value)


def dim_integer(text: str) -> int | None:
    """The number that a `<dim>` begins with, -1 or more; None when it begins with none."""
    match = _SIGNED.match(text)
    value = None if match is None else _number(match)
    return None if value is None or value < -1 else value


def attribute_integer(text: str) -> int | None:
    """The number that an attribute in `data` begins with; None when it begins with none."""
    match = _ATTRIBUTE.match(text)
    return None if match is None else _number(match)


def _number(match: re.Match[str]) -> int | None:
    digits = match.group(1)
    if len(digits) > _MOST_CHARACTERS:
        return None
    value = int(digits)
    return value if -_LARGEST - 1 <= value <= _LARGEST else None
