"""Writes files completely or not at all, and never over a file that is being read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from irloop.errors import UsageError, WriteError
from irloop.files import reason_of, write_report
from irloop.opening import weights_beside

if TYPE_CHECKING:
    from irloop import Model

    from .console import Console

Writer = TypeVar("Writer")

__all__ = [
    "lacks_weights",
    "require_folder",
    "require_free",
    "weight_files",
    "write_whole",
    "writer_for",
]


def write_whole(path: str, text: str) -> None:
    """Write `text` and a line end, completely or not at all; `-` is the standard output.

    The encoding is UTF-8 even if the standard output has another one, because the formats of these
    texts require it.

    Raises:
        WriteError: when the file cannot be written; a file that exists is left unchanged.
    """
    # File names need not be valid Unicode.
    data = f"{text}\n".encode("utf-8", "backslashreplace")
    if path == "-":
        click.echo(data, nl=False)
        return
    try:
        write_report(path, data)
    except OSError as error:
        raise WriteError(f"cannot write {path}: {reason_of(error, path)}") from error


def require_folder(*outputs: str) -> None:
    """Check that the folders of the files to be written exist, before any work is done.

    Raises:
        UsageError: naming the folder.
    """
    for output in outputs:
        folder = os.path.dirname(os.path.abspath(output))
        if output == "-" or os.path.isdir(folder):
            continue
        above = next(path for path in Path(folder, "_").parents if path.exists())
        if not above.is_dir():
            raise UsageError(f"{above}: a file, not a folder", fix="write to another folder")
        raise UsageError(f"{folder}: no such folder", fix="make it, or write to another one")


def require_free(output: str, taken: Iterable[str]) -> None:
    """Check that `output` is in an existing folder and overwrites no input.

    `taken` are the input files. The weights file that would be written next to a model must not
    overwrite an input either.

    Raises:
        UsageError: naming the folder or the file.
    """
    require_folder(output)
    suffix = os.path.splitext(output)[1]
    # Only models have a file of weights next to them.
    beside = {
        ".onnx": f"{output}.data",
        ".onnxtxt": f"{output}.data",
        ".xml": os.fspath(weights_beside(output)),
    }
    read = {os.path.realpath(file) for file in taken}
    for file in (output, beside.get(suffix.lower(), output)):
        if os.path.realpath(file) in read:
            raise UsageError(
                f"{file} would be written over, and the input needs it",
                fix="write to another name or folder",
            )


def writer_for(file: str, writers: Mapping[str, Writer], what: str = "reports are") -> Writer:
    """Return the function that writes `what` to `file`; the suffix of `file` selects it.

    `writers` holds the functions, keyed by suffix.

    Raises:
        UsageError: for another suffix.
    """
    writer = writers.get(Path(file).suffix.lower())
    if writer is None:
        raise UsageError(
            f"{file}: {what} written as {', '.join(sorted(writers))}",
            expected=f"a name that ends in {' or '.join(sorted(writers))}",
        )
    return writer


def lacks_weights(model: str, weights: str | None, console: Console) -> bool:
    """Return whether an .xml has no .bin, after a note that it is shown without."""
    if weights is not None or not model.lower().endswith(".xml"):
        return False
    beside = os.fspath(weights_beside(model))
    if os.path.lexists(beside):
        return False
    console.note(f"{beside} is absent: types and shapes of weights are shown, not their values")
    return True


def weight_files(model: Model) -> set[str]:
    """The files that contain the weights of a model."""
    from irloop.graph.op import Constant
    from irloop.graph.tensor import MappedTensor
    from irloop.graph.walk import all_nodes

    tensors = (node.op.tensor for node in all_nodes(model.graph) if isinstance(node.op, Constant))
    return {tensor.file.path for tensor in tensors if isinstance(tensor, MappedTensor)}
