"""``irloop explain``: what a code or a pasted message means, and what to do about it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from .completion import explained
from .console import common_options, say

__all__ = ["command"]

#: A message is searched for in this many characters of the standard input.
MOST = 1 << 24

EPILOG = """\
\b
Examples:
  irloop explain IRL203
  irloop explain CNV001
  irloop explain OVN133 --reproduce report
  irloop explain "Incorrect weights in bin file!"
  python app.py 2>&1 | irloop explain -
"""


@click.command("explain", epilog=EPILOG, short_help="Explain a code or a pasted message.")
@click.argument(
    "text", nargs=-1, required=True, metavar="CODE|MESSAGE...", shell_complete=explained
)
@click.option(
    "--reproduce",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write the smallest model with this fault of an engine, and a script that runs it.",
)
@common_options
def command(text: tuple[str, ...], reproduce: Path | None) -> None:
    """Print what a finding CODE means, a bad and a good example, and the fix.

    For a pasted MESSAGE of OpenVINO, ONNX Runtime or onnx.checker, print the cause, the rules that
    find it in a model, and what to do next. The argument - reads the message from standard input.
    The exit status is 2 if the code or the message is unknown. 'irloop rules' lists the codes.

    With --reproduce, the CODE is that of a fault of an engine (ORT101, OVN101). The script needs
    only the engine and NumPy, and prints the expected and the returned outputs, for a report to the
    engine's developers.
    """
    from irloop import explain

    said = sys.stdin.read(MOST) if text == ("-",) else " ".join(text)
    say(explain(said, reproduce=reproduce).rstrip())
