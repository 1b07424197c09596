"""Formats findings as workflow commands, which GitHub shows next to the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterable

from irloop.diagnostics import DETAILS, Diagnostic, Severity, one_line

from .places import slashed
from .report_text import count

__all__ = ["render"]

KINDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}

#: GitHub shows at most this many of each kind per step.
MOST = 10


def render(findings: Iterable[Diagnostic]) -> str:
    """Format findings as GitHub workflow commands, one line for each finding.

    Errors, warnings and notices are limited to ten each, because GitHub shows no more. If there are
    more of a kind, a further line counts them: "3 more warnings in the report".
    """
    items = list(findings)
    lines: list[str] = []
    for severity, kind in KINDS.items():
        same = [item for item in items if item.severity is severity]
        lines += [_command(kind, item) for item in same[:MOST]]
        if len(same) > MOST:
            left = len(same) - MOST
            lines.append(f"{left} more {count(left, severity.value).split()[1]} in the report")
    return "\n".join(lines)


def _command(kind: str, finding: Diagnostic) -> str:
    place = finding.location
    properties = {
        "file": slashed(place.file) if place.file else None,
        "line": None if place.line is None else str(place.line),
        "title": f"irloop {finding.code}",
    }
    listed = ",".join(
        f"{key}={_property(one_line(text))}" for key, text in properties.items() if text
    )
    details = ((label, getattr(finding, label)) for label in DETAILS)
    rows = [finding.message, *(f"{label}: {text}" for label, text in details if text)]
    return f"::{kind} {listed}::{_data(chr(10).join(map(one_line, rows)))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
