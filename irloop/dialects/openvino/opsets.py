"""Tells which opsets of OpenVINO 2026.4 and 2021.4 contain an operation.

The answer is derived from the operation classes. 2026.4 accepts every opset in files of version 10
and 11; 2021.4 accepts opset1 to opset7.
"""

from __future__ import annotations

from functools import cache

from irloop.dialects.openvino.base import OPENVINO, OpenVinoOp

__all__ = [
    "EXACT",
    "LAST_OF_2021",
    "NEWEST",
    "Span",
    "is_newer_than_2021",
    "opset_of",
    "opsets",
]

#: The newest opset that irloop reads.
NEWEST = 17
#: The newest opset of OpenVINO 2021.4.
LAST_OF_2021 = 7
#: The first and the last opset of a range.
Span = tuple[int, int]
#: These three types are case-sensitive; all others match in any letter case.
EXACT = frozenset({"Parameter", "Result", "Const"})

#: The spellings of opsets that OpenVINO accepts; "opset01" is not one of them.
_NUMBERS = {f"opset{number}": number for number in range(1, NEWEST + 1)}
#: The first opset of each type that OpenVINO reads but that has no class in this dialect.
_WITHOUT_CLASS = {
    "const": 1,
    "parameter": 1,
    "result": 1,
    "bgrtonv12": 17,
    "groupedmatmul": 17,
    "rgbtonv12": 17,
}


@cache
def opsets(type_name: str) -> tuple[Span, ...]:
    """The opsets that contain a type, as ascending spans; empty if none does."""
    first = _WITHOUT_CLASS.get(type_name.lower())
    if first is not None:
        return ((first, NEWEST),)
    known = {
        opset
        for cls in OPENVINO.versions(type_name)
        for opset in range(cls.since, (cls.until or NEWEST) + 1)
        if issubclass(cls, OpenVinoOp) and opset not in cls.not_in
    }
    spans: list[Span] = []
    for opset in sorted(known):
        if spans and spans[-1][1] == opset - 1:
            spans[-1] = spans[-1][0], opset
        else:
            spans.append((opset, opset))
    return tuple(spans)


def opset_of(version: str | None, type_name: str = "") -> int | None:
    """The number in a version such as ``opset7``; None for a text that names no opset.

    Files from before opset6 give the version of some operations as "experimental" or "extension";
    OpenVINO reads these as operations of opset6.
    """
    if version in ("experimental", "extension"):
        versions = OPENVINO.versions(type_name) if type_name else ()
        once = any(issubclass(cls, OpenVinoOp) and cls.once_experimental for cls in versions)
        return 6 if once else None
    return _NUMBERS.get(version or "")


def is_newer_than_2021(version: str | None) -> bool:
    """Return whether `version`, such as "opset8", names an opset that OpenVINO 2021.4 lacks.

    The result is False for None and for a string that names no opset.
    """
    number = opset_of(version)
    return number is not None and number > LAST_OF_2021
