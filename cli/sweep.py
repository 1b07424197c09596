"""``irloop sweep``: many models on many machines."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import click

from irloop.errors import UsageError
from irloop.fleet.needs import require_packages
from irloop.fleet.processes import prepare
from irloop.fleet.verdicts import STEPS, TARGETS, VERDICTS

from .completion import files, steps
from .console import Console, common_options, console_of, say
from .exits import Exit
from .limits import size
from .sweep_report import report_command

if TYPE_CHECKING:
    from irloop.fleet.driver import Plan, Progress

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop sweep zoo/ -o results
  irloop sweep zoo/ 'more/**/*.onnx' old.zip @list.txt -o results --do validate,convert,check
  irloop sweep s3://bucket/zoo -o s3://bucket/results --scheduler tcp://scheduler:8786
  irloop sweep zoo/ -o results --shard 3/16
  irloop sweep report results
  irloop sweep report results -o page.html --compare results-of-may

\b
The same command continues where an earlier one stopped. Credentials of stores come from
the environment and the configuration files of their packages (s3fs, gcsfs, ...), never from
arguments. A folder called report is given as ./report.
"""


class _SweepCommand(click.Command):
    """The command `irloop sweep`; runs a subcommand instead if the first argument names one."""

    #: The reference of the command line describes these after the command.
    subcommands: ClassVar[dict[str, click.Command]] = {"report": report_command}

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        if args and (command := self.subcommands.get(args[0])) is not None:
            return command.make_context(f"sweep {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


def _steps(context: click.Context, parameter: click.Parameter, text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in STEPS]
    if unknown or not names:
        raise click.BadParameter(f"{text!r} is not a list of steps such as {','.join(STEPS)}")
    return tuple(step for step in STEPS if step in names)


def _shard(context: click.Context, parameter: click.Parameter, text: str | None) -> Any:
    if text is None:
        return (1, 1)
    match = re.fullmatch(r"([1-9]\d{0,5})/([1-9]\d{0,5})", text)
    if match is None or int(match[1]) > int(match[2]):
        raise click.BadParameter(f"{text!r} is not a part such as 3/16")
    return int(match[1]), int(match[2])


def _verdicts(context: click.Context, parameter: click.Parameter, text: str) -> frozenset[str]:
    names = frozenset(part.strip() for part in text.split(",") if part.strip())
    if unknown := names - VERDICTS:
        known = ", ".join(sorted(VERDICTS))
        raise click.BadParameter(
            f"there is no verdict {', '.join(sorted(unknown))}; the verdicts are {known}"
        )
    return names


@click.command(
    "sweep",
    cls=_SweepCommand,
    epilog=EPILOG,
    short_help="Validate, convert and check many models on many machines.",
)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, shell_complete=files)
@click.option(
    "-o",
    "--output",
    "target",
    metavar="RESULTS",
    required=True,
    shell_complete=files,
    help="The folder or address of the results; earlier results in it are kept.",
)
@click.option(
    "--do",
    "steps",
    metavar="STEP,...",
    default="validate",
    show_default=True,
    callback=_steps,
    shell_complete=steps(*STEPS),
    help="validate; convert: to the format of --to; check: run the model and its conversion and "
    "compare; conform: run the model in its engine and compare with the built-in executor.",
)
@click.option(
    "--to",
    type=click.Choice(list(TARGETS)),
    default="onnx",
    show_default=True,
    help="The format to convert to.",
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="A Dask scheduler: tcp://host:8786 or tls://host:8786."
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="The number of processes on this machine.  [default: one per processor]",
)
@click.option(
    "--tls-ca",
    metavar="FILE",
    shell_complete=files,
    help="The CA certificate that signed the scheduler's certificate.",
)
@click.option(
    "--tls-cert", metavar="FILE", shell_complete=files, help="The certificate of this client."
)
@click.option("--tls-key", metavar="FILE", shell_complete=files, help="The key of this client.")
@click.option(
    "--shard",
    metavar="K/N",
    callback=_shard,
    help="Process only part K of N parts of the models, for a CI matrix.",
)
@click.option(
    "--again",
    metavar="VERDICT,...",
    default="",
    callback=_verdicts,
    help="Repeat steps with these verdicts even if nothing has changed, as in timeout,quarantined.",
)
@click.option(
    "--max-size",
    metavar="SIZE",
    default="16G",
    show_default=True,
    callback=size,
    help="The maximum size of a file that is fetched.",
)
@click.option(
    "--big",
    metavar="SIZE",
    default="256M",
    show_default=True,
    callback=size,
    help="A worker runs only one model of this size or larger at a time.",
)
@click.option(
    "--patience",
    type=click.FloatRange(min=0),
    default=120.0,
    show_default=True,
    help="Seconds to wait for the scheduler and a worker, at the start and when it is lost.",
)
@common_options
@click.pass_context
def command(ctx: click.Context, /, sources: tuple[str, ...], **options: Any) -> None:
    """Validate, convert and check many models, on this machine or on a Dask cluster.

    SOURCE is a folder, a pattern such as 'zoo/**/*.xml', a model, an archive (.zip, .tar, .tar.gz),
    a list of sources (@FILE, one on each line), or an address that fsspec opens (s3://, gs://,
    hf://, https://). Results are Parquet files. Steps that an earlier sweep has done with the same
    files, options and versions are skipped. The exit status is 1 if there are findings, and 2 if no
    model was found or something could not be checked.
    """
    if os.name == "nt":
        raise UsageError("irloop sweep does not run on Windows", fix="use Linux, macOS or WSL")
    require_packages()
    if options["scheduler"] and options["workers"]:
        raise UsageError("--workers cannot be combined with --scheduler, whose workers are used")
    if not options["scheduler"]:
        # The call comes first, because the process that it starts imports modules while this
        # process does.
        prepare()
    console = console_of(ctx)
    signal.signal(signal.SIGTERM, _interrupt)
    state = _run(_plan(sources, options, console), options, console)
    console.done()
    say(_summary(state))
    if not state.done and not state.before:
        raise UsageError("no models found", fix="give .xml or .onnx files")
    if state.findings:
        ctx.exit(Exit.FINDINGS)
    ctx.exit(Exit.NOT_CHECKED if state.unknown else Exit.FINE)


