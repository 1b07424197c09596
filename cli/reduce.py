"""``irloop reduce``: make two models as small as possible while their results still differ."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from irloop.errors import UsageError, WriteError
from irloop.files import reason_of

from . import report_json
from .console import common_options, console_of, say
from .exits import Exit
from .names import ArraysPath, ModelPath
from .options import comparison_options

if TYPE_CHECKING:
    from irloop import Model

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop reduce model.xml model.onnx -o small
  irloop reduce old.onnx new.onnx -o small --inputs in.npz --rtol 1e-3
"""


@click.command("reduce", epilog=EPILOG, short_help="Shrink two models that differ to the cause.")
@click.argument("first", metavar="A", type=ModelPath())
@click.argument("second", metavar="B", type=ModelPath())
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="FOLDER",
    required=True,
    type=click.Path(file_okay=False),
    help="The folder for the two small models and their inputs.",
)
@click.option(
    "-i",
    "--inputs",
    metavar="FILE",
    type=ArraysPath(),
    help="A .npz or .npy with which they differ.  [default: irloop searches for one]",
)
@comparison_options
@common_options
@click.pass_context
def command(ctx: click.Context, /, first: str, second: str, **options: Any) -> None:
    """Shrink A and B, whose results differ, to the part that causes the difference.

    Values before the first divergence become inputs, and everything after it is removed; a
    divergence inside a loop is taken out of the loop. The results in FOLDER are first and second
    (each in its format), inputs_first.npz and inputs_second.npz. The exit status is 1, because the
    models differ.
    """
    from irloop import read_arrays, reduce, write_arrays

    console = console_of(ctx)
    folder = Path(options["folder"])
    _require_writable(folder)
    console.progress(f"reducing {first} and {second}")
    reduced = reduce(
        first,
        second,
        inputs=None if options["inputs"] is None else read_arrays(options["inputs"]),
        rtol=options["rtol"],
        atol=options["atol"],
        seconds=options["seconds"],
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(f"cannot make the folder {folder}: {reason_of(error, folder)}") from error
    pairs = zip(("first", "second"), (reduced.first, reduced.second), reduced.inputs, strict=True)
    written = []
    for name, model, arrays in pairs:
        written.append(_save(model, folder / name))
        names = [node.name for node in model.graph.parameters]
        write_arrays(folder / f"inputs_{name}.npz", dict(zip(names, arrays, strict=True)))
    console.done()
    if options["style"] == "json":
        found = {"steps": list(reduced.steps), "comparison": reduced.comparison.to_dict()}
        click.echo(report_json.report("reduce", (), files=written, reduced=found))
    else:
        say(str(reduced))
    ctx.exit(Exit.FINDINGS)


def _require_writable(folder: Path) -> None:
    """Check that a folder can be created, before work that takes minutes."""
    above = folder.absolute()
    while not above.exists():
        above = above.parent
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise UsageError(
            f"{folder} cannot be made in {above}", fix="give a folder that you may write to"
        )


def _save(model: Model, stem: Path) -> str:
    from irloop import save_model

    path = stem.with_suffix(".onnx" if model.dialect == "onnx" else ".xml")
    save_model(model, path)
    return str(path)
