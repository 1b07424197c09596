"""Options that several commands have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from .console import Command
from .limits import size

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "comparison_options",
    "dims_option",
    "engines_option",
    "input_type_options",
    "memory_option",
    "page_option",
    "weights_option",
]


def weights_option(name: str = "weights") -> Callable[[Command], Command]:
    """The file with the weights of an IR, as parameter `name`."""
    return click.option(
        "--bin",
        name,
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        help="The weights of an IR (default: beside it).",
    )


def dims_of(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, int]:
    """Sizes of dimensions by name, from texts such as ``batch=4``."""
    sizes: dict[str, int] = {}
    for text in texts:
        name, equals, size = text.rpartition("=")
        if not equals or not name or not size.isdecimal():
            raise click.BadParameter(f"{text!r} is not a size such as batch=4")
        sizes[name] = int(size)
    return sizes


def shapes_of(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, list[int | None]]:
    """Shapes by input name, from texts such as ``x=1,3,?,?`` (no dimension: a scalar)."""
    shapes: dict[str, list[int | None]] = {}
    for text in texts:
        name, equals, dims = text.rpartition("=")
        parts = [part.strip() for part in dims.strip("[] ").split(",")] if dims.strip("[] ") else []
        if (
            not name
            or not equals
            or not all(re.fullmatch(r"\d{1,18}|\?|-1", part) for part in parts)
        ):
            raise click.BadParameter(f"{text!r} is not a shape such as x=1,3,224,224")
        shapes[name] = [None if part in ("?", "-1") else int(part) for part in parts]
    return shapes


def types_of(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    """Element types by input name, from texts such as ``x=f32``."""
    types = {}
    for text in texts:
        name, equals, element = text.rpartition("=")
        if not name or not equals or not element.strip():
            raise click.BadParameter(f"{text!r} is not an element type such as x=f32")
        types[name] = element.strip()
    return types


def dims_option(command: Command) -> Command:
    """The sizes of unknown dimensions by name, as parameter `dims`."""
    return click.option(
        "--dim",
        "dims",
        metavar="NAME=N",
        multiple=True,
        callback=dims_of,
        help="The size of a dynamic dimension; ? for those without a name.",
    )(command)


def input_type_options(command: Command) -> Command:
    """The shapes and the element types of inputs by name, as parameters `shapes` and `types`."""
    shape = click.option(
        "--shape",
        "shapes",
        metavar="NAME=DIMS",
        multiple=True,
        callback=shapes_of,
        help="Another shape for an input, as in x=1,3,224,224; ? is a dynamic dimension.",
    )
    element = click.option(
        "--type",
        "types",
        metavar="NAME=TYPE",
        multiple=True,
        callback=types_of,
        help="The element type of an input whose type is dynamic, as in x=f32.",
    )
    return shape(element(command))


def comparison_options(command: Command) -> Command:
    """Tolerances, the time limit of a run, and `style`, the format of the report."""
    nearness = click.FloatRange(min=0)
    options = (
        click.option("--rtol", type=nearness, help="Default: as fits the element type."),
        click.option("--atol", type=nearness, help="Default: as fits the element type."),
        click.option(
            "--seconds",
            type=click.FloatRange(min=0, min_open=True),
            default=60.0,
            show_default=True,
            help="The time limit of one run of one model.",
        ),
        click.option(
            "--format",
            "style",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def page_option(command: Command) -> Command:
    """The page to write with the result, as parameter `page`."""
    return click.option(
        "--report",
        "page",
        metavar="FILE.html",
        help="Write the result as a page for browsers as well, with pictures of both models.",
    )(command)


def memory_option(command: Command) -> Command:
    """The memory limit of an engine, as parameter `max_memory` in bytes.

    If it is given, it also applies to irloop's own process, as in other commands.
    """
    params: list[click.Parameter] = getattr(command, "__click_params__", [])
    params[:] = [param for param in params if "--max-memory" not in param.opts]
    return click.option(
        "--max-memory",
        callback=size,
        default="8G",
        show_default=True,
        metavar="SIZE",
        help="The memory limit of the process of an engine, as in 500M or 2G. Linux only.",
    )(command)


def engines_option(command: Command) -> Command:
    """The engines that take part in a comparison, as parameter `engines`, and `max_memory`."""
    return memory_option(_engines(command))


def _engines(command: Command) -> Command:
    return click.option(
        "--engines",
        metavar="auto|NAME,NAME,...",
        default="auto",
        show_default=True,
        help="What runs the models: numpy (built in), onnxruntime, openvino, onnx-reference, "
        "module:function. auto: numpy and each installed engine on its own format.",
    )(command)