def _interrupt(number: int, frame: object) -> None:
    """Treat a signal as if it were Ctrl-C.

    Finished results are then written before the process ends.
    """
    raise KeyboardInterrupt


def _plan(sources: Sequence[str], options: dict[str, Any], console: Console) -> Plan:
    from irloop.fleet.driver import Plan
    from irloop.fleet.places import target_of
    from irloop.fleet.sources import Shard

    return Plan(
        tuple(sources),
        target_of(options["target"]),
        options["steps"],
        options["to"],
        Shard(*options["shard"]),
        options["again"],
        options["big"],
        options["max_size"],
        console.max_memory,
        console.max_seconds,
    )


def _run(plan: Plan, options: dict[str, Any], console: Console) -> Progress:
    import sys

    from irloop.fleet.cluster import Cluster, Remote, Tls
    from irloop.fleet.driver import sweep

    tls = Tls(options["tls_ca"], options["tls_cert"], options["tls_key"])
    address = options["scheduler"]
    if address is None and any((tls.ca, tls.cert, tls.key)):
        raise UsageError("certificates need --scheduler, but no address was given")
    remote = Remote(address, tls, options["patience"]) if address else None
    workers = options["workers"] or os.cpu_count() or 1
    console.progress("connecting" if remote else "starting workers")
    cluster = Cluster(remote, workers)
    try:
        return sweep(
            plan,
            cluster,
            lambda state: console.progress(_progress(state)),
            count=sys.stderr.isatty(),
        )
    finally:
        cluster.close()


def _progress(state: Progress) -> str:
    """Format the progress of a sweep as one line: models, rate, findings and remaining time."""
    seen = state.done + state.before
    text = f"{seen:,}" + (f" of {state.total:,}" if state.total is not None else "") + " models"
    text += f", {state.rate:.1f}/s, {state.findings:,} findings"
    if state.total is not None and state.done and time.monotonic() - state.started > 5:
        left = max(0, state.total - seen) / state.rate
        text += f", about {left / 60:.0f} min left" if left >= 90 else f", about {left:.0f} s left"
    return text


def _summary(state: Progress) -> str:
    lines = [f"{state.done:,} models in this sweep, {state.before:,} were done before"]
    lines += [
        f"  {step}: {verdict} {count:,}"
        for (step, verdict), count in sorted(
            state.verdicts.items(), key=lambda item: (STEPS.index(item[0][0]), item[0][1])
        )
    ]
    if state.findings_before:
        lines.append(f"  findings of earlier sweeps: {state.findings_before:,}")
    return "\n".join(lines)
