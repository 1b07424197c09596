"""What goes to stderr: logs, progress and how much of them; findings go to stdout elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

__all__ = ["Console", "clean", "common_options", "console_of"]

Command = TypeVar("Command", bound=Callable[..., Any])


class Console:
    """How talkative a run is: `level` is -1 quiet, 0 normal, 1 verbose."""

    def __init__(self) -> None:
        self.level = 0
        self.debug = False

    def note(self, text: str) -> None:
        """A line for people on stderr, unless quiet."""
        if self.level >= 0:
            click.echo(clean(text), err=True)

    def detail(self, text: str) -> None:
        """A line on stderr that only ``-v`` shows."""
        if self.level >= 1:
            click.echo(clean(text), err=True)

    def progress(self, text: str) -> None:
        """What is being done now: one line that the next one overwrites, on a terminal only."""
        if self.level >= 0 and sys.stderr.isatty():
            click.echo(f"\r\x1b[K{clean(text)}", err=True, nl=False)

    def done(self) -> None:
        """Remove the progress line."""
        self.progress("")


def console_of(context: click.Context) -> Console:
    """The console of the running command, shared with the group above it."""
    return context.find_root().ensure_object(Console)


def clean(text: str) -> str:
    """`text` with control characters spelt out: names in a file must not steer a terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode()
        for char in text
    )


def _set_level(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        console_of(context).level = 1 if parameter.name == "verbose" else -1


def _set_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        console_of(context).debug = True


def common_options(command: Command) -> Command:
    """The options that every command has."""
    options = (
        click.option(
            "-q",
            "--quiet",
            is_flag=True,
            expose_value=False,
            callback=_set_level,
            help="Only findings; nothing on stderr but failures.",
        ),
        click.option(
            "-v",
            "--verbose",
            is_flag=True,
            expose_value=False,
            callback=_set_level,
            help="Say on stderr what is being done.",
        ),
        click.option(
            "--debug",
            is_flag=True,
            expose_value=False,
            callback=_set_debug,
            help="Show the traceback of an internal error.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
