"""``irloop passes``: list the passes that `irloop transform` can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from irloop.errors import UsageError, did_you_mean

from . import report_json
from .completion import pass_names
from .console import common_options, say, say_table
from .options import format_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from irloop import PassInfo

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop passes
  irloop passes unroll
  irloop passes --dialect onnx --format json
"""


@click.command("passes", epilog=EPILOG, short_help="List the passes, or describe one.")
@click.argument("name", required=False, shell_complete=pass_names)
@click.option(
    "--dialect", type=click.Choice(["openvino", "onnx"]), help="List only passes for this format."
)
@format_option()
@common_options
def command(name: str | None, dialect: str | None, style: str) -> None:
    """List the passes, including those of other installed packages.

    With NAME, describe one pass: a graph before and after it, what it leaves alone, and its
    options.
    """
    from irloop import transformations

    known = transformations()
    shown = [item for item in known if dialect is None or dialect in item.dialects]
    if name is not None:
        shown = [item for item in known if item.name == name.replace("-", "_")]
        if not shown:
            names = [item.name for item in known]
            raise UsageError(
                f"no pass is called {name!r}",
                expected=", ".join(names),
                fix=did_you_mean(name, names),
            )
    if style == "json":
        click.echo(
            report_json.dump(
                {
                    "schema": "irloop-passes/1",
                    "passes": [
                        {**item._asdict(), "options": [option._asdict() for option in item.options]}
                        for item in shown
                    ],
                }
            )
        )
        return
    if name is None:
        say_table(map(_row, shown))
        say(f"{len(shown)} passes")
        return
    for line in _page(shown[0]):
        say(line)


def _row(info: PassInfo) -> tuple[str, str, str]:
    where = "both" if len(info.dialects) > 1 else info.dialects[0]
    off = "" if info.enabled else " (only on request)"
    foreign = "" if info.origin == "irloop" else f" [{info.origin}]"
    return info.name, where, f"{info.summary}{off}{foreign}"


def _page(info: PassInfo) -> Iterator[str]:
    yield f"{info.name}: {info.summary}"
    yield f"works on {' and '.join(info.dialects)}; from {info.origin}"
    if not info.enabled:
        yield "runs only when it is requested by name"
    for title, drawing in (("given", info.given), ("result", info.result)):
        if drawing:
            yield from ("", title, *(f"    {line}" for line in drawing.splitlines()))
    if info.notes:
        yield from ("", *info.notes.splitlines())
    if info.options:
        yield from ("", "options")
    for option in info.options:
        default = f" (default {option.default})" if option.default else ""
        yield f"    {option.name}: {option.type}{default}"
        yield f"        {option.doc}"
