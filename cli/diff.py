"""``irloop diff``: what changed between two models of one format."""

from __future__ import annotations

import click

from . import report_json
from .console import common_options, console_of, say
from .exits import Exit
from .files import require_free
from .names import ModelPath
from .options import format_option, page_option

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop diff old.xml new.xml
  irloop diff old.onnx new.onnx --format json
  irloop diff old.xml new.xml --report changes.html
"""


@click.command("diff", epilog=EPILOG, short_help="Show what changed between two models.")
@click.argument("old", type=ModelPath())
@click.argument("new", type=ModelPath())
@format_option()
@click.option("--metadata", is_flag=True, help="Also compare metadata and runtime information.")
@page_option
@common_options
@click.pass_context
def command(
    ctx: click.Context, /, old: str, new: str, style: str, metadata: bool, page: str | None
) -> None:
    """Show what changed in NEW: operations, attributes, connections, port maps, weights.

    Both models must have the same format. Nodes are matched by what they compute, so renaming them
    is not a difference; renaming inputs and outputs is. The exit status is 1 if something changed.
    """
    from irloop import diff, save_report

    if page is not None:
        require_free(page, [old, new])
    console = console_of(ctx)
    console.progress(f"comparing {old} and {new}")
    difference = diff(old, new, metadata=metadata)
    console.done()
    if page is not None:
        console.progress(f"writing {page}")
        save_report(difference, page, [old, new])
        console.done()
        console.note(f"wrote {page}")
    if style == "json":
        click.echo(report_json.report("diff", (), files=[old, new], diff=difference.to_dict()))
    else:
        say(str(difference))
    if not difference.same:
        ctx.exit(Exit.FINDINGS)
