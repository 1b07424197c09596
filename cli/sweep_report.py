"""``irloop sweep report``: reports of sweeps, for people and for CI."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from irloop.diagnostics import Severity, one_line
from irloop.fleet.needs import require_packages

from . import report_json, report_junit, report_sarif
from .completion import files
from .console import common_options, console_of, say
from .exits import Exit
from .files import require_folder, write_whole, writer_for
from .options import format_option

if TYPE_CHECKING:
    from irloop.fleet.summary import Summary

__all__ = ["report_command"]

#: Maximum number of rows of each list that a text report shows.
SHOWN = 20

#: The number of families that are listed.
FAMILIES = 200

KINDS = ("broken", "mended", "changed", "new", "gone")

Table = tuple[str, Sequence[str], list[Sequence[Any]]]


@click.command("report", short_help="Report the results of a sweep.")
@click.argument("results", shell_complete=files)
@click.option(
    "-o",
    "--output",
    "outputs",
    metavar="FILE",
    multiple=True,
    type=click.Path(dir_okay=False),
    help="Also write a report: .html, .json, .sarif, .xml (JUnit) or .txt.",
)
@click.option(
    "--compare",
    "old",
    metavar="OLD",
    shell_complete=files,
    help="Older results; report what changed since.",
)
@format_option(("text", "json", "sarif", "junit"), help="The format of the report on stdout.")
@common_options
@click.pass_context
def report_command(
    ctx: click.Context,
    /,
    results: str,
    outputs: Sequence[str],
    old: str | None,
    style: str,
) -> None:
    """Report the results of sweeps: by verdict, family, code and operation.

    RESULTS is the folder or address that `irloop sweep` has written. The exit status is 1 if there
    are findings; with --compare only if something broke that worked before.
    """
    require_packages("fsspec", "pyarrow")
    from irloop.fleet.summary import summarized

    writers = [(writer_for(file, _WRITERS), file) for file in outputs]
    require_folder(*outputs)
    junit_too = style == "junit" or any(file.lower().endswith(".xml") for file in outputs)
    console = console_of(ctx)
    console.progress(f"reading {results}")
    summary = summarized(results, old, all_paths=junit_too)
    console.done()
    for write, file in writers:
        write_whole(file, write(summary))
    if style == "text":
        say(_text(summary))
    else:
        click.echo(_WRITERS[{"json": ".json", "sarif": ".sarif", "junit": ".xml"}[style]](summary))
    failing = summary.findings if summary.changes is None else summary.changes.counts["broken"]
    if failing:
        ctx.exit(Exit.FINDINGS)
    ctx.exit(Exit.NOT_CHECKED if summary.unknown and summary.changes is None else Exit.FINE)


def _tables(summary: Summary, most: int) -> list[Table]:
    """The tables of a report: titles, column heads and rows of plain values.

    Long tables of examples and findings are cut to `most` rows, and empty tables are left out.
    """
    verdicts = [(*key, count) for key, count in sorted(summary.verdicts.items())]
    tables: list[Table] = [("Verdicts", ("step", "verdict", "rows"), list(verdicts))]
    if summary.changes is not None:
        counts = [(kind, summary.changes.counts[kind]) for kind in KINDS]
        tables.append(("Since the older results", ("change", "rows"), list(counts)))
        tables += [
            (
                f"{kind.capitalize()}",
                ("model", "step", "before", "now", "detail"),
                [_changed(row, before) for row, before in summary.changes.rows.get(kind, ())][
                    :most
                ],
            )
            for kind in ("broken", "mended", "changed")
        ]
    tables += [
        ("Codes", ("code", "rows", "for example"), _examples(summary, summary.codes)[:most]),
        (
            "Operations that are refused",
            ("operation", "rows", "for example"),
            _examples(summary, summary.operations)[:most],
        ),
        ("Families", ("folder", "fine", "findings", "unknown"), _families(summary)),
        (
            "Slowest",
            ("model", "step", "seconds"),
            [_top(row, "seconds") for row in summary.slowest],
        ),
        (
            "Most memory",
            ("model", "step", "MB"),
            [(row["path"], row["step"], f"{row['memory'] / 1e6:.0f}") for row in summary.biggest],
        ),
        (
            "Largest errors",
            ("model", "step", "absolute error"),
            [_top(row, "max_abs") for row in summary.farthest],
        ),
        (
            "Findings",
            ("model", "step", "verdict", "detail", "converted"),
            [_failure(row) for row in summary.failures][:most],
        ),
    ]
    return [table for table in tables if table[2]]


def _changed(row: dict[str, Any], before: str) -> Sequence[Any]:
    return row["path"], row["step"], before, row["verdict"], _detail(row)


def _detail(row: dict[str, Any]) -> str:
    codes = sorted({item["code"] for item in row["codes"] or ()})
    return " ".join([*codes[:5], row["detail"] or ""]).strip()


def _failure(row: dict[str, Any]) -> Sequence[Any]:
    return row["path"], row["step"], row["verdict"], _detail(row), row["output"] or ""


def _top(row: dict[str, Any], column: str) -> Sequence[Any]:
    return row["path"], row["step"], f"{row[column]:.3g}"


def _examples(found: Summary, counts: Any) -> list[Sequence[Any]]:
    return [(name, count, found.examples[name]) for name, count in counts.most_common()]


def _families(found: Summary) -> list[Sequence[Any]]:
    names = {folder for folder, _ in found.families}
    kinds = ("fine", "finding", "unknown")
    rows: list[Any] = [[name, *(found.families[name, kind] for kind in kinds)] for name in names]
    return sorted(rows, key=lambda row: (-row[2], -row[3], row[0]))[:FAMILIES]


def _text(summary: Summary) -> str:
    lines = [f"{summary.models:,} models, {summary.findings:,} findings"]
    lines += [f"  {text}: {count:,}" for text, count in sorted(summary.versions.items())]
    for title, head, rows in _tables(summary, SHOWN):
        cells = [[one_line(str(cell)) for cell in row] for row in rows[:SHOWN]]
        widths = [max(map(len, column)) for column in zip(*cells, head, strict=True)]
        lines += ["", title]
        for row in (head, *cells):
            padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append(f"  {'  '.join(padded).rstrip()}")
        if len(rows) > SHOWN:
            lines.append(f"  and {len(rows) - SHOWN} more")
    return "\n".join(lines)


def _json(summary: Summary) -> str:
    content: dict[str, Any] = {
        "schema": "irloop-sweep/1",
        "models": summary.models,
        "findings": summary.findings,
        "versions": dict(summary.versions),
    }
    content["tables"] = {
        title.lower().replace(" ", "_"): [dict(zip(head, row, strict=True)) for row in rows]
        for title, head, rows in _tables(summary, 1000)
    }
    return report_json.dump(content)


def _sarif(found: Summary) -> str:
    return report_sarif.render([item.for_public_logs() for item in found.diagnostics])


def _junit(found: Summary) -> str:
    findings = [item.for_public_logs() for item in found.diagnostics]
    return report_junit.render(findings, found.paths, Severity.ERROR, "irloop sweep")


def _html(summary: Summary) -> str:
    """Return the page of a sweep. Its links lead to models and to conversions, nowhere else."""
    from irloop.fleet.page import table_page

    tables = [
        (
            name,
            head,
            [[_cell(label, cell) for label, cell in zip(head, row, strict=True)] for row in rows],
        )
        for name, head, rows in _tables(summary, 1000)
    ]
    count = f"{summary.findings:,} findings"
    return table_page(
        f"Sweep of {summary.models:,} models",
        ("bad", count) if summary.findings else ("good", "no findings"),
        [f"{text}: {number:,}" for text, number in sorted(summary.versions.items())],
        tables,
    )


def _cell(label: str, value: Any) -> Any:
    if label in ("seconds", "MB", "absolute error"):
        return float(value) if math.isfinite(float(value)) else str(value)
    if isinstance(value, int):
        return value
    link = _link(label, str(value))
    return {"text": str(value), "href": link} if link else str(value)


def _link(label: str, value: str) -> str:
    """Return the address to which a cell of the table links; empty if the cell is no link.

    A cell links to a model, or to the converted model next to the page.
    """
    if label == "converted":
        return quote(value)
    if label not in ("model", "for example") or "!/" in value:
        return ""
    if value.startswith(("https://", "http://")):
        return quote(value, safe=":/?&=%")
    return f"file://{quote(value)}" if value.startswith("/") else ""


_WRITERS: dict[str, Callable[[Summary], str]] = {
    ".html": _html,
    ".json": _json,
    ".sarif": _sarif,
    ".txt": _text,
    ".xml": _junit,
}
