"""``irloop run``: run a model on given or generated inputs with the built-in executor."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from irloop import budget
from irloop.diagnostics import one_line
from irloop.errors import ExecutionError, UnsupportedError, UsageError
from irloop.files import scratch

from . import report_text
from .arrays import describe, matched
from .console import common_options, console_of
from .files import require_free, weight_files, write_whole, writer_for
from .names import ArraysPath, ModelPath
from .options import dims_option, input_type_options, weights_option

if TYPE_CHECKING:
    from collections.abc import Mapping

    from irloop import Limits, Model

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop run model.xml --inputs in.npz --outputs out.npz
  irloop run model.onnx --inputs image.npy
  irloop run first.onnx --outputs - | irloop run second.onnx --inputs -
  irloop run model.xml --seed 7 --trace 2> trace.txt
  irloop run model.xml --profile --profile-trace trace.json
  irloop run model.xml --inputs in.npz --max-iterations 1000 --max-memory 2G
  irloop run model.onnx --dim batch=2 --shape image=1,3,224,224 --type y=f32
"""


@click.command("run", epilog=EPILOG, short_help="Run a model with the built-in executor.")
@click.argument("model", type=ModelPath())
@weights_option()
@click.option(
    "-i",
    "--inputs",
    metavar="FILE",
    type=ArraysPath(),
    help="A .npz with arrays by input name or in0, in1, ... by position; a .npy for one input.",
)
@click.option(
    "-o",
    "--outputs",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="The .npz to write, outputs by name in the model's order; -: the standard output.",
)
@dims_option
@input_type_options
@click.option(
    "--seed", type=int, default=0, show_default=True, help="The seed of generated inputs."
)
@click.option("--trace", is_flag=True, help="Print every node in every iteration to stderr.")
@click.option("--profile", is_flag=True, help="Print the time of operations and nodes to stderr.")
@click.option(
    "--profile-trace",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write the time of every call in the format of chrome://tracing and Perfetto.",
)
@click.option(
    "--max-iterations",
    type=click.IntRange(min=1),
    help="The maximum number of iterations of each loop.",
)
@common_options
@click.pass_context
def command(ctx: click.Context, /, model: str, **options: Any) -> None:
    """Run MODEL with the built-in executor.

    Without --inputs, the inputs are generated from the seed. Without --outputs, each output is
    described on one line.
    """
    from irloop import RunProfile, Session, TextTracer, infer, read_model, run, write_arrays
    from irloop.graph.input_types import set_input_shapes, set_input_types

    measured = options["profile"] or options["profile_trace"] is not None
    if measured and options["trace"]:
        raise UsageError("--trace shows every node in its body, --profile where it is computed")
    piped = options["outputs"] == "-"
    if options["outputs"] is not None and not piped:
        writer_for(options["outputs"], {".npz": write_arrays}, "outputs are")
    console = console_of(ctx)
    console.progress(f"reading {model}")
    loaded = read_model(model, options["weights"])
    set_input_types(loaded, options["types"])
    set_input_shapes(loaded, options["shapes"])
    if options["types"] or options["shapes"]:
        infer(loaded)
    sources = [options["inputs"]] if options["inputs"] else []
    for written in (options["outputs"], options["profile_trace"]):
        if written not in (None, "-"):
            require_free(written, [model, *sources, *weight_files(loaded)])
    profile = RunProfile() if measured else None
    tracer = TextTracer(sys.stderr) if options["trace"] else None
    # A trace shows every node in its body, even if hoisting could run it once for all iterations.
    try:
        session = Session(loaded, hoist=tracer is None)
    except (ExecutionError, UnsupportedError):
        # This fails before it uses the inputs, with what the rules find in the file.
        run(loaded, {})
        raise
    inputs = _inputs(loaded, options)
    console.progress(f"running {model}")
    results = session.run(inputs, limits=_limits(ctx, options), trace=tracer, profile=profile)
    console.done()
    if profile is not None and options["profile"]:
        click.echo(profile.table(), err=True)
    if profile is not None and options["profile_trace"] is not None:
        write_whole(options["profile_trace"], profile.chrome_trace())
        console.note(f"wrote {options['profile_trace']}")
    if session.notes:
        click.echo(report_text.render(item.in_file(model) for item in session.notes), err=piped)
    if options["outputs"] is None:
        for name, value in results.items():
            click.echo(one_line(f"{name}: {describe(value)}"))
        return
    if piped:
        path = Path(ctx.with_resource(scratch()), "stdout.npz")
        write_arrays(path, results)
        click.echo(path.read_bytes(), nl=False)
        return
    write_arrays(options["outputs"], results)
    console.note(f"wrote {options['outputs']}")


def _inputs(model: Model, options: Mapping[str, Any]) -> Mapping[str, Any]:
    if options["inputs"] is None:
        from irloop import random_inputs

        generated: dict[str, Any] = random_inputs(model, seed=options["seed"], dims=options["dims"])
        return generated
    if options["dims"]:
        raise UsageError("--dim is for generated inputs, but --inputs gives them")
    from irloop import read_arrays

    return matched(model, read_arrays(options["inputs"]))


def _limits(ctx: click.Context, options: Mapping[str, Any]) -> Limits:
    from irloop import Limits

    given = {
        "max_iterations": options["max_iterations"],
        "max_memory": console_of(ctx).max_memory or budget.current().memory,
        "max_seconds": console_of(ctx).max_seconds,
    }
    return Limits(**{name: value for name, value in given.items() if value is not None})
