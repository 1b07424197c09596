"""Writes findings as a Code Quality report, which GitLab shows in a merge request."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from irloop.diagnostics import Diagnostic, Severity

from . import report_json
from .places import fingerprint, relative
from .report_text import left_out_by_file

__all__ = ["render"]

SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(findings: Iterable[Diagnostic], suppressed: Iterable[Diagnostic] = ()) -> str:
    """Format findings as a JSON list with one entry per finding.

    GitLab recognises a finding in later reports by its fingerprint. One more entry for each file
    counts its suppressed findings.
    """
    taken: dict[str, int] = {}
    entries = []
    for finding in findings:
        mark = fingerprint(finding)
        taken[mark] = number = taken.get(mark, 0) + 1
        entries.append(
            {
                "description": finding.message,
                "check_name": finding.code,
                # GitLab drops entries that share a fingerprint.
                "fingerprint": mark if number == 1 else f"{mark}-{number}",
                "severity": SEVERITIES[finding.severity],
                "location": {
                    "path": relative(finding.location.file or ""),
                    "lines": {"begin": finding.location.line or 1},
                },
            }
        )
    for file, text in left_out_by_file(suppressed).items():
        entries.append(
            {
                "description": text,
                "check_name": "suppressed",
                "fingerprint": hashlib.sha256(f"{relative(file)}: {text}".encode()).hexdigest(),
                "severity": "info",
                "location": {"path": relative(file), "lines": {"begin": 1}},
            }
        )
    return report_json.dump(entries)
