"""Pages that report a comparison, the changes between two models, or a validation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from irloop.comparison.compare import Comparison
from irloop.comparison.diff import ModelDiff
from irloop.comparison.outcome import OUTCOMES
from irloop.comparison.report import EngineReport, Evidence, OutputReport
from irloop.diagnostics import Diagnostic, Report, Severity
from irloop.errors import IrloopError
from irloop.graph.model import Model
from irloop.pages.contents import Contents
from irloop.pages.page import page
from irloop.pages.side_by_side import (
    Places,
    changes_marked,
    model_name,
    model_names,
    node_pairs,
)
from irloop.pages.tensors import Row, tensors_of
from irloop.pages.view import model_data

__all__ = ["drawn_models", "report_page"]

Result = Comparison | ModelDiff | Report
Section = dict[str, Any]

#: The largest number of models that the report of a validation draws.
DRAWN = 5


def drawn_models(result: Result, models: Sequence[Any]) -> list[Any]:
    """Return the models, or their paths, to draw; those with findings in a report come first."""
    if not isinstance(result, Report):
        return list(models)
    files = {item.location.file for item in result}
    names = [model.source if isinstance(model, Model) else os.fspath(model) for model in models]
    order = sorted(range(len(models)), key=lambda at: names[at] not in files)
    return [models[at] for at in order[:DRAWN]]


def report_page(result: Result, models: Sequence[Model], count: int = 1) -> str:
    """The text of the page of a result.

    `models` are the two that were compared, or some of the `count` validated ones.
    """
    if isinstance(result, Comparison):
        return page(_comparison(result, models))
    if isinstance(result, ModelDiff):
        return page(_diff(result, models))
    return page(_validation(result, models, count))


def _side_by_side(
    models: Sequence[Model], words: Sequence[str]
) -> tuple[list[dict[str, Any]], list[list[int]] | None]:
    """The data of models whose titles begin with `words`, and the pairs of nodes of two models."""
    sides = [
        Contents(model, f"{word}: {name}")
        for word, model, name in zip(words, models, model_names(models), strict=False)
    ]
    pairs = node_pairs(models, sides) if len(sides) == len(models) == 2 else None
    return [side.data for side in sides], pairs


def _table(columns: Iterable[tuple[str, str]], rows: list[list[Any]]) -> dict[str, Any]:
    return {"columns": [{"name": name, "kind": kind} for name, kind in columns], "rows": rows}


def _section(title: str, **content: Any) -> Section:
    return {"title": title, **content}


def _comparison(result: Comparison, models: Sequence[Model]) -> dict[str, Any]:
    evidence = result.evidence
    outcome = OUTCOMES[result.outcome]
    sides = list(models or (() if evidence is None else evidence.models))
    drawn, pairs = _side_by_side(sides, ("A", "B"))
    culprits = _culprits(result, drawn, pairs)
    for data, path in zip(drawn, culprits, strict=False):
        data["marks"] = {path: "culprit"} if path else {}
    focus = next(((at, culprits[at]) for at in (1, 0) if at < len(drawn) and culprits[at]), None)
    before = [*_cause(result), _section("Engines", table=_engines(result))]
    after = [_section("Outputs", table=_outputs(result.outputs))] if result.outputs else []
    after += [] if evidence is None else _tensors(evidence)
    after += _notes(result)
    return {
        "title": " against ".join(model_names(sides)) or "check",
        "models": drawn,
        "pairs": pairs,
        "focus": focus,
        "report": {
            "verdict": {"level": outcome.level, "text": outcome.words},
            "before": before,
            "after": after,
        },
    }


def _culprits(
    result: Comparison, drawn: Sequence[dict[str, Any]], pairs: list[list[int]] | None
) -> list[str]:
    """Return the path of the differing node in the first and in the second model.

    `drawn` holds the drawing data of the two models, and `pairs` their corresponding nodes. A path
    is empty if no such node is known in that model.
    """
    paths = ["", ""]
    if result.divergence is not None:
        paths = [result.divergence.path, result.divergence.other]
    if result.cause is None or len(drawn) < 2:
        return paths
    places = [Places(data).shown(result.cause.path) for data in drawn]
    paths = [paths[0] or places[0], places[1] or paths[1]]
    # The cause may be far before the first output that differs: show it in both models.
    second = drawn[1]["nodes"]
    twins = [first for first, other in pairs or () if second[other]["path"] == paths[1]]
    if twins:
        paths[0] = drawn[0]["nodes"][twins[0]]["path"]
    return paths


def _cause(result: Comparison) -> list[Section]:
    lines = [str(item) for item in (result.cause, result.divergence) if item is not None]
    lines += [*map(str, result.unrun), *result.problems]
    return [_section("Cause", lines=lines)] if lines else []


def _engines(result: Comparison) -> dict[str, Any]:
    columns = [
        ("model", "text"),
        ("engine", "text"),
        ("version", "text"),
        ("trials run", "number"),
        ("equal", "number"),
        ("largest difference", "number"),
    ]
    names = {"first": "A", "second": "B"}
    rows: list[list[Any]] = [
        [names[item.model], item.engine, item.version, item.ran, item.agreed, _worst(item)]
        for item in result.runs
    ]
    rows += [[None, name, "not installed", None, None, None] for name in result.missing]
    return _table(columns, rows)


def _worst(report: EngineReport) -> float | str | None:
    """Return the largest difference of an engine's outputs for the table of engines.

    NaN and infinity become strings, because JSON has neither. The result is None if trials disagree
    without a numeric difference, for example in a shape; the table of outputs describes this.
    """
    return _number(report.worst) if report.agreed == report.ran or report.worst else None


def _outputs(outputs: Sequence[OutputReport]) -> dict[str, Any]:
    columns = [
        ("output", "text"),
        ("type", "code"),
        ("verdict", "text"),
        ("max abs", "number"),
        ("max rel", "number"),
        ("ULP", "number"),
        ("inputs", "text"),
        ("engine", "text"),
    ]
    return _table(columns, [_output(item) for item in outputs])


def _output(report: OutputReport) -> list[Any]:
    gap = report.difference
    name = report.name if report.name == report.other else f"{report.name} / {report.other}"
    verdict = "equal" if report.equal else f"different: {report.verdict} {report.detail}".rstrip()
    numbers: list[Any] = [None, None, None]
    if gap is not None:
        numbers = [_number(gap.absolute), _number(gap.relative), gap.ulp]
    return [name, report.type, verdict, *numbers, report.trial, f"{report.engine}, {report.model}"]


def _tensors(evidence: Evidence) -> list[Section]:
    try:
        tensors = tensors_of(evidence)
    except IrloopError as error:
        return [_section("Intermediate tensors", lines=[f"not recorded: {error.message}"])]
    note = f"In irloop's executor, with these inputs: {evidence.label}."
    sections = []
    if tensors.curves:
        plot = {"curves": tensors.curves}
        sections.append(_section("Error of each state over iterations", note=note, plot=plot))
    columns = [
        ("tensor", "text"),
        ("type and shape", "code"),
        ("range in A", "number"),
        ("range in B", "number"),
        ("error", "number"),
        ("first iteration", "text"),
    ]
    more = f" {tensors.left_out} more are left out." if tensors.left_out else ""
    table = _table(columns, [_tensor(row) for row in tensors.rows])
    sections.append(_section("Intermediate tensors", note=f"{note}{more}", table=table))
    return sections


def _tensor(row: Row) -> list[Any]:
    model = 1 if row.paths[1] is not None else 0
    place = {"text": row.paths[model], "model": model, "path": row.paths[model]}
    if row.name not in (row.paths[model] or ""):
        place["text"] = f"{row.paths[model]} ({row.name})"
    ranges = [
        {"text": text, "key": size} if size is not None else text or None
        for text, size in zip(row.ranges, row.largest, strict=True)
    ]
    return [place, row.type, *ranges, row.error, row.first]


def _notes(result: Comparison) -> list[Section]:
    columns = [("inputs", "text"), ("result", "text")]
    rows = [
        [item.label, item.problem or ("equal" if item.equal else "different")]
        for item in result.trials
    ]
    sections = [_section("Trials", table=_table(columns, rows))] if rows else []
    lines = [
        *result.notes,
        *(f"exercised: {item}" for item in result.exercised),
        *(f"not exercised: {item}" for item in result.not_exercised),
        *(f"not compared: {item}" for item in result.not_compared),
    ]
    return [*sections, *([_section("Notes", lines=lines)] if lines else [])]


def _number(value: float) -> float | str:
    """A finite number unchanged; NaN or an infinity as text, because JSON has neither."""
    return value if value - value == 0 else str(value)


def _diff(result: ModelDiff, models: Sequence[Model]) -> dict[str, Any]:
    drawn, pairs = _side_by_side(models, ("old", "new"))
    rows, focus = [], None
    for change, (side, path) in zip(
        result.changes, changes_marked(result, drawn, pairs), strict=True
    ):
        focus = focus or ((side, path) if path else None)
        cell = {"text": change.path, "model": side, "path": path}
        rows.append([change.kind, cell, change.message])
    columns = [("change", "text"), ("place", "text"), ("what", "text")]
    level = "good" if result.same else "bad"
    return {
        "title": " to ".join(model_names(models)) or "diff",
        "models": drawn,
        "pairs": pairs,
        "focus": focus,
        "report": {
            "verdict": {"level": level, "text": "the same" if result.same else "different"},
            "before": [_section("Changes", table=_table(columns, rows))],
            "after": [],
        },
    }


def _validation(result: Report, models: Sequence[Model], count: int) -> dict[str, Any]:
    findings = result.sorted()
    drawn = [model_data(model) for model in models]
    places = {
        model.source: (at, Places(data))
        for at, (model, data) in enumerate(zip(models, drawn, strict=True))
    }
    for model, data in zip(models, drawn, strict=True):
        data["marks"] = _severities(findings, model.source, places[model.source][1])
    rows = [_finding(item, places) for item in findings]
    marked = ((at, path) for at, data in enumerate(drawn) for path in data["marks"])
    columns = [
        ("severity", "text"),
        ("code", "code"),
        ("file", "text"),
        ("place", "text"),
        ("finding", "text"),
        ("expected", "text"),
        ("found", "text"),
        ("fix", "text"),
    ]
    counts = {severity: result.count(severity) for severity in Severity}
    words = [
        f"{count} {severity.value}{'' if count == 1 or severity is Severity.INFO else 's'}"
        for severity, count in counts.items()
        if count
    ]
    level = "bad" if counts[Severity.ERROR] else "unsure" if counts[Severity.WARNING] else "good"
    one = model_name(models[0]) if models else ""
    note = f"{len(result.suppressed)} suppressed in the files" if result.suppressed else ""
    return {
        "title": f"Validation of {count} files" if count > 1 else one or "validation",
        "models": drawn,
        "focus": next(marked, None),
        "report": {
            "verdict": {"level": level, "text": ", ".join(words) or "no findings"},
            "before": [_section("Findings", note=note, table=_table(columns, rows))],
            "after": [],
        },
    }


def _severities(findings: Sequence[Diagnostic], file: str | None, places: Places) -> dict[str, str]:
    """Map the path of each drawn node to the highest severity of the findings about it.

    A finding counts if it is about `file`; it belongs to the drawn node that contains its location.
    """
    marks: dict[str, str] = {}
    for finding in sorted(findings, key=lambda item: item.severity.rank):
        path = places.shown(finding.location.path) if finding.location.file == file else ""
        if path:
            marks.setdefault(path, finding.severity.value)
    return marks


def _finding(finding: Diagnostic, places: dict[str | None, tuple[int, Places]]) -> list[Any]:
    side, known = places.get(finding.location.file, (None, None))
    path = "" if known is None else known.shown(finding.location.path)
    line = "" if finding.location.line is None else f":{finding.location.line}"
    return [
        finding.severity.value,
        finding.code,
        f"{finding.location.file or ''}{line}",
        {"text": finding.location.path, "model": side, "path": path},
        finding.message,
        finding.expected,
        finding.found,
        finding.fix,
    ]
