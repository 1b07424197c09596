"""Formats findings as JSON for programs: one object, whose layout `schema` identifies.

Keys may be added without a new schema number; a change of meaning increases the number. The layout
is published as schemas/report-1.json.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

from irloop.diagnostics import Diagnostic, Severity

from .console import console_of

__all__ = ["SCHEMA", "dump", "finding", "report"]

SCHEMA = "irloop-report/1"


def finding(diagnostic: Diagnostic) -> dict[str, Any]:
    """Represent a finding as JSON data; unknown locations are null, unknown texts are empty."""
    place = diagnostic.location
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "file": place.file,
        "line": place.line,
        "path": place.path,
        "layer_id": place.layer_id,
        "element": place.element,
        "expected": diagnostic.expected,
        "found": diagnostic.found,
        "cause": diagnostic.cause,
        "fix": diagnostic.fix,
    }


def report(
    command: str, findings: Iterable[Diagnostic], *, files: Sequence[str] = (), **more: Any
) -> str:
    """The report of one command as JSON; `more` are the keys that only this command has."""
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
    """Write `content` as JSON text that any parser can read.

    Numbers that JSON cannot express, such as NaN, become strings. Paths of temporary files become
    the names of what they are copies of.
    """
    # Imported only for JSON, because text reports are the most frequent ones.
    import json

    context = click.get_current_context(silent=True)
    named: Callable[[str], str] = str if context is None else console_of(context).named
    text = json.dumps(_plain(content, named), indent=2, allow_nan=False)
    # In JSON, only strings contain `#`, so it can be escaped everywhere. CI services recognise
    # commands even within a line.
    return text.replace("##", "\\u0023\\u0023")


def _plain(content: Any, named: Callable[[str], str]) -> Any:
    if isinstance(content, str):
        return named(content)
    if isinstance(content, dict):
        return {str(key): _plain(item, named) for key, item in content.items()}
    if isinstance(content, (list, tuple)):
        return [_plain(item, named) for item in content]
    if isinstance(content, float) and not math.isfinite(content):
        return str(content)
    return content
