"""``irloop view``: write an interactive page that shows a model in a browser."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from irloop.errors import UsageError

from .arrays import matched
from .completion import files
from .console import Console, common_options, console_of
from .files import lacks_weights, require_free, weight_files, write_whole, writer_for
from .names import ArraysPath, ModelPath
from .options import weights_option

if TYPE_CHECKING:
    from irloop import Model

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop view model.xml -o model.html
  irloop view model.onnx --open
  irloop view model.xml --inputs in.npz -o run.html
  irloop view model.onnx --whole-weights -o large.html
  irloop view old.onnx --against new.onnx -o both.html
"""


@click.command("view", epilog=EPILOG, short_help="Write an interactive page of a model.")
@click.argument("model", type=ModelPath())
@weights_option()
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=files,
    help="The page to write. Default: the model's name with .html, in the current folder.",
)
@click.option(
    "-i",
    "--inputs",
    metavar="FILE",
    type=ArraysPath(),
    help="Show the values of a run with these arrays: a .npz or .npy, as for 'irloop run'.",
)
@click.option(
    "--against",
    "other",
    metavar="MODEL",
    type=ModelPath(),
    help="Show a second model beside the first, and mark what differs.",
)
@click.option(
    "--whole-weights",
    is_flag=True,
    help="Keep constants of any size in the page, up to 128 MB, to save them as .npy.",
)
@click.option("--open", "opened", is_flag=True, help="Open the page in the browser.")
@common_options
@click.pass_context
def command(ctx: click.Context, /, model: str, **options: Any) -> None:
    """Write a page that shows MODEL in a browser: one HTML file that loads nothing.

    Bodies of loops open in place, with their port maps drawn as wires and their back edges in
    colour. A click on an operation shows attributes, types, weights, and its line in the file. With
    --inputs the page shows the value of each operation in each iteration. With --against it shows
    two models side by side: corresponding operations are selected together.
    """
    from irloop import infer, read_arrays, read_model, view

    output = options["output"] or f"{os.path.splitext(os.path.basename(model))[0]}.html"
    if output == "-" and options["opened"]:
        raise UsageError("--open needs a file", fix="name one with -o")
    if output != "-":
        writer_for(output, {".html": write_whole, ".htm": write_whole}, "pages are")
    console = console_of(ctx)
    console.progress(f"reading {model}")
    # A run needs the weights.
    absent = not options["inputs"] and lacks_weights(model, options["weights"], console)
    loaded = read_model(model, options["weights"], without_weights=absent)
    if not absent:
        infer(loaded)
    other = options["other"]
    keeps_weights = options["whole_weights"]
    if other and (options["inputs"] or keeps_weights):
        what = "--inputs shows the values" if options["inputs"] else "--whole-weights keeps those"
        raise UsageError(f"{what} of one model", fix="leave out --against")
    second = None if other is None else _second(other, console)
    given = [item for item in (options["inputs"], other) if item]
    require_free(output, [model, *given, *weight_files(loaded)])
    console.progress(f"writing the page of {model}")
    file = options["inputs"]
    arrays = None if file is None else matched(loaded, read_arrays(file))
    text = view(loaded, inputs=arrays, against=second, whole_weights=keeps_weights)
    console.done()
    write_whole(output, text.rstrip("\n"))
    if output != "-":
        console.note(f"wrote {output}")
    if options["opened"] and not webbrowser.open(Path(output).resolve().as_uri()):
        console.note(f"no browser was found: open {output} yourself")


def _second(path: str, console: Console) -> Model:
    """Read the model beside the first one."""
    from irloop import infer, read_model

    console.progress(f"reading {path}")
    absent = lacks_weights(path, None, console)
    model = read_model(path, without_weights=absent)
    if not absent:
        infer(model)
    return model
