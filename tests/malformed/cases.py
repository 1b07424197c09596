"""The malformed models by name: how each is made, and the code and the place of what is wrong.

A case writes its files into a folder and gives the path that a user would pass. `at` is a text on
the offending line of that file (empty where the file as a whole is the place) and `path` the way to
the layer or node through bodies. What OpenVINO 2026.4 and ONNX Runtime say of each was measured and
stands in ``engines.json``; ``python -m benchmarks.malformed`` prints both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Case", "edited", "found_by", "line_of"]


@dataclass(frozen=True)
class Case:
    """One malformed model; `good` are those that only look it."""

    name: str
    make: Callable[[Path], Path]
    code: str = ""
    at: str = ""
    path: str = ""
    #: More arguments of `irloop validate`.
    options: Callable[[Path], tuple[str, ...]] = field(default=lambda _: ())
    #: The finding is a warning or information: engines run the model, or run it in another way.
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
    """The finding (as JSON reports have it) that names the cause and the place, if there is one."""
    line = line_of(model, case.at) if case.at else None
    for item in findings:
        right_place = line in (None, item["line"]) and case.path in ("", item["path"])
        if item["code"] == case.code and right_place and (case.mild or item["severity"] == "error"):
            return item
    return None
