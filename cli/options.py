"""Options that several commands have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .console import Command
from .limits import size

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["comparison_options", "engines_option", "memory_option", "weights_option"]


def weights_option(name: str = "weights") -> Callable[[Command], Command]:
    """The file with the weights of an IR, as parameter `name`."""
    return click.option(
        "--bin",
        name,
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        help="The weights of an IR (default: beside it).",
    )


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
            help="What one run of one model may take.",
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
        help="What the process of an engine may hold in memory, as in 500M or 2G. Linux only.",
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
