"""Formats findings as SARIF 2.1.0, which code scanning services read."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

from irloop.diagnostics import DETAILS, Diagnostic, Severity, one_line

from . import report_json
from .places import fingerprint, uri
from .source_lines import Excerpt, Excerpts

__all__ = ["render"]

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}

#: GitHub refuses a run with more results.
MOST = 25_000


def render(findings: Iterable[Diagnostic], suppressed: Iterable[Diagnostic] = ()) -> str:
    """Format findings as SARIF: one run with one result per finding, the worst first.

    The descriptions of the rules are those of `irloop.explain`. Suppressed findings are included,
    with who suppressed them.
    """
    items = sorted(findings, key=lambda item: item.severity.rank)[:MOST]
    items += list(suppressed)[: MOST - len(items)]
    excerpts = Excerpts(items)
    codes = sorted({item.code for item in items})
    numbers = {code: number for number, code in enumerate(codes)}
    driver = {
        "name": "irloop",
        "version": version("irloop"),
        "rules": [_rule(code) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True}],
        "results": [_result(item, numbers[item.code], excerpts.of(item)) for item in items],
    }
    return report_json.dump(
        {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [run],
        }
    )


def _rule(code: str) -> dict[str, Any]:
    from irloop import explain

    head, _, page = explain(code).partition("\n")
    title = head.removeprefix(f"{code}:").strip() or page.strip().split("\n")[0]
    return {
        "id": code,
        "shortDescription": {"text": title},
        "fullDescription": {"text": page.strip() or title},
        "help": {"text": page.strip() or title},
    }


def _result(finding: Diagnostic, rule: int, excerpt: Excerpt | None) -> dict[str, Any]:
    place = finding.location
    location: dict[str, Any] = {}
    if place.file is not None:
        physical: dict[str, Any] = {"artifactLocation": {"uri": uri(place.file)}}
        if place.line is not None:
            physical["region"] = _region(max(place.line, 1), excerpt)
        location["physicalLocation"] = physical
    name = place.path or place.element
    if name:
        location["logicalLocations"] = [{"fullyQualifiedName": name}]
    details = ((label, getattr(finding, label)) for label in DETAILS)
    text = "\n".join([finding.message, *(f"{label}: {text}" for label, text in details if text)])
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [location] if location else [],
        "partialFingerprints": {"irloop/v1": fingerprint(finding)},
    }
    if finding.suppressed_by:
        kind = "inSource" if finding.suppressed_by == "the model" else "external"
        justification = f"suppressed by {one_line(finding.suppressed_by)}"
        result["suppressions"] = [{"kind": kind, "justification": justification}]
    return result


def _region(line: int, excerpt: Excerpt | None) -> dict[str, Any]:
    if excerpt is None:
        return {"startLine": line}
    return {
        "startLine": line,
        "startColumn": excerpt.start + 1,
        "endColumn": excerpt.end + 1,
        "snippet": {"text": excerpt.text[excerpt.start : excerpt.end]},
    }
