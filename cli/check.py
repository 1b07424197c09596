"""``irloop check``: do two models compute the same results?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from irloop.errors import UsageError

from . import report_json
from .completion import engines
from .console import common_options, console_of, say
from .exits import Exit
from .files import require_free
from .names import ModelPath
from .options import (
    comparison_options,
    dims_option,
    input_type_options,
    lengths_option,
    page_option,
    run_options,
)

if TYPE_CHECKING:
    from irloop import Comparison, Model

__all__ = ["command", "comparison_text", "exit_of"]

EPILOG = """\
\b
Examples:
  irloop check model.xml model.onnx
  irloop check model.xml model.onnx --inputs a.npz --inputs b.npz
  irloop check model.xml model.onnx --engines numpy --seeds 5
  irloop check model.xml model.onnx --report differences.html
  irloop check model.onnx model.onnx --engine-b onnxruntime
  irloop check old.onnx new.onnx --rtol 1e-3 --atol 1e-5 --format json
  irloop check model.onnx converted.xml --converted
  irloop check model.xml model.onnx --dim batch=4 --dim ?=16
  irloop check model.xml model.onnx --shape x=1,3,224,224 --type y=f32
"""


@click.command("check", epilog=EPILOG, short_help="Run two models and compare every output.")
@click.argument("first", metavar="A", type=ModelPath())
@click.argument("second", metavar="B", type=ModelPath())
@click.option(
    "--bin-a", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="Weights of A."
)
@click.option(
    "--bin-b", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="Weights of B."
)
@run_options
@click.option(
    "--engine-a",
    shell_complete=engines,
    metavar="NAME",
    help="The engine of A, instead of --engines.  [default: numpy, if --engine-b is given]",
)
@click.option(
    "--engine-b",
    metavar="NAME",
    shell_complete=engines,
    help="The engine of B, instead of --engines.",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="The number of sets of inputs to generate.",
)
@click.option(
    "--first-seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="The seed of the first set.",
)
@click.option(
    "--trips",
    metavar="N,N,...",
    default="5,2,1,0",
    show_default=True,
    help="Values for inputs that are trip counts; each is tried in turn.",
)
@click.option(
    "--converted",
    is_flag=True,
    help="B was made from A: what only A does wrong or does not do in its engine is a note.",
)
@dims_option
@input_type_options
@lengths_option
@comparison_options
@page_option
@common_options
@click.pass_context
def command(ctx: click.Context, /, first: str, second: str, **options: Any) -> None:
    """Run A and B with the same inputs and compare every output.

    Each may be OpenVINO IR or ONNX. Both run in the built-in executor, and each in the engine of
    its format, if that is installed. The inputs respect types, indices and trip counts; loops run
    0, 1, 2 and more times. If the models differ, the report names the first node, iteration and
    element that differ. The exit status is 1 if they are not equal or an engine does not run one of
    them (--engines leaves it out), and 2 if nothing could be compared. The order of A and B does
    not matter, except with --converted.
    """
    from irloop import compare, read_arrays, save_report

    if options["page"] is not None:
        require_free(options["page"], [first, second, *options["inputs"]])
    console = console_of(ctx)
    console.progress(f"running {first} and {second}")
    models = _model(first, options["bin_a"]), _model(second, options["bin_b"])
    comparison = compare(
        *models,
        inputs=[read_arrays(file) for file in options["inputs"]] or None,
        engines=options["engines"],
        engine_a=options["engine_a"],
        engine_b=options["engine_b"],
        seeds=options["seeds"],
        first_seed=options["first_seed"],
        trips=_trips(options["trips"]),
        dims=options["dims"],
        shapes=options["shapes"],
        types=options["types"],
        lengths=options["lengths"],
        rtol=options["rtol"],
        atol=options["atol"],
        seconds=options["seconds"],
        max_memory=options["max_memory"],
        max_iterations=options["max_iterations"],
        converted=options["converted"],
    )
    console.done()
    if options["page"] is not None:
        console.progress("running both models once more for the report")
        save_report(comparison, options["page"], models)
        console.done()
        console.note(f"wrote {options['page']}")
    if options["style"] == "json":
        click.echo(
            report_json.report("check", (), files=[first, second], check=comparison.to_dict())
        )
    else:
        say(comparison_text(comparison))
    if not (comparison.converts if options["converted"] else comparison.equal):
        ctx.exit(exit_of(comparison))


def exit_of(comparison: Comparison) -> Exit:
    """Return the exit status of a verdict."""
    return Exit(comparison.status)


def comparison_text(comparison: Comparison) -> str:
    """The report of a comparison as text for people."""
    return str(comparison)


def _model(path: str, weights: str | None) -> Model | str:
    if weights is None:
        return path
    from irloop import read_model

    return read_model(path, weights)


def _trips(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"\d{1,18}", part) for part in parts):
        raise UsageError(f"--trips {text!r} is not a list of numbers such as 5,2,1,0")
    return [int(part) for part in parts]
