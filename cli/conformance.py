"""``irloop conformance``: what an engine gets right and wrong about loops."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from . import report_conformance
from .completion import engines
from .console import common_options, console_of
from .exits import Exit
from .files import require_folder, write_whole, writer_for
from .options import format_option, memory_option

if TYPE_CHECKING:
    from irloop import Conformance

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop conformance onnxruntime
  irloop conformance openvino -o report.html -o junit.xml
  irloop conformance onnx.reference --feature scan
  irloop conformance my_runtime:load --programs 500 --seed 7

\b
ENGINE is onnxruntime, openvino, onnx.reference, irloop, or module:function: a function that
takes the path of a model and returns a callable from a list of arrays, the inputs by
position, to the outputs.

\b
Exit status: 0 when every case is right, 1 when one is not, 2 when the engine cannot be run.
"""

_WRITERS: dict[str, Callable[[Conformance], str]] = {
    ".html": report_conformance.html,
    ".json": report_conformance.json,
    ".md": report_conformance.markdown,
    ".xml": report_conformance.junit,
}


@click.command("conformance", epilog=EPILOG, short_help="Test how an engine runs loops.")
@click.argument("engine", shell_complete=engines)
@click.option(
    "-o",
    "--output",
    "outputs",
    metavar="FILE",
    multiple=True,
    type=click.Path(dir_okay=False),
    help="Also write a report; .html, .json, .md, or .xml for JUnit.",
)
@click.option(
    "--feature",
    "features",
    metavar="TEXT",
    multiple=True,
    help="Run only features whose name contains this text.",
)
@click.option("--case", "cases", metavar="NAME", multiple=True, help="Run only this case.")
@click.option(
    "--programs",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The number of generated programs to run in addition.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="The seed of the first program."
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    help="The time limit of one inference.",
)
@memory_option
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=min(4, os.cpu_count() or 1),
    help="The number of cases that run at a time.",
)
@format_option()
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    engine: str,
    outputs: Sequence[str],
    features: Sequence[str],
    cases: Sequence[str],
    style: str,
    **options: Any,
) -> None:
    """Run a suite of small models with loops on ENGINE and compare with calculated results.

    Each case runs in a separate process, and may run several inferences of one compiled model.
    """
    from irloop import conform

    console = console_of(ctx)
    writers = [(writer_for(file, _WRITERS), file) for file in outputs]
    require_folder(*outputs)

    def progress(done: int, total: int) -> None:
        console.progress(f"{engine}: {done} of {total} cases")
        console.counted("", done, total)

    conformance = conform(engine, features=features, cases=cases, progress=progress, **options)
    console.done()
    for write, file in writers:
        write_whole(file, write(conformance))
    if style == "text":
        click.echo(report_conformance.text(conformance))
    else:
        write_whole("-", report_conformance.json(conformance))
    ctx.exit(Exit.FINDINGS if conformance.faults else Exit.FINE)
