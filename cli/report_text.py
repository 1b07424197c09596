"""Formats findings as text for people: location, source line, expected, found, cause, fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import click

from irloop.diagnostics import Diagnostic, Severity, one_line

from .source_lines import Excerpt, Excerpts

__all__ = ["count", "left_out", "left_out_by_file", "render", "summary"]

#: Maximum number of characters of a source line that are shown. More of them (in a minified file)
#: would not help; the element path locates the finding.
_WIDEST = 160


def render(findings: Iterable[Diagnostic], *, colour: bool = False) -> str:
    """One block per finding, separated by empty lines, in the given order."""
    items = list(findings)
    excerpts = Excerpts(items)
    return "\n\n".join(_block(item, excerpts.of(item), colour=colour) for item in items)


def summary(
    findings: Sequence[Diagnostic], files: int, suppressed: Sequence[Diagnostic] = ()
) -> str:
    """Return the closing line, with the numbers of findings by severity and of files."""
    where = "in " + count(files, "file")
    also = f", {left_out(suppressed)}" if suppressed else ""
    if not findings:
        return f"no findings {where}{also}"
    counts = [
        count(number, severity.value)
        for severity in Severity
        if (number := sum(1 for item in findings if item.severity is severity))
    ]
    return f"{', '.join(counts)} {where}{also}"


def left_out(suppressed: Iterable[Diagnostic]) -> str:
    """Tell how many findings are suppressed by whom, as in ``2 suppressed by the model``."""
    numbers = Counter(item.suppressed_by for item in suppressed)
    parts = [f"{number} suppressed by {who}" for who, number in numbers.items()]
    return one_line(", ".join(parts))


def left_out_by_file(suppressed: Iterable[Diagnostic]) -> dict[str, str]:
    """The sentence of `left_out` for each file with suppressed findings."""
    by_file: dict[str, list[Diagnostic]] = {}
    for item in suppressed:
        by_file.setdefault(item.location.file or "", []).append(item)
    return {file: left_out(items) for file, items in by_file.items()}


def count(number: int, noun: str) -> str:
    """Return a number with its noun, as in ``1 error`` or ``2 errors``; ``info`` has no plural."""
    return f"{number} {noun}" if number == 1 or noun == "info" else f"{number} {noun}s"


def _block(finding: Diagnostic, excerpt: Excerpt | None, *, colour: bool) -> str:
    place = finding.location
    # Findings about a model in memory have no file.
    where = place.file or "<model>"
    if place.line is not None:
        where = f"{where}:{place.line}"
    kind = _styled(f"{finding.severity.value} {finding.code}", _COLOURS[finding.severity], colour)
    parts = [f"{one_line(where)}: {kind}: {one_line(finding.message)}"]
    if excerpt is not None:
        parts += _source(excerpt, place.line or 0, _COLOURS[finding.severity], colour=colour)
    address = "; ".join(
        text
        for text in (
            place.path,
            f"layer id {place.layer_id}" if place.layer_id is not None else "",
            # An ONNX model has no other path of an element.
            place.element if place.element != place.path else "",
        )
        if text
    )
    rows = (
        ("where", address),
        ("expected", finding.expected),
        ("found", finding.found),
        ("cause", finding.cause),
        ("fix", finding.fix),
    )
    parts += [one_line(f"  {label + ':':<9} {text}") for label, text in rows if text]
    return "\n".join(parts)


def _source(excerpt: Excerpt, line: int, colour_name: str, *, colour: bool) -> list[str]:
    """The source line with its number, and a mark under the part that the finding is about."""
    text = one_line(excerpt.text.replace("\t", " "))
    if text != excerpt.text.replace("\t", " "):
        # Escapes shift the text after them, so the line is shown without a mark.
        return [f"  {line:>5} | {text.strip()[:_WIDEST]}"]
    indent = len(text) - len(text.lstrip())
    start, end = excerpt.start - indent, excerpt.end - indent
    text = text.strip()
    # A part far to the right in a long line is moved to the front.
    if len(text) > _WIDEST:
        cut = max(start - 8, 0) if end > _WIDEST else 0
        text, start, end = text[cut : cut + _WIDEST] + " ...", start - cut, end - cut
    end = min(end, len(text))
    shown = [f"  {line:>5} | {text}"]
    if 0 <= start < end and (start, end) != (0, len(text)):
        mark = _styled("^" * (end - start), colour_name, colour)
        shown.append(f"  {'':>5} | {' ' * start}{mark}")
    return shown


_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "blue"}


def _styled(text: str, name: str, colour: bool) -> str:
    return click.style(text, fg=name, bold=True) if colour else text
