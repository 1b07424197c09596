"""``irloop doctor``: installed versions and engines, and the known faults of these versions."""

from __future__ import annotations

import click

from . import report_json
from .console import common_options, say
from .options import format_option

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop doctor
  irloop doctor --format json
"""


@click.command(
    "doctor", epilog=EPILOG, short_help="List versions, engines, and their known faults."
)
@format_option()
@common_options
def command(style: str) -> None:
    """List the installed versions and engines, and the known faults of those versions.

    A bug report needs this information. The engines are neither imported nor run.
    """
    from irloop import environment

    versions = environment()
    if style == "json":
        click.echo(report_json.report("doctor", (), environment=versions.to_dict()))
    else:
        say(str(versions))
