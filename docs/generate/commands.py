"""Generates the reference of the command line from click's definitions."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path

import click
from click.testing import CliRunner

from docs.generate.markdown import cell, fenced, table

__all__ = ["index", "pages", "run", "the_command"]


def the_command() -> click.Group:
    """The installed command."""
    (entry,) = entry_points(group="console_scripts", name="irloop")
    found = entry.load()
    assert isinstance(found, click.Group)
    return found


def run(arguments: Sequence[str], cwd: Path) -> str:
    """The stdout of the command when it is run in `cwd`."""
    with _in_folder(cwd):
        result = CliRunner().invoke(the_command(), list(arguments), prog_name="irloop")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


@contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def pages() -> dict[str, str]:
    """A page for each command, keyed by path."""
    context = click.Context(the_command(), info_name="irloop")
    return {
        f"reference/cli/{name.replace(' ', '-')}.md": _page(name, command, context)
        for name, command in _commands(context).items()
    }


def index() -> str:
    """A table of the commands."""
    context = click.Context(the_command(), info_name="irloop")
    rows = [
        (f"[`irloop {name}`]({name.replace(' ', '-')}.md)", command.get_short_help_str(100))
        for name, command in _commands(context).items()
    ]
    return table(("command", "what it does"), rows)


def _commands(context: click.Context) -> dict[str, click.Command]:
    group = context.command
    assert isinstance(group, click.Group)
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found[name] = command
        inner: dict[str, click.Command] = getattr(command, "subcommands", {})
        found |= {f"{name} {below}": command for below, command in inner.items()}
    return found


def _page(name: str, command: click.Command, parent: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=parent)
    usage = f"irloop {name} {' '.join(command.collect_usage_pieces(context))}"
    parts = [f"# irloop {name}", fenced(usage), _paragraphs(command.help or "")]
    options = [item for item in command.get_params(context) if isinstance(item, click.Option)]
    rows = [_option(option, context) for option in options if not option.hidden]
    parts += ["## Options", table(("option", "what it does"), rows)]
    parts += _epilog(inspect.cleandoc(command.epilog or ""))
    return "\n\n".join(parts) + "\n"


def _option(option: click.Option, context: click.Context) -> tuple[str, str]:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag or option.count else f" `{option.make_metavar(context)}`"
    extra = option.get_help_extra(context)
    notes = [
        "needed" if "required" in extra else "",
        f"default: `{extra['default']}`" if "default" in extra else "",
        f"`{extra['range']}`" if "range" in extra else "",
    ]
    noted = "; ".join(filter(None, notes))
    return names + value, (option.help or "") + (f" *({noted})*" if noted else "")


def _paragraphs(text: str) -> str:
    return "\n\n".join(cell(part) for part in inspect.cleandoc(text).split("\n\n"))


def _epilog(text: str) -> Iterator[str]:
    """The blocks after the options: a title and preformatted lines."""
    for block in text.replace("\b", "").strip().split("\n\n"):
        title, _, lines = block.strip("\n").partition("\n")
        if not lines:
            continue
        content = inspect.cleandoc("\n" + lines)
        language = "sh" if content.startswith("irloop") else "toml" if "=" in content else "text"
        yield "## Examples" if title == "Examples:" else cell(title)
        yield fenced(content, language)
