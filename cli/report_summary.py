"""Formats findings as Markdown, for the summary of a GitHub Actions step."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.diagnostics import Diagnostic, Severity, one_line

from .report_text import summary

__all__ = ["render"]

#: Maximum number of rows of the table, because GitHub accepts at most one mebibyte for a summary.
MOST = 100
#: With the colon of web addresses, which would become links.
_SPECIAL = frozenset("\\|<>&`*_[]~:@#!")
_SIGNS = {Severity.ERROR: "❌", Severity.WARNING: "⚠️", Severity.INFO: "ℹ️"}


def render(
    findings: Sequence[Diagnostic], files: int, suppressed: Sequence[Diagnostic] = ()
) -> str:
    """Format a heading, the counts of findings by severity, and a table of the worst findings."""
    lines = ["### irloop validate", "", _escaped(summary(findings, files, suppressed))]
    items = sorted(findings, key=lambda item: item.severity.rank)
    if items:
        lines += ["", "| | code | place | finding |", "|---|---|---|---|"]
        lines += [_row(item) for item in items[:MOST]]
    if len(items) > MOST:
        lines += ["", f"{len(items) - MOST} more in the report"]
    return "\n".join(lines)


def _row(finding: Diagnostic) -> str:
    place = finding.location
    where = f"{place.file or ''}{'' if place.line is None else f':{place.line}'}"
    told = finding.message + (f" — {finding.fix}" if finding.fix else "")
    sign, where = _SIGNS[finding.severity], f"<code>{_escaped(where)}</code>"
    cells = (sign, finding.code, where, _escaped(told))
    return f"| {' | '.join(one_line(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    """Write each sign that Markdown or HTML would interpret as a character reference.

    A backslash would not do: a table splits at a bar before it looks at other signs.
    """
    return "".join(f"&#{ord(sign)};" if sign in _SPECIAL else sign for sign in text)
