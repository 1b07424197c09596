"""Formats findings as JUnit XML, which every CI server shows: one test case per model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

from irloop.diagnostics import Diagnostic, Severity, one_line

from .report_text import left_out_by_file
from .report_text import render as text_of

__all__ = ["render"]


def render(
    findings: Iterable[Diagnostic],
    files: Sequence[str],
    worst: Severity,
    command: str = "irloop validate",
    *,
    suppressed: Iterable[Diagnostic] = (),
) -> str:
    """Write the findings of a command as a JUnit test suite with one test case for each file.

    A test case fails if its file has a finding of severity `worst` or higher. Its output counts the
    suppressed findings.
    """
    notes = left_out_by_file(suppressed)
    by_file: dict[str, list[Diagnostic]] = {file: [] for file in files}
    for item in findings:
        by_file.setdefault(item.location.file or "", []).append(item)
    failures = sum(any(_fails(item, worst) for item in items) for items in by_file.values())
    counts = f'tests="{len(by_file)}" failures="{failures}" errors="0" skipped="0"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name="{command}" {counts}>',
    ]
    for file, items in by_file.items():
        lines += _case(command.replace(" ", "."), file, items, worst, notes.get(file, ""))
    return "\n".join([*lines, "</testsuite>"])


def _fails(item: Diagnostic, worst: Severity) -> bool:
    return item.severity.rank <= worst.rank


def _case(
    classname: str, file: str, items: Sequence[Diagnostic], worst: Severity, note: str
) -> list[str]:
    failing = [item for item in items if _fails(item, worst)]
    other = [item for item in items if not _fails(item, worst)]
    lines = [f'  <testcase classname="{classname}" name={quoteattr(one_line(file))}>']
    if failing:
        title = f"{failing[0].code}: {failing[0].message}"
        more = f" and {len(failing) - 1} more" if len(failing) > 1 else ""
        lines.append(f"    <failure message={quoteattr(one_line(title + more))}>")
        lines.append(f"{escape(text_of(failing))}</failure>")
    said = "\n\n".join(text for text in (text_of(other), note) if text)
    if said:
        lines.append(f"    <system-out>{escape(said)}</system-out>")
    return [*lines, "  </testcase>"]
