"""Arguments that commands share: models and arrays, and `-` for the standard input."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from irloop.errors import UsageError
from irloop.files import scratch
from irloop.opening import is_address, require_local

from .console import STDIN, console_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ArraysPath",
    "ModelPath",
    "from_stdin",
]


class ModelPath(click.Path):
    """The path of a model that exists; `-` is the standard input."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; for ``-``, return the path of a file that holds the standard input."""
        if ctx is not None and ctx.resilient_parsing:
            return value  # A shell completes the command.
        if value == "-" and ctx is not None:
            return from_stdin(ctx)
        if ctx is not None and is_address(value):
            return _downloaded(ctx, value)
        if os.path.isdir(value):
            from irloop import read_model

            read_model(value)  # names the model that the folder is, or refuses the folder
        return super().convert(value, param, ctx)


class ArraysPath(click.Path):
    """The path of a .npz or .npy that exists; `-` is the standard input."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; for ``-``, return the path of a file that holds the standard input."""
        if ctx is not None and ctx.resilient_parsing:
            return value  # A shell completes the command.
        if value == "-" and ctx is not None:
            return _copied(ctx, lambda data: "stdin.npz" if data.startswith(b"PK") else "stdin.npy")
        return super().convert(value, param, ctx)


def from_stdin(ctx: click.Context) -> str:
    """Copy the standard input to a file and return the path, whose suffix is that of its format.

    The first bytes of the input tell the format. The file is removed when the command ends.

    Raises:
        UsageError: when the standard input was read before.
    """
    return _copied(ctx, _model_name)


def _model_name(data: bytes) -> str:
    marks = (b"<", b"\xff\xfe", b"\xfe\xff")
    is_xml = data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(marks)
    if re.match(rb"<\s*(ir_version|opset_import)\b", data):
        return "stdin.onnxtxt"
    return "stdin.xml" if is_xml else "stdin.onnx"


def _downloaded(ctx: click.Context, address: str) -> str:
    """Copy a model of a network or a store to this machine until the command ends."""
    try:
        from irloop.fleet.download import download, without_secrets
    except ImportError:
        require_local(address)
        raise
    console = console_of(ctx)
    console.progress(f"fetching {without_secrets(address)}")
    path = download(address, ctx.with_resource(scratch()))
    console.done()
    console.copies[path] = without_secrets(address)
    return path


def _copied(ctx: click.Context, name_of: Callable[[bytes], str]) -> str:
    console = console_of(ctx)
    if STDIN in console.copies.values():
        raise UsageError(
            "- is given twice, but the standard input can be read only once",
            fix="write one of the two to a file",
        )
    data = sys.stdin.buffer.read()
    path = os.path.join(ctx.with_resource(scratch()), name_of(data))
    Path(path).write_bytes(data)
    console.copies[path] = STDIN
    return path
