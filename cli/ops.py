"""``irloop ops``: what irloop can do with each operation, read from the registries."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import click

from . import report_json
from .completion import operation_names
from .console import common_options, say_table
from .options import format_option

if TYPE_CHECKING:
    from irloop import Coverage

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop ops
  irloop ops Loop 'Reduce*'
  irloop ops --dialect openvino --opset 7
  irloop ops --dialect onnx --missing
  irloop ops --format json
"""

HEADERS = ("dialect", "operation", "opsets", "infer", "run", "export", "import", "notes")


@click.command("ops", epilog=EPILOG, short_help="List what irloop can do with each operation.")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=operation_names)
@click.option(
    "--dialect",
    type=click.Choice(["openvino", "onnx"]),
    help="List only this format.  [default: both]",
)
@click.option(
    "--opset",
    type=click.IntRange(min=1),
    metavar="N",
    help="List only the versions that apply in opset N.",
)
@click.option(
    "--missing", is_flag=True, help="List only operations that irloop does not fully support."
)
@format_option()
@common_options
def command(
    names: tuple[str, ...], dialect: str | None, opset: int | None, missing: bool, style: str
) -> None:
    """List what irloop can do with each operation, or with those called NAME.

    Letter case does not matter in NAME; * stands for any characters, ? for one character. There is
    one line for each version of an operation, with the opsets that have it. infer: types and shapes
    are inferred. run: the built-in executor runs it. export: it converts to ONNX. import: it
    converts to OpenVINO. A NAME without * and ? also lists inputs, outputs and attributes, with
    element types, defaults and ranges.
    """
    from irloop import operations
    from irloop.errors import UsageError, did_you_mean

    wanted = [name.lower() for name in names] or ["*"]
    rows = [
        row
        for row in operations()
        if dialect in (None, row.dialect)
        and any(fnmatchcase(row.type.lower(), name) for name in wanted)
        and (opset is None or row.since <= opset <= (row.until or opset))
        and not (missing and row.complete)
    ]
    if names and not rows:
        near = (did_you_mean(name, {row.type for row in operations()}) for name in names)
        raise UsageError(
            f"no operation is called {' or '.join(names)}",
            expected="see 'irloop ops'",
            fix=" ".join(filter(None, near)),
        )
    if style == "json":
        click.echo(report_json.dump({"schema": "irloop-ops/1", "ops": list(map(_entry, rows))}))
        return
    say_table([HEADERS, *map(_cells, rows)])
    click.echo("1 operation" if len(rows) == 1 else f"{len(rows)} operations")
    for row in rows:
        if row.type.lower() in wanted:
            _describe(row)


def _entry(row: Coverage) -> dict[str, object]:
    return {
        "dialect": row.dialect,
        "domain": row.domain,
        "type": row.type,
        "since": row.since,
        "until": row.until,
        "infer": row.infer,
        "run": row.run,
        "convert": row.convert,
        "export": row.exported,
        "import": row.imported,
        "notes": row.notes,
        "summary": row.summary,
        "inputs": [item._asdict() for item in row.inputs],
        "outputs": [item._asdict() for item in row.outputs],
        "attributes": [
            item._asdict() | {"default": _plain(item.default)} for item in row.attributes
        ],
        "later_types": [list(item) for item in row.later_types],
    }


def _plain(value: Any) -> Any:
    """Convert the default value of an attribute to a value that JSON can hold.

    Tuples become lists; element types and shapes become strings.
    """
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _describe(row: Coverage) -> None:
    click.echo(f"\n{row.label} ({row.dialect}): {row.summary}")
    lines = [("  input", item.label, _grouped(item.types)) for item in row.inputs]
    lines += [("  output", item.label, _grouped(item.types)) for item in row.outputs]
    lines += [("  attribute", item.name, item.description) for item in row.attributes]
    for at, name, types in row.later_types:
        lines.append((f"  opset {at}", name, f"also {_grouped(types)}"))
    if lines:
        say_table(lines)


def _grouped(types: str) -> str:
    """Write types with the same container together, as in ``S: seq(tensor(float | double))``."""
    label, colon, listed = types.rpartition(": ")
    groups: dict[str, list[str]] = {}
    for item in listed.split(" | "):
        container, bracket, element = item.rpartition("(")
        groups.setdefault(container + bracket, []).append(element.rstrip(")"))
    texts = [
        container + " | ".join(elements) + ")" * container.count("(")
        for container, elements in groups.items()
    ]
    return label + colon + " | ".join(texts)


def _cells(row: Coverage) -> tuple[str, ...]:
    words = {True: "yes", False: "no", None: "-"}
    marks = (row.infer, row.run, row.exported, row.imported)
    return (row.dialect, row.label, row.opsets, *(words[mark] for mark in marks), row.notes)
