"""Counts the results in a table, and compares them with an older table."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.fleet import table
from irloop.fleet.verdicts import FINDINGS, IGNORED, UNKNOWN, done_key

__all__ = ["Changes", "Summary", "kind_of", "summarized"]

Row = dict[str, Any]

COLUMNS = (
    *("path", "digest", "size", "verdict", "detail", "codes", "refusals", "seconds", "memory"),
    *("max_abs", "max_rel", "output", "versions"),
)

#: Maximum number of rows in each list, of rows with the largest times, memory or differences, and
#: of findings for SARIF and JUnit.
LISTED = 1000
TOP = 20
FOUND = 25_000


@dataclass(slots=True)
class Changes:
    """Differences from an older table.

    `rows` lists at most `LISTED` rows of each kind, each with its old verdict. `counts` has the
    total of each kind: broken, mended, changed (another verdict, or other findings), new and gone.
    """

    counts: Counter[str] = field(default_factory=Counter)
    rows: dict[str, list[tuple[Row, str]]] = field(default_factory=dict)

    def add(self, kind: str, row: Row, before: str) -> None:
        """Count a row of the new table as a difference of this kind.

        `kind` is "broken", "mended", "changed" or "new". `before` is the old verdict, or "" for a
        new row. The row is also added to `rows`, unless `LISTED` rows of this kind are already
        there.
        """
        self.counts[kind] += 1
        rows = self.rows.setdefault(kind, [])
        if len(rows) < LISTED:
            rows.append((row, before))


@dataclass(slots=True)
class Summary:
    """The content of a table of results; for each model and step, the last row counts.

    `verdicts` counts rows by step and verdict. `families` counts rows by folder and kind of verdict
    ("finding", "unknown" or "fine"). `codes` counts the rows that have each diagnostic code, and
    `operations` the rows in which each operation is refused. `examples` has the path of one model
    for each code and each operation.

    `slowest`, `biggest` and `farthest` are the rows that have the largest times, memory and
    differences. `failures` holds rows whose verdict is a finding. The keys of `diagnostics` are the
    diagnostics of the rows whose verdict is a finding or unknown.
    """

    models: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)
    families: Counter[tuple[str, str]] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    slowest: list[Row] = field(default_factory=list)
    biggest: list[Row] = field(default_factory=list)
    farthest: list[Row] = field(default_factory=list)
    failures: list[Row] = field(default_factory=list)
    diagnostics: dict[Diagnostic, None] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    changes: Changes | None = None

    @property
    def findings(self) -> int:
        """The number of rows that are findings."""
        return sum(count for (_, verdict), count in self.verdicts.items() if verdict in FINDINGS)

    @property
    def unknown(self) -> int:
        """The number of rows whose verdict is unknown."""
        return sum(count for (_, verdict), count in self.verdicts.items() if verdict in UNKNOWN)


def kind_of(verdict: str) -> str:
    """The kind of a verdict: "finding", "unknown", or "fine"."""
    if verdict in FINDINGS:
        return "finding"
    return "unknown" if verdict in UNKNOWN else "fine"


def summarized(target: str, old: str | None = None, *, all_paths: bool = False) -> Summary:
    """Summarize a table of results.

    Args:
        target: the folder or address of the results.
        old: the folder or address of older results to compare with.
        all_paths: collect the paths of all models, for reports that list them.

    Raises:
        UsageError: when one of them has no results, or cannot be read.
    """
    table.exists(target)
    summary = Summary()
    before = None if old is None else _Before(old)
    if before is not None:
        summary.changes = Changes()
    tops = _Tops()
    seen: list[int] = []
    for row in _rows(target):
        if row["verdict"] == IGNORED:
            continue
        seen.append(done_key(row["path"]))
        _count(summary, row)
        tops.add(row)
        if before is not None and summary.changes is not None:
            before.compare(row, summary.changes)
        if all_paths:
            summary.paths.append(row["path"])
    summary.models = len(np.unique(np.array(seen, np.uint64)))
    summary.slowest, summary.biggest, summary.farthest = tops.rows()
    summary.paths = sorted(set(summary.paths))
    if before is not None and summary.changes is not None:
        summary.changes.counts["gone"] = before.left()
    return summary


def _rows(target: str) -> Iterator[Row]:
    counts = table.latest(target)
    start = 0
    for day, step, columns in table.scan(target, COLUMNS):
        length = len(columns["path"])
        for index in np.flatnonzero(counts[start : start + length]):
            row = {name: values[index] for name, values in columns.items()}
            yield {**row, "step": step, "day": day}
        start += length


def _count(summary: Summary, row: Row) -> None:
    path, verdict = row["path"], row["verdict"]
    kind = kind_of(verdict)
    summary.verdicts[row["step"], verdict] += 1
    summary.versions[row["versions"]] += 1
    folder = path.rpartition("/")[0] or "."
    summary.families[folder, kind] += 1
    codes = row["codes"] or ()
    for code in {finding["code"] for finding in codes}:
        summary.codes[code] += 1
        summary.examples.setdefault(code, path)
    for operation in {finding["operation"] for finding in row["refusals"] or ()} - {""}:
        summary.operations[operation] += 1
        summary.examples.setdefault(operation, path)
    if kind == "fine":
        return
    if len(summary.failures) < LISTED and kind == "finding":
        summary.failures.append(row)
    for finding in codes:
        if len(summary.diagnostics) < FOUND:
            # Several steps may report the same finding, so duplicates are removed.
            summary.diagnostics.setdefault(_diagnostic(path, finding))


def _diagnostic(path: str, finding: Row) -> Diagnostic:
    severities = {"error": Severity.ERROR, "warning": Severity.WARNING}
    severity = severities.get(finding["severity"], Severity.INFO)
    place = Location(file=path, line=finding["line"], path=finding["place"] or "")
    return Diagnostic(finding["code"], severity, finding["message"], place)


class _Tops:
    """Collects, for each column in `NAMES`, the rows with the largest values in that column.

    At most `TOP` rows are kept for a column.
    """

    NAMES = ("seconds", "memory", "max_abs")

    def __init__(self) -> None:
        self._heaps: tuple[list[Any], ...] = ([], [], [])
        self._number = 0

    def add(self, row: Row) -> None:
        self._number += 1
        for name, heap in zip(self.NAMES, self._heaps, strict=True):
            value = row[name]
            if not value or math.isnan(value):
                continue
            entry = (value, -self._number, row)
            if len(heap) < TOP:
                heapq.heappush(heap, entry)
            elif entry > heap[0]:
                heapq.heapreplace(heap, entry)

    def rows(self) -> tuple[list[Row], list[Row], list[Row]]:
        first, second, third = (
            [entry[2] for entry in sorted(heap, reverse=True)] for heap in self._heaps
        )
        return first, second, third


class _Before:
    """The results of an older run, with which the rows of a new table are compared.

    Keeps the verdict and the diagnostic codes of each model and step, in about 20 bytes per row.
    """

    def __init__(self, target: str) -> None:
        table.exists(target)
        counts = table.latest(target)
        keys: list[int] = []
        verdicts: list[int] = []
        codes: list[int] = []
        self._names: list[str] = []
        number = 0
        for _, step, columns in table.scan(target, ("path", "verdict", "codes")):
            for path, verdict, findings in zip(*columns.values(), strict=True):
                number += 1
                if not counts[number - 1] or verdict == IGNORED:
                    continue
                keys.append(done_key(path, step))
                verdicts.append(self._number_of(verdict))
                codes.append(_codes_key(findings))
        order = np.argsort(np.array(keys, np.uint64))
        self._keys = np.array(keys, np.uint64)[order]
        self._verdicts = np.array(verdicts, np.uint8)[order]
        self._codes = np.array(codes, np.uint64)[order]
        self._seen = np.zeros(len(order), bool)

    def _number_of(self, verdict: str) -> int:
        if verdict not in self._names:
            self._names.append(verdict)
        return self._names.index(verdict)

    def compare(self, row: Row, changes: Changes) -> None:
        """Record in `changes` how a row differs from the older result for its model and step.

        A model and step without an older result count as new.
        """
        key = done_key(row["path"], row["step"])
        place = int(np.searchsorted(self._keys, np.uint64(key)))
        if place == len(self._keys) or int(self._keys[place]) != key:
            changes.add("new", row, "")
            return
        self._seen[place] = True
        old, new = self._names[self._verdicts[place]], row["verdict"]
        kinds = kind_of(old), kind_of(new)
        if kinds[1] == "finding" and kinds[0] != "finding":
            changes.add("broken", row, old)
        elif kinds[0] == "finding" and kinds[1] == "fine":
            changes.add("mended", row, old)
        elif old != new or int(self._codes[place]) != _codes_key(row["codes"]):
            changes.add("changed", row, old)

    def left(self) -> int:
        """The number of old rows without a counterpart in the new table."""
        return int(np.count_nonzero(~self._seen))


def _codes_key(codes: Sequence[Row] | None) -> int:
    return done_key(*sorted({item["code"] for item in codes or ()}))
