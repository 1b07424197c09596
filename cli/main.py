"""The ``irloop`` command: imports and runs the requested command, and sets the exit status."""

from __future__ import annotations

from . import interrupts  # isort: skip (Ctrl-C while the others load must be quiet, too)

import gc
import importlib
import io
import os
import signal
import stat
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import click

from irloop.diagnostics import DETAILS, one_line
from irloop.errors import did_you_mean

from .console import console_of
from .exits import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["main"]

#: Commands in the order of the help; each is in the module with its name.
COMMANDS = (
    "convert",
    "validate",
    "check",
    "conformance",
    "diff",
    "extract",
    "reduce",
    "sweep",
    "run",
    "inspect",
    "view",
    "transform",
    "passes",
    "explain",
    "rules",
    "ops",
    "schema",
    "doctor",
)

EPILOG = """\
\b
Examples:
  irloop convert model.xml -o model.onnx --check
  irloop convert model.onnx -o model.xml
  irloop validate models/
  irloop check model.xml model.onnx

\b
Exit status:
  0  fine
  1  findings: invalid, cannot be converted or run, not equal
  2  not checked: wrong usage, nothing matched, unreadable file, internal error
  130  interrupted; 129 and 143 after SIGHUP and SIGTERM

\b
Shell completion (bash, or zsh_source; fish: _IRLOOP_COMPLETE=fish_source irloop | source):
  eval "$(_IRLOOP_COMPLETE=bash_source irloop)"
"""


class IrloopGroup(click.Group):
    """Imports a command when it is needed, and reports irloop's exceptions without a traceback."""

    #: True if the command is the main program of this process.
    is_program = False

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f".{cmd_name}", __package__)
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or ask for one with a similar name."""
        name = args[0]
        if name in COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        near = did_you_mean(name, COMMANDS)
        raise click.UsageError(f"No such command {name!r}.{near and f' D{near[1:]}'}", ctx)

    def main(self, args: Sequence[str] | None = None, *more: Any, **extra: Any) -> Any:
        """Run the command; if `args` is None, run it as the main program and end the process."""
        if args is not None:
            return super().main(args, *more, **extra)
        # Objects created by imports are never garbage, and searching them takes a tenth of a small
        # run.
        gc.set_threshold(100_000)
        self.is_program = True
        interrupts.end_at_once()
        _open_closed_streams()
        _escape_what_streams_lack()
        _outlive_readers()
        try:
            super().main(args, *more, **extra)
        except SystemExit as leaving:
            _leave(leaving)
        except OSError:
            # Neither the output nor the reason can be written.
            os._exit(Exit.NOT_CHECKED)
        return None

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.ClickException as error:
            raise _Refusal(error) from None

    def invoke(self, ctx: click.Context) -> Any:
        if self.is_program:
            interrupts.raise_when_they_come()
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except click.exceptions.Exit:
            if interrupts.came():
                _interrupted(ctx)
            raise
        except click.ClickException as error:
            _write_document(ctx, error)
            raise _Refusal(error) from None
        except (KeyboardInterrupt, click.Abort):
            _interrupted(ctx)
        except Exception as error:
            if interrupts.came():
                _interrupted(ctx)
            _report(ctx, error)
        if interrupts.came():
            _interrupted(ctx)
        return result


class _Refusal(click.ClickException):
    """A command line that click refuses, in the words and the form of all other errors."""

    exit_code = Exit.NOT_CHECKED

    def __init__(self, error: click.ClickException) -> None:
        # Arguments, such as paths, may be untrusted repository content: keep it on one line.
        text = one_line(error.format_message()).rstrip(".")
        super().__init__(f"{text[:1].lower()}{text[1:]}")
        context = getattr(error, "ctx", None)
        self._path = "irloop" if context is None else context.command_path

    def show(self, file: Any = None) -> None:
        """Write the message to stderr."""
        click.echo(f"irloop: error: {self.message}", err=True)
        click.echo(f"  fix: '{self._path} --help' shows the usage", err=True)


def _open_closed_streams() -> None:
    """Open the null device in place of standard streams that the caller has closed.

    Otherwise the next file that is opened gets the number of the stream, and what libraries and
    engines print goes into that file. Writing results to a closed stdout is an error, as on a full
    disk; notes to a closed stderr are dropped.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            setattr(sys, name, os.fdopen(descriptor, "w" if number else "r", encoding="utf-8"))


def _escape_what_streams_lack() -> None:
    """Let the standard streams escape the characters that their encoding lacks.

    A Windows pipe, for example, often has the encoding cp1252, which lacks most characters. Input
    bytes that cannot be decoded are escaped, too.
    """
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class _Pipe(io.FileIO):
    """A pipe; what is written after its reader has gone is dropped."""

    def write(self, data: Any, /) -> int:
        """Write to the pipe, or to nothing."""
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            return memoryview(data).nbytes


