"""``irloop extract``: cut a part out of a model."""

from __future__ import annotations

import os

import click

from irloop.errors import UsageError
from irloop.opening import dialect_of

from .completion import value_names
from .console import common_options, console_of
from .files import require_free, weight_files
from .names import ModelPath
from .options import weights_option

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop extract model.onnx -o part.onnx --inputs a,b --outputs c
  irloop extract model.xml -o head.xml --outputs relu_5
  irloop extract model.xml -o cell.xml --body rnn/body
"""


@click.command("extract", epilog=EPILOG, short_help="Cut a part out of a model.")
@click.argument("model", type=ModelPath())
@weights_option("weights_file")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="The model to write, with the suffix of MODEL.",
)
@click.option(
    "--inputs",
    metavar="NAMES",
    multiple=True,
    shell_complete=value_names,
    help="Tensors or operations whose values become inputs, with commas between them.",
)
@click.option(
    "--outputs",
    metavar="NAMES",
    multiple=True,
    shell_complete=value_names,
    help="Tensors or operations whose values become outputs.  [default: the outputs of MODEL]",
)
@click.option(
    "--body",
    metavar="PATH",
    help="Take the part from this body of a loop or branch, as in Loop_7/body; alone: all of it.",
)
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    model: str,
    weights_file: str | None,
    output: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    body: str | None,
) -> None:
    """Write what lies between INPUTS and OUTPUTS of MODEL as a model of its own.

    The part has all operations on which the outputs depend, back to the inputs, and their weights.
    Inputs of MODEL that it needs in addition are inputs of the part, too. The names are those that
    'irloop inspect' shows.
    """
    from irloop import extract, read_model, save_model

    console = console_of(ctx)
    if dialect_of(model) not in (None, dialect_of(output)):
        suffix = os.path.splitext(model)[1]
        raise UsageError(
            f"{output}: a part keeps the format {suffix}",
            fix="convert the result with 'irloop convert'",
        )
    console.progress(f"reading {model}")
    source = read_model(model, weights_file)
    require_free(output, [model, *weight_files(source)])
    part = extract(source, inputs=_listed(inputs), outputs=_listed(outputs), body=body)
    console.progress(f"writing {output}")
    files = save_model(part, output)
    console.done()
    for file in files:
        console.note(f"wrote {file}")


def _listed(texts: tuple[str, ...]) -> list[str]:
    return [name for text in texts for name in text.split(",") if name]
