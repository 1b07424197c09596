"""Reads what was measured in the releases of an engine.

The tables are written by `python -m benchmarks.engine_versions`, which runs the smallest case of
each fault in each release. A column is a release; the first rows tell what the release can read.
"""

from __future__ import annotations

import os
from functools import cache

from irloop.graph.record import Record

__all__ = [
    "FIRST",
    "NOT_RUN",
    "RIGHT",
    "SEEN",
    "Release",
    "fixed_in",
    "releases",
    "spans",
    "table_path",
]

#: The first releases for which a conversion writes unless a target is named.
FIRST = {"onnxruntime": (1, 16), "openvino": (2023, 0)}

#: The release computes the case right: it does not have the fault.
RIGHT = "right"
#: The release cannot read the case, so nothing is known about the fault.
NOT_RUN = "not run"
#: The case does not show the fault, which was seen in larger models. Written by hand.
SEEN = "seen"


class Release(Record):
    """A release of an engine, and how it ran the case of each fault.

    `opset` is the newest opset that it has whole, and `lacks` names the element types that it does
    not know. `left` has the faults whose case it does not run right after a conversion to ONNX, and
    back for this release, although the conversion does not warn; None if that was not measured. A
    verdict is `RIGHT`, `NOT_RUN`, `SEEN`, or what went wrong: wrong, refused, crashed or hung.
    """

    version: str
    opset: int
    lacks: frozenset[str]
    left: frozenset[str] | None
    verdicts: dict[str, str]

    @property
    def number(self) -> tuple[int, ...]:
        """The version as numbers, by which releases are sorted."""
        return tuple(map(int, self.version.split(".")))

    def has(self, code: str) -> bool:
        """Return whether the fault was measured in this release."""
        return self.verdicts.get(code, NOT_RUN) not in (RIGHT, NOT_RUN)

    def is_right(self, code: str) -> bool:
        """Return whether the release ran the case of the fault right."""
        return self.verdicts.get(code) == RIGHT

    def is_called(self, version: str) -> bool:
        """Return whether a version given by the user means this release.

        2021.4 means 2021.4.2, and 2026 every release of that year.
        """
        own, asked = self.version.split("."), version.split(".")
        shorter = min(len(own), len(asked))
        return own[:shorter] == asked[:shorter]


def table_path(engine: str) -> str:
    """The file with the table of an engine."""
    return os.path.join(os.path.dirname(__file__), f"{engine}_releases.csv")


@cache
def releases(engine: str) -> tuple[Release, ...]:
    """The measured releases of an engine, oldest first."""
    with open(table_path(engine), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split(",") for line in file]
    (_, *versions), (_, *opsets), (_, *lacks), (_, *left), *faults = rows
    return tuple(
        Release(
            version,
            int(opsets[at]),
            frozenset(lacks[at].split()),
            frozenset(left[at].split()) - {"none"} if left[at] else None,
            {code: cells[at] for code, *cells in faults if cells[at]},
        )
        for at, version in enumerate(versions)
    )


def spans(engine: str, code: str) -> str:
    """The releases that have a fault, as text: "2021.4.2, 2023.0.2 to 2026.4.1"."""
    texts: list[str] = []
    first = last = ""
    for release in (*releases(engine), None):
        if release is not None and release.has(code):
            first, last = first or release.version, release.version
        elif first and (release is None or release.is_right(code)):
            texts.append(first if first == last else f"{first} to {last}")
            first = ""
    return ", ".join(texts)


def fixed_in(engine: str, code: str) -> str:
    """The first release after all that have the fault; empty if the newest has it."""
    fixed = ""
    for release in releases(engine):
        if release.has(code):
            fixed = ""
        elif release.is_right(code):
            fixed = fixed or release.version
    return fixed
