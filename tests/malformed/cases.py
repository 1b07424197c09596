"""The malformed models by name: how each is made, and the code and the location of its fault.

A case writes its files to a folder and returns the path that a user would pass. `at` is a text on
the offending line of that file (empty if the fault is in the file as a whole), and `path` leads
through bodies to the layer or node. The messages of OpenVINO 2026.4 and ONNX Runtime were recorded
in ``engines.json``; ``python -m benchmarks.malformed`` prints both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Case", "edited", "found_by", "line_of"]


@dataclass(frozen=True)
class Case:
    """One malformed model; cases that are `good` only look malformed."""

    name: str
    make: Callable[[Path], Path]
    code: str = ""
    at: str = ""
    path: str = ""
    #: More arguments of `irloop validate`.
    options: Callable[[Path], tuple[str, ...]] = field(default=lambda _: ())
    #: The finding is a warning or information: engines run the model, perhaps with other results.
    mild: bool = False

    @property
    def good(self) -> bool:
        """True if the model is valid."""
        return not self.code


def edited(text: str, *edits: tuple[str, str]) -> str:
    """`text` with the first occurrence of each text replaced; it must occur."""
    for old, new in edits:
        if old not in text:
            raise ValueError(f"{old!r} does not occur")
        text = text.replace(old, new, 1)
    return text


def line_of(path: Path, text: str) -> int:
    """The number of the first line that holds `text`."""
    lines = path.read_bytes().decode("utf-8", "replace").split("\n")
    return next(number for number, line in enumerate(lines, 1) if text in line)


def found_by(case: Case, model: Path, findings: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The finding (as in JSON reports) that names the right cause and location, or None."""
    line = line_of(model, case.at) if case.at else None
    for item in findings:
        right_place = line in (None, item["line"]) and case.path in ("", item["path"])
        if item["code"] == case.code and right_place and (case.mild or item["severity"] == "error"):
            return item
    return None