def _outlive_readers() -> None:
    """Let the command end as it would if the readers of its output read all of it.

    ``irloop rules | head -1`` is no failure, and the status of ``irloop validate models | head``
    tells whether there are findings.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and stat.S_ISFIFO(
            os.fstat(stream.fileno()).st_mode
        ):
            pipe = io.BufferedWriter(_Pipe(stream.fileno(), "w", closefd=False))
            kept = io.TextIOWrapper(
                pipe, stream.encoding, stream.errors, write_through=name == "stderr"
            )
            setattr(sys, name, kept)


def _leave(leaving: SystemExit) -> NoReturn:
    """End the process with the exit code of `leaving`, without unloading modules.

    Unloading takes a tenth of the time of a small run. If the code is not an integer, `leaving` is
    raised again.
    """
    if not isinstance(leaving.code, int):
        raise leaving
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        os._exit(Exit.NOT_CHECKED)
    os._exit(leaving.code)


def _interrupted(ctx: click.Context) -> NoReturn:
    interrupts.ignore()
    console_of(ctx).done()
    number = interrupts.came() or signal.SIGINT
    text = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    click.echo(f"irloop: {text}", err=True)
    ctx.exit(128 + number)


def _report(ctx: click.Context, error: Exception) -> NoReturn:
    """Report an exception, and leave with its exit status."""
    from irloop.errors import InternalError, IrloopError, UsageError, VerifyError, WriteError

    console_of(ctx).done()
    is_written = _write_document(ctx, error)
    if isinstance(error, (UsageError, WriteError)):
        first = error.diagnostics[0]
        texts = {label: getattr(first, label) for label in DETAILS}
        _fail(ctx, error.message, *(f"{label}: {text}" for label, text in texts.items() if text))
    if isinstance(error, InternalError):
        _internal(ctx, error.error, error.step)
    if isinstance(error, IrloopError) and not isinstance(error, VerifyError):
        from . import report_text

        if not is_written:
            click.echo(report_text.render(map(console_of(ctx).shown, error.diagnostics)))
        ctx.exit(Exit.FINDINGS)
    if isinstance(error, OSError):
        _fail(ctx, f"{error.filename or 'output'}: {error.strerror or type(error).__name__}")
    _internal(ctx, error)


def _write_document(ctx: click.Context, error: Exception) -> bool:
    """Write an error to stdout in the format of --format; return whether that is not text.

    A program that reads a document from stdout gets one, whatever happens.
    """
    console = console_of(ctx)
    if console.style == "text":
        return False
    from irloop.errors import InternalError, IrloopError, UsageError

    from .files import write_whole
    from .validate import Found

    if isinstance(error, click.ClickException):
        error = UsageError(one_line(error.format_message()))
    elif isinstance(error, OSError):
        error = UsageError(f"{error.filename or 'output'}: {error.strerror}")
    elif not isinstance(error, IrloopError):
        error = InternalError("running the command", error)
    findings = [console.shown(item) for item in error.diagnostics]
    files = list(dict.fromkeys(item.location.file for item in findings if item.location.file))
    found = Found(findings, [], files, command=ctx.invoked_subcommand or "")
    write_whole("-", found.rendered(console.style))
    return True


def _fail(ctx: click.Context, message: str, *rows: str) -> NoReturn:
    named = console_of(ctx).named
    click.echo(one_line(named(f"irloop: error: {message}")), err=True)
    for row in rows:
        click.echo(one_line(named(f"  {row}")), err=True)
    ctx.exit(Exit.NOT_CHECKED)


def _internal(ctx: click.Context, error: BaseException, step: str = "") -> NoReturn:
    if console_of(ctx).debug:
        import traceback

        traceback.print_exception(error)
    first_line = (str(error).splitlines() or [""])[0]
    _fail(
        ctx,
        f"internal error{step and f' while {step}'}: {type(error).__name__}: {first_line}",
        "fix: this is a bug in irloop; report it with the model (or a part of it) and the output "
        "of the same command with --debug",
    )


def _version(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    """Print the version of irloop; with -v, those of the engines and packages as well."""
    if not asked or ctx.resilient_parsing:
        return
    from importlib.metadata import version

    click.echo(f"irloop, version {version('irloop')}")
    if ctx.params.get("verbose"):
        from irloop import environment

        found = environment()
        engines = {item.name: item.version for item in found.engines if item.version}
        for name, number in {**engines, **found.packages, "python": found.python}.items():
            click.echo(f"{name} {number or 'is not installed'}")
    ctx.exit()


@click.group(
    cls=IrloopGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("-v", "verbose", is_flag=True, is_eager=True, hidden=True)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    callback=_version,
    help="Show the version; with -v, those of the engines and packages as well.",
)
def main(verbose: bool) -> None:
    """Convert between OpenVINO IR and ONNX, including loops, and prove it by running both."""


# Whoever imports this module for another purpose keeps the usual Ctrl-C.
interrupts.restore()
