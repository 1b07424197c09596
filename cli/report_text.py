"""Findings as text for people: place, source line, expected, found, cause, fix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irloop.diagnostics import Diagnostic, Severity

from .console import clean

__all__ = ["count", "render", "summary"]

#: A longer source line (a minified file) helps nobody; the element path says where.
_WIDEST = 160


def render(findings: Iterable[Diagnostic]) -> str:
    """One block a finding, an empty line between blocks, in the order given."""
    items = list(findings)
    lines = _source_lines(items)
    return "\n\n".join(_block(item, lines) for item in items)


def summary(findings: Sequence[Diagnostic], files: int) -> str:
    """The closing line: how many findings of which severity in how many files."""
    where = "in " + count(files, "file")
    if not findings:
        return f"no findings {where}"
    found = [
        count(number, severity.value)
        for severity in Severity
        if (number := sum(1 for item in findings if item.severity is severity))
    ]
    return f"{', '.join(found)} {where}"


def count(number: int, noun: str) -> str:
    """``1 error``, ``2 errors``; information has no plural."""
    return f"{number} {noun}" if number == 1 or noun == "info" else f"{number} {noun}s"


def _block(item: Diagnostic, lines: dict[tuple[str, int], str]) -> str:
    place = item.location
    # A path already in the message is not said twice.
    where = place.file or "<model>"
    if place.line is not None:
        where = f"{where}:{place.line}"
    parts = [f"{where}: {item.severity.value} {item.code}: {item.message}"]
    excerpt = lines.get((place.file or "", place.line or 0), "")
    if excerpt:
        parts.append(f"  {place.line:>5} | {excerpt}")
    address = "; ".join(
        text
        for text in (
            place.path,
            f"layer id {place.layer_id}" if place.layer_id is not None else "",
            place.element,
        )
        if text
    )
    rows = (
        ("where", address),
        ("expected", item.expected),
        ("found", item.found),
        ("cause", item.cause),
        ("fix", item.fix),
    )
    parts += [f"  {label + ':':<9} {text}" for label, text in rows if text]
    return clean("\n".join(parts))


def _source_lines(findings: Sequence[Diagnostic]) -> dict[tuple[str, int], str]:
    wanted: dict[str, set[int]] = {}
    for item in findings:
        place = item.location
        if place.file is not None and place.line is not None and place.file.endswith(".xml"):
            wanted.setdefault(place.file, set()).add(place.line)
    found: dict[tuple[str, int], str] = {}
    for file, numbers in wanted.items():
        found.update({(file, number): text for number, text in _read_lines(file, numbers)})
    return found


def _read_lines(file: str, numbers: set[int]) -> list[tuple[int, str]]:
    last = max(numbers)
    found: list[tuple[int, str]] = []
    try:
        with open(file, "rb") as stream:
            for number, raw in enumerate(stream, start=1):
                if number in numbers and len(raw) <= _WIDEST * 4:
                    found.append((number, _excerpt(raw)))
                if number >= last:
                    break
    except OSError:
        # The finding stands without its source line.
        return found
    return found


def _excerpt(raw: bytes) -> str:
    text = raw.decode("utf-8", errors="replace").strip().replace("\t", " ")
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]} ..."
