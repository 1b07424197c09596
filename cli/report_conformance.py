"""Formats the results of `irloop conformance` as text, JSON, JUnit, Markdown and HTML."""

from __future__ import annotations

import html as html_escapes
import json as json_module
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from irloop.diagnostics import one_line

if TYPE_CHECKING:
    from irloop import Conformance

__all__ = ["html", "json", "junit", "markdown", "text"]

#: The longest description; wrong outputs may be a long list of numbers.
LONGEST = 300

_STYLE = """\
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: auto; padding: 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border-bottom: 1px solid #8884; padding: .3rem .8rem; text-align: left; }
td { vertical-align: top; }
td.number { text-align: right; }
.wrong, .crashed, .hung { color: #cf222e; }
.refused { color: #9a6700; }
code { overflow-wrap: anywhere; }
"""


def _head(conformance: Conformance) -> str:
    total = conformance.rows[-1]
    right = total.total - len(conformance.faults)
    return f"{conformance.title}: {right} of {total.total} cases are right"


def _columns(found: Conformance) -> list[str]:
    return [verdict.value for verdict in found.rows[-1].counts]


def _counts(found: Conformance) -> list[tuple[str, list[int]]]:
    return [(row.feature, list(row.counts.values())) for row in found.rows]


def _short(detail: str) -> str:
    flat = one_line(" ".join(detail.split()))
    return flat if len(flat) <= LONGEST else f"{flat[:LONGEST]}..."


def text(conformance: Conformance) -> str:
    """Format a table with a row per feature, followed by the details of each failed case."""
    columns = _columns(conformance)
    rows = _counts(conformance)
    width = max(len(name) for name, _ in rows)
    lines = [_head(conformance), "", " " * width + "".join(f"{name:>9}" for name in columns)]
    for name, numbers in rows:
        cells = "".join(f"{number or '-':>9}" for number in numbers)
        lines.append(f"{name:<{width}}{cells}")
    for outcome in conformance.faults:
        case = outcome.case
        lines += [
            "",
            f"{case.name}: {outcome.verdict.value}",
            f"  {_short(outcome.detail)}",
            f"  {case.source}: {case.text}",
        ]
    return "\n".join(lines)


def json(conformance: Conformance) -> str:
    """All results: a list of cases, and the counts by feature."""
    columns = _columns(conformance)
    document = {
        "engine": conformance.engine.name,
        "version": conformance.engine.version,
        "features": [
            {"feature": name, **dict(zip(columns, numbers, strict=True))}
            for name, numbers in _counts(conformance)
        ],
        "cases": [
            {
                "name": outcome.case.name,
                "feature": outcome.case.feature,
                "format": outcome.case.format,
                "verdict": outcome.verdict.value,
                "detail": outcome.detail,
                "source": outcome.case.source,
                "text": outcome.case.text,
            }
            for outcome in conformance.outcomes
        ],
    }
    return json_module.dumps(document, indent=2)


def junit(conformance: Conformance) -> str:
    """Return the outcomes of a conformance run as a JUnit report in XML.

    Each case becomes a test case. It has failed if its verdict is not "right".
    """
    tests, failures = len(conformance.outcomes), len(conformance.faults)
    counts = f'tests="{tests}" failures="{failures}" errors="0" skipped="0"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuite name={quoteattr(f'irloop conformance {conformance.title}')} {counts}>",
    ]
    for outcome in conformance.outcomes:
        place = f"classname={quoteattr(outcome.case.feature)} name={quoteattr(outcome.case.name)}"
        if outcome.verdict.value == "right":
            lines.append(f"  <testcase {place}/>")
            continue
        message = quoteattr(f"{outcome.verdict.value}: {_short(outcome.detail)}")
        lines += [
            f"  <testcase {place}>",
            f"    <failure message={message}>{escape(outcome.case.text)}</failure>",
            "  </testcase>",
        ]
    return "\n".join([*lines, "</testsuite>"])


def markdown(conformance: Conformance) -> str:
    """Format the results as Markdown: a table by feature, and a table of the faulty cases."""
    lines = [f"## {conformance.title}", "", f"{_head(conformance)}.", ""]
    lines += _markdown_table(
        ["feature", *_columns(conformance)],
        ([name, *(str(count or "") for count in counts)] for name, counts in _counts(conformance)),
    )
    if conformance.faults:
        lines += ["", "Cases that are not right:", ""]
        lines += _markdown_table(
            ["case", "verdict", "result"],
            (
                [f"`{item.case.name}`", item.verdict.value, f"`{_short(item.detail)}`"]
                for item in conformance.faults
            ),
        )
    return "\n".join(lines)


def _markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return lines


def html(conformance: Conformance) -> str:
    """Return the conformance report as one HTML page.

    The page has no scripts, and no links to other hosts.
    """
    head = "".join(f"<th>{name}</th>" for name in ("feature", *_columns(conformance)))
    rows = "".join(
        f"<tr><td>{html_escapes.escape(name)}</td>"
        + "".join(f'<td class="number">{number or ""}</td>' for number in numbers)
        + "</tr>\n"
        for name, numbers in _counts(conformance)
    )
    faults = "".join(
        f"<tr><td><code>{html_escapes.escape(outcome.case.name)}</code></td>"
        f'<td class="{outcome.verdict.value}">{outcome.verdict.value}</td>'
        f"<td><code>{html_escapes.escape(_short(outcome.detail))}</code></td>"
        f"<td>{html_escapes.escape(f'{outcome.case.source}: {outcome.case.text}')}</td></tr>\n"
        for outcome in conformance.faults
    )
    title = html_escapes.escape(_head(conformance))
    what = "<tr><th>case</th><th>verdict</th><th>result</th><th>specification</th></tr>"
    listed = f"<h2>Not right</h2><table>{what}{faults}</table>" if faults else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{title}</h1>\n"
        f"<table><tr>{head}</tr>\n{rows}</table>\n{listed}</body></html>"
    )
