"""Messages on stderr: notes and progress. Findings are written to stdout by other modules."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource

from irloop.allowance import allowance_for
from irloop.diagnostics import Diagnostic, one_line
from irloop.opening import weights_beside
from irloop.progress import listening

from .limits import size

if TYPE_CHECKING:
    import threading

__all__ = [
    "STDIN",
    "STDOUT",
    "Command",
    "Console",
    "common_options",
    "console_of",
    "say",
    "say_table",
    "uses_colour",
]

#: The name of the standard input in messages and reports.
STDIN = "<stdin>"

#: The name of the standard output in messages and reports.
STDOUT = "<stdout>"

#: Seconds of work before progress is shown.
_PATIENCE = 1.0

#: After this many seconds of work the remaining time is shown.
_KNOWN = 2.0

#: The fraction of the work after which the remaining time can be estimated.
_LEAST = 0.01

#: At most this many levels of nested work are shown.
_DEEPEST = 2

#: The minimum number of seconds between two updates of the progress line.
_REDRAWN = 0.2

Command = TypeVar("Command", bound=Callable[..., Any])


class Console:
    """Writes the notes and the progress of a command to stderr.

    `level` is the verbosity: -1 for quiet, 0 for normal, 1 for verbose.
    """

    def __init__(self) -> None:
        self.level = 0
        self.debug = False
        #: The format of what goes to stdout.
        self.style = "text"
        self.max_memory: int | None = None
        self.max_seconds: float | None = None
        #: The names in messages of temporary files: of the copy of the standard input, of what goes
        #: to the standard output at the end, and of models that were fetched from an address.
        self.copies: dict[str, str] = {}
        self._doing = ""
        #: The unfinished work, outermost first; each entry is a part of the one before it.
        self._works: dict[str, _Work] = {}
        self._ticks = 0
        self._shown = False
        self._drawn = 0.0
        #: The time of the last report.
        self._heard = 0.0
        self._timer: threading.Timer | None = None

    def note(self, text: str) -> None:
        """Write a line for people to stderr, unless quiet."""
        if self.level >= 0:
            click.echo(one_line(self.named(text)), err=True)

    def detail(self, text: str) -> None:
        """Write a line to stderr that only ``-v`` shows."""
        if self.level >= 1:
            click.echo(one_line(self.named(text)), err=True)

    def named(self, text: str) -> str:
        """Replace paths of temporary files in `text` by what they are copies of.

        The path of a .bin with the same name is replaced, too, by `<stdin>.bin` for instance.
        """
        for path, name in self.copies.items():
            weights = f"{name}.bin" if name == STDIN else os.fspath(weights_beside(name))
            text = text.replace(path, name).replace(os.fspath(weights_beside(path)), weights)
        return text

    def shown(self, finding: Diagnostic) -> Diagnostic:
        """Replace the names of temporary files in a finding."""
        place = finding.location
        message = self.named(finding.message)
        if place.file is None or place.file not in self.copies:
            return finding if message == finding.message else replace(finding, message=message)
        place = replace(place, file=self.named(place.file))
        return replace(finding, message=message, location=place)

    @property
    def shows_progress(self) -> bool:
        """Return whether progress is shown: stderr is a terminal, and the command does not run
        quietly.
        """
        is_plain = os.environ.get("TERM") == "dumb"
        return self.level >= 0 and sys.stderr.isatty() and not is_plain

    def progress(self, text: str, *, is_part: bool = False) -> None:
        """Show the current activity on one line, which the next call overwrites.

        The line appears only on a terminal, and only if the work takes longer than a second.
        Earlier counts (see `counted`) are removed, because a new activity begins. With `is_part`,
        the activity is part of the previous activity, and the counts stay.
        """
        if not self.shows_progress:
            return
        self._doing = text
        for name in list(self._works):
            if name and not is_part:
                del self._works[name]
        if self._shown:
            self._show()
        elif self._timer is None:
            self._wait()

    def counted(self, what: str, done: int, total: int | None) -> None:
        """Show how much of the current work is done, and the estimated remaining time.

        `done` of `total` pieces are done; `total` is None if it is unknown. Work inside other work
        is counted separately: a new `what` becomes a part of the piece that the outer work is doing
        now. If `what` is empty, the text of `progress` already contains the count.
        """
        if self.level < 0 or not self._doing:
            return
        now = time.monotonic()
        names = list(self._works)
        for inner in names[names.index(what) + 1 :] if what in names else ():
            del self._works[inner]
        self._works.setdefault(what, _Work(now))
        self._works[what].done, self._works[what].total = done, total
        self._heard = now
        if total is not None and done >= total:
            del self._works[what]
        if self._shown and now - self._drawn > _REDRAWN:
            self._show()

    def _wait(self) -> None:
        from threading import Timer

        self._timer = Timer(_PATIENCE, self._tick)
        self._timer.daemon = True
        self._timer.start()

    def _tick(self) -> None:
        """Draw the progress line, and start the timer that calls this again after a second.

        The redrawn line shows people that work continues. Once the work is done, nothing happens.
        """
        if not self._doing:
            return
        self._ticks += 1
        self._show()
        self._wait()

    def done(self) -> None:
        """Remove the progress line."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._doing, self._ticks = "", 0
        self._works.clear()
        if self._shown:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._shown = False

    def _show(self) -> None:
        text = self._doing
        if not text:
            return
        self._shown = True
        self._drawn = time.monotonic()
        counts = [
            f"{name} {work.done}" + ("" if work.total is None else f" of {work.total}")
            for name, work in list(self._works.items())[:_DEEPEST]
            # If there is only one piece, its count tells nothing.
            if name and work.total != 1
        ]
        text += f": {', '.join(counts)}" if counts else ""
        left = self._left(self._drawn)
        if left is not None:
            text += f", about {_span(left)} left"
        elif self._ticks > 1:
            text += f" ({_span(self._ticks * _PATIENCE)})"
        # A line that wraps cannot be overwritten.
        text = one_line(self.named(text))[: _most_columns()]
        click.echo(f"\r\x1b[K{text}", err=True, nl=False)

    def _left(self, now: float) -> float | None:
        """Estimate for how many more seconds the current work will run.

        The estimate is for the outermost work with a known number of pieces. Returns None if there
        is none, or if too little time has passed or too little is done for an estimate.
        """
        works = list(self._works.values())
        while works and works[0].total is None:
            del works[0]
        if not works or now - works[0].since < _KNOWN:
            return None
        part = 0.0
        for work in reversed(works):
            part = (work.done + part) / work.total if work.total else 0.0
        if part <= _LEAST:
            return None
        # Extrapolate from the last report: during a long piece without reports, the time that is
        # left gets shorter, not longer.
        since = works[0].since
        left = (self._heard - since) / part - (now - since)
        return left if left > 0 else None


