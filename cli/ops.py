"""``irloop ops``: what irloop can do with each operation, read from the registries."""

from __future__ import annotations

import click

from . import report_json
from .console import common_options

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop ops
  irloop ops --dialect onnx --missing
  irloop ops --format json
"""


@click.command("ops", epilog=EPILOG, short_help="What can be done with each operation.")
@click.option(
    "--dialect", type=click.Choice(["openvino", "onnx"]), help="Only this side (default: both)."
)
@click.option("--missing", is_flag=True, help="Only operations that lack something.")
@click.option(
    "--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@common_options
def command(dialect: str | None, missing: bool, style: str) -> None:
    """List the operations irloop knows: type and version, and what it can do with each.

    infer: types and shapes are inferred; run: the built-in executor runs it; convert: it can be
    said in the other format (OpenVINO to ONNX, or ONNX to OpenVINO).
    """
    from irloop import operations

    rows = [
        row
        for row in operations()
        if dialect in (None, row.dialect)
        and not (missing and row.infer and row.run and row.convert)
    ]
    if style == "json":
        click.echo(
            report_json.dump({"schema": "irloop-ops/1", "ops": [row._asdict() for row in rows]})
        )
        return
    width = max((len(row.label) for row in rows), default=0)
    click.echo(f"{'dialect':<8}  {'operation':<{width}}  infer  run  convert")
    for row in rows:
        marks = (row.infer, row.run, row.convert)
        infer, run, convert = ("yes" if mark else "no" for mark in marks)
        click.echo(f"{row.dialect:<8}  {row.label:<{width}}  {infer:<5}  {run:<3}  {convert}")
    click.echo(f"{len(rows)} operations")
