"""``irloop explain``: what a code means and what to do about it."""

from __future__ import annotations

import click

from .console import common_options

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop explain IRL203
  irloop explain CNV001
"""


@click.command("explain", epilog=EPILOG, short_help="What a finding means and what to do.")
@click.argument("code")
@common_options
def command(code: str) -> None:
    """Print what the finding CODE means, a bad and a good example, and the fix.

    'irloop rules' lists the codes.
    """
    from irloop import explain

    click.echo(explain(code).rstrip())