@dataclass(slots=True, eq=False, repr=False)
class _Work:
    """Work that began at `since`, and how many of its pieces are finished."""

    since: float
    done: int = 0
    total: int | None = None


def _span(seconds: float) -> str:
    """A number of seconds as text, such as ``2 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def console_of(context: click.Context) -> Console:
    """The console of the running command; a command group and its commands have one console."""
    return context.find_root().ensure_object(Console)


def _most_columns() -> int | None:
    """How many characters a line of the terminal has without wrapping; None if this is unknown."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted) > 1:
        return int(wanted) - 1
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:
        return None
    return columns - 1 if columns > 1 else None


def uses_colour() -> bool:
    """Return whether stdout gets colours: a terminal, unless it has none or the user has a wish."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def say(text: str, *, err: bool = False) -> None:
    """Print `text` to stdout, or to stderr if `err`, with control sequences escaped.

    Each line is escaped by itself. So `text` may contain line breaks, but escape a name with
    `one_line` before you insert it, or a line break in the name would split the line.
    """
    context = click.get_current_context(silent=True)
    text = text if context is None else console_of(context).named(text)
    click.echo("\n".join(map(one_line, text.split("\n"))), err=err)


def say_table(rows: Iterable[Iterable[str]]) -> None:
    """Print rows whose cells stand below each other, with control sequences escaped.

    On a terminal that is too narrow, the last cell of a row continues below, between words.
    """
    lines = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    most = os.get_terminal_size(sys.stdout.fileno()).columns if sys.stdout.isatty() else 0
    indent = sum(widths[:-1]) + 2 * len(widths[:-1])
    if indent > most // 2:
        indent = min(4, most // 4)
    for line in lines:
        text = "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        text = text.rstrip()
        if len(text) > most > 0:
            from textwrap import fill

            text = fill(text, most, subsequent_indent=" " * indent, drop_whitespace=True)
        click.echo(text)


def _set_level(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        console_of(context).level = 1 if parameter.name == "verbose" else -1


def _set_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        console_of(context).debug = True


def common_options(command: Command) -> Command:
    """Add the options that every command has."""
    options = (
        click.option(
            "-q",
            "--quiet",
            is_flag=True,
            expose_value=False,
            callback=_set_level,
            help="Print findings only, and on stderr failures only.",
        ),
        click.option(
            "-v",
            "--verbose",
            is_flag=True,
            expose_value=False,
            callback=_set_level,
            help="Report progress on stderr.",
        ),
        click.option(
            "--debug",
            is_flag=True,
            expose_value=False,
            callback=_set_debug,
            help="Show the traceback of an internal error.",
        ),
        click.option(
            "--max-memory",
            callback=_set_memory,
            expose_value=False,
            metavar="SIZE",
            help="The memory limit for a model, as in 500M or 8G.  [default: 2G, and 8 times "
            "the size of its files]",
        ),
        click.option(
            "--max-seconds",
            type=click.FloatRange(min=0, min_open=True),
            callback=_set_seconds,
            expose_value=False,
            help="The time limit for a model, in seconds.  [default: 60, and one for each MiB of "
            "its files]",
        ),
    )
    limited = _limited(command)
    for option in reversed(options):
        limited = option(limited)
    return limited


#: The factor for the limits of commands that run a model many times, or many models.
_RUNS = {"check": 10.0, "reduce": 10.0, "conformance": 1000.0}

#: All runs of a check or a reduction together may take as many steps as this many runs at their
#: limit.
_FULL_RUNS = {"check": 3.0, "reduce": 5.0}


def _limited(command: Command) -> Command:
    """Wrap a command so that time and memory are limited according to the size of its files."""

    @functools.wraps(command)
    def call(*args: Any, **options: Any) -> Any:
        context = click.get_current_context()
        console = console_of(context)
        watched = listening(console.counted) if console.shows_progress else nullcontext()
        if context.info_name in ("validate", "sweep", "sweep report"):
            # They process many models, with separate limits for each.
            with watched:
                return command(*args, **options)
        given = [*args, *options.values()]
        files = [
            item for value in given for item in (value if isinstance(value, tuple) else [value])
        ]
        source = context.get_parameter_source("max_memory")
        if source is not None and source is not ParameterSource.DEFAULT:
            console.max_memory = options["max_memory"]
        name = "check" if options.get("check") else context.info_name
        runs = _RUNS.get(name or "", 1.0)
        allowance = allowance_for(
            files, console.max_memory, console.max_seconds, runs, _FULL_RUNS.get(name or "")
        )
        if "max_memory" in options and options["max_memory"] is None:
            options["max_memory"] = allowance.memory
        with allowance.held(), watched:
            return command(*args, **options)

    return cast("Command", call)


def _set_memory(context: click.Context, parameter: click.Parameter, text: str | None) -> None:
    console_of(context).max_memory = size(context, parameter, text)


def _set_seconds(context: click.Context, parameter: click.Parameter, value: float | None) -> None:
    console_of(context).max_seconds = value
