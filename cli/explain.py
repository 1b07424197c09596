"""``irloop explain``: what a code or a pasted message means, and what to do about it."""

from __future__ import annotations

import sys

import click

from .console import common_options, say
from .names import explained

__all__ = ["command"]

#: A message is searched for in this many characters of the standard input.
MOST = 1 << 24

EPILOG = """\
\b
Examples:
  irloop explain IRL203
  irloop explain CNV001
  irloop explain "Incorrect weights in bin file!"
  python app.py 2>&1 | irloop explain -
"""


@click.command("explain", epilog=EPILOG, short_help="Explain a code or a pasted message.")
@click.argument(
    "text", nargs=-1, required=True, metavar="CODE|MESSAGE...", shell_complete=explained
)
@common_options
def command(text: tuple[str, ...]) -> None:
    """Print what a finding CODE means, a bad and a good example, and the fix.

    For a pasted MESSAGE of OpenVINO, ONNX Runtime or onnx.checker, print the cause, the rules that
    find it in a model, and what to do next. The argument - reads the message from standard input.
    The exit status is 2 if the code or the message is unknown. 'irloop rules' lists the codes.
    """
    from irloop import explain

    said = sys.stdin.read(MOST) if text == ("-",) else " ".join(text)
    say(explain(said).rstrip())
