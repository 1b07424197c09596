"""``irloop rules``: list every code that validation can report."""

from __future__ import annotations

import click

from . import report_json
from .console import common_options, say_table
from .options import format_option

__all__ = ["command"]

EPILOG = """\
\b
Examples:
  irloop rules
  irloop rules --format json
"""


@click.command("rules", epilog=EPILOG, short_help="List the validation rules.")
@format_option()
@common_options
def command(style: str) -> None:
    """List the validation rules: code, severity, title."""
    from irloop import rules

    rows = [
        {"code": rule.code, "severity": rule.severity.value, "title": rule.title}
        for rule in rules()
    ]
    if style == "json":
        click.echo(report_json.dump({"schema": "irloop-rules/1", "rules": rows}))
        return
    say_table([row.values() for row in rows])
