"""``irloop schema``: the schema of IR files for editors."""

from __future__ import annotations

import click

from .completion import files
from .console import common_options, console_of
from .files import require_folder, write_whole, writer_for

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop schema -o ir-v11.xsd
  irloop schema --ir-version 10 -o ir-v10.xsd
"""


@click.command("schema", epilog=EPILOG, short_help="Write a schema of IR files for editors.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=files,
    default="-",
    help="The file to write.  [default: the standard output]",
)
@click.option("--ir-version", type=click.Choice(["10", "11"]), default="11", show_default=True)
@common_options
@click.pass_context
def command(ctx: click.Context, /, output: str, ir_version: str) -> None:
    """Write an XML schema with which editors complete and check IR files, and explain them.

    The schema has types for operations, opsets, attributes, element types and purposes, and a
    description of each element and attribute. To catch common mistakes it is stricter than the
    format; 'irloop validate' tells what a runtime accepts.
    """
    from irloop import editor_schema

    if output != "-":
        writer_for(output, {".xsd": write_whole}, "the schema is")
        require_folder(output)
    write_whole(output, editor_schema(int(ir_version)).rstrip("\n"))
    if output != "-":
        console_of(ctx).note(f"wrote {output}")
