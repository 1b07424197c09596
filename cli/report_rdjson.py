"""Findings in the Reviewdog Diagnostic Format, which reviewdog turns into comments of a review."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from irloop.diagnostics import DETAILS, Diagnostic

from . import report_json
from .places import relative
from .report_text import left_out_by_file
from .source_lines import Excerpt, Excerpts

__all__ = ["render"]


def render(findings: Iterable[Diagnostic], suppressed: Iterable[Diagnostic] = ()) -> str:
    """The findings as one rdjson object, with a diagnostic for each finding.

    One more diagnostic for each file counts its suppressed findings.
    """
    items = list(findings)
    excerpts = Excerpts(items)
    return report_json.dump(
        {
            "source": {"name": "irloop"},
            "diagnostics": [
                *(_diagnostic(item, excerpts.of(item)) for item in items),
                *(
                    {"message": text, "location": {"path": relative(file)}, "severity": "INFO"}
                    for file, text in left_out_by_file(suppressed).items()
                ),
            ],
        }
    )


def _diagnostic(finding: Diagnostic, excerpt: Excerpt | None) -> dict[str, Any]:
    location: dict[str, Any] = {"path": relative(finding.location.file or "")}
    if finding.location.line is not None:
        location["range"] = _range(finding.location.line, excerpt)
    details = ((label, getattr(finding, label)) for label in DETAILS)
    text = "\n".join([finding.message, *(f"{label}: {text}" for label, text in details if text)])
    return {
        "message": text,
        "location": location,
        "severity": finding.severity.name,
        "code": {"value": finding.code},
    }


def _range(line: int, excerpt: Excerpt | None) -> dict[str, Any]:
    """Return the range of a finding in the form that the format requires.

    Lines and columns count from 1, and columns count bytes of UTF-8. Without an excerpt, the range
    has only a line.
    """
    if excerpt is None:
        return {"start": {"line": line}}
    columns = [len(excerpt.text[:at].encode()) + 1 for at in (excerpt.start, excerpt.end)]
    return {
        "start": {"line": line, "column": columns[0]},
        "end": {"line": line, "column": columns[1]},
    }
