"""Findings as logging commands of Azure Pipelines, which lists them in the summary of a run."""

from __future__ import annotations

from collections.abc import Iterable

from irloop.diagnostics import Diagnostic, Severity, one_line

from .places import relative

__all__ = ["render"]

#: Azure has only errors and warnings.
KINDS = {Severity.ERROR: "error", Severity.WARNING: "warning"}


def render(findings: Iterable[Diagnostic]) -> str:
    """Format findings for the log of Azure Pipelines, one line each.

    An error or a warning becomes a logging command, and any other finding plain text.
    """
    return "\n".join(map(_line, findings))


def _line(finding: Diagnostic) -> str:
    kind = KINDS.get(finding.severity)
    place = finding.location
    if kind is None:
        return one_line(f"{place}: {finding.severity.value} {finding.code}: {finding.message}")
    properties = {
        "type": kind,
        "sourcepath": relative(place.file) if place.file else "",
        "linenumber": "" if place.line is None else str(place.line),
        "code": finding.code,
    }
    listed = "".join(
        f"{key}={_escaped(one_line(text))};" for key, text in properties.items() if text
    )
    return f"##vso[task.logissue {listed}]{_escaped(one_line(finding.message))}"


def _escaped(text: str) -> str:
    """Escape characters as the documentation of logging commands requires."""
    for char, code in (("%", "%AZP25"), (";", "%3B"), ("\r", "%0D"), ("\n", "%0A"), ("]", "%5D")):
        text = text.replace(char, code)
    return text
