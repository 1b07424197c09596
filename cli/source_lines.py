"""Finds the source line of a finding, and the part of that line that the finding is about."""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import BufferedReader
from typing import NamedTuple

import click

from irloop.diagnostics import Diagnostic
from irloop.opening import open_regular

from .console import console_of

__all__ = ["Excerpt", "Excerpts"]

#: Maximum number of bytes of a source line that is shown. A longer line (of a minified file) does
#: not help; the element path locates the finding.
WIDEST = 4000

_STEP = r"(@?[\w-]+)(?:\[@id=([^\]]*)\])?(?:\[(\d+)\])?$"


class Excerpt(NamedTuple):
    """A line of a file, in which `text[start:end]` is the part that a finding is about.

    If this part is not known, it is the whole line.
    """

    text: str
    start: int
    end: int


class Excerpts:
    """Holds the source lines to which findings refer; each file is read only once."""

    def __init__(self, findings: Iterable[Diagnostic]) -> None:
        wanted: dict[str, set[int]] = {}
        for item in findings:
            place = item.location
            if place.file is None or place.line is None:
                continue
            if _path(place.file).lower().endswith((".xml", ".onnxtxt")):
                wanted.setdefault(place.file, set()).add(place.line)
        self._lines = {
            (file, number): text
            for file, numbers in wanted.items()
            for number, text in _read_lines(_path(file), numbers)
        }

    def of(self, item: Diagnostic) -> Excerpt | None:
        """The line of one finding; None if the finding has no line, or the line cannot be shown."""
        place = item.location
        text = self._lines.get((place.file or "", place.line or 0))
        if not text or not text.strip():
            return None
        start, end = _part(text, place.element) or (0, 0)
        if end <= start:
            start, end = len(text) - len(text.lstrip()), len(text.rstrip())
        return Excerpt(text, start, end)


def _path(file: str) -> str:
    """Return the path from which the file named in a finding can be read.

    If the finding names what a temporary file is a copy of, this is the path of the copy.
    """
    context = click.get_current_context(silent=True)
    copies = {} if context is None else console_of(context).copies
    return next((path for path, name in copies.items() if name == file), file)


def _part(line: str, element: str) -> tuple[int, int] | None:
    """The span in `line` of the attribute or start tag that an element path names, or None.

    If the line does not contain the attribute, the span is that of its start tag.
    """
    parent, _, step = element.rpartition("/")
    if step.startswith("@"):
        found = re.search(rf'\b{re.escape(step[1:])}\s*=\s*("[^"]*"|\'[^\']*\')', line)
        return found.span() if found else _part(line, parent)
    match = re.match(_STEP, step)
    if match is None:
        return None
    tag, identity, number = match.groups()
    tags = [found.span() for found in re.finditer(rf"<{re.escape(tag)}\b[^>]*>?", line)]
    if identity is not None:
        own = re.compile(rf'\bid\s*=\s*["\']{re.escape(identity)}["\']')
        tags = [span for span in tags if own.search(line, *span)]
    # Several elements on one line cannot be distinguished by their number in the file.
    return tags[0] if len(tags) == 1 or (tags and number is None) else None


def _read_lines(file: str, numbers: set[int]) -> Iterable[tuple[int, str]]:
    last = max(numbers)
    lines: list[tuple[int, str]] = []
    try:
        with BufferedReader(open_regular(file)) as stream:
            for number, raw in enumerate(stream, start=1):
                if number in numbers and len(raw) <= WIDEST:
                    text = raw.decode("utf-8", errors="replace").rstrip("\r\n")
                    lines.append((number, text.removeprefix("\ufeff")))
                if number >= last:
                    break
    except OSError:
        # The finding is shown without its source line.
        return lines
    return lines
