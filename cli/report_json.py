"""Findings as JSON for programs: one object, its layout named by `schema`.

A key is only ever added under the same schema number; a changed meaning raises the number. The
layout is published as schemas/report-1.json.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from irloop.diagnostics import Diagnostic, Severity

__all__ = ["SCHEMA", "dump", "finding", "report"]

SCHEMA = "irloop-report/1"


def finding(item: Diagnostic) -> dict[str, Any]:
    """One finding; places that are not known are null, texts that are not known are empty."""
    place = item.location
    return {
        "code": item.code,
        "severity": item.severity.value,
        "message": item.message,
        "file": place.file,
        "line": place.line,
        "path": place.path,
        "layer_id": place.layer_id,
        "element": place.element,
        "expected": item.expected,
        "found": item.found,
        "cause": item.cause,
        "fix": item.fix,
    }


def report(
    command: str, findings: Iterable[Diagnostic], *, files: Sequence[str] = (), **more: Any
) -> str:
    """The report of one command as text; `more` are keys that only this command has."""
    items = list(findings)
    counts = {
        f"{severity.value}s": sum(1 for item in items if item.severity is severity)
        for severity in Severity
    }
    return dump(
        {
            "schema": SCHEMA,
            "command": command,
            "files": list(files),
            "summary": counts,
            "findings": [finding(item) for item in items],
            **more,
        }
    )


def dump(content: Any) -> str:
    """JSON text; numbers that JSON has no word for become strings, so that any parser reads it."""
    # Loaded only where JSON is asked for: text reports are what starts most often.
    import json

    text = json.dumps(_plain(content), indent=2, allow_nan=False)
    # Only texts hold this sign; CI services look for their commands in the midst of a line, too.
    return text.replace("##", "\\u0023\\u0023")


def _plain(content: Any) -> Any:
    if isinstance(content, dict):
        return {str(key): _plain(item) for key, item in content.items()}
    if isinstance(content, (list, tuple)):
        return [_plain(item) for item in content]
    if isinstance(content, float) and not math.isfinite(content):
        return str(content)
    return content
