"""What a shell completes: files, names, codes, and the inputs of the model that was typed before.

A completion prints nothing and raises nothing: what cannot be read has no completions.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from typing import Any

import click
from click.shell_completion import CompletionItem

from irloop.errors import IrloopError

__all__ = [
    "codes",
    "engines",
    "explained",
    "files",
    "folders",
    "input_names",
    "named_reports",
    "operation_names",
    "pass_names",
    "releases",
    "settings",
    "steps",
    "value_names",
]

#: Names with a description of each; "" for none.
Names = Iterable[tuple[str, str]]
Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

#: The parameters in which commands have the model whose names are completed.
_MODELS = ("model", "source", "first")


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    return [CompletionItem(incomplete, type="file")]


def folders(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete the name of a folder."""
    return [CompletionItem(incomplete, type="dir")]


def _completer(ends: str = "", splits: str = "") -> Callable[[Callable[..., Names]], Completer]:
    """Make a completer of a function that lists names; letter case does not matter.

    With `splits`, only what follows the last of these characters is completed. `ends` follows each
    name.
    """

    def decorate(names: Callable[..., Names]) -> Completer:
        @functools.wraps(names)
        def complete(
            ctx: click.Context, param: click.Parameter, incomplete: str
        ) -> list[CompletionItem]:
            at = max((incomplete.rfind(mark) for mark in splits), default=-1) + 1
            done, last = incomplete[:at], incomplete[at:].lower()
            try:
                known = list(names(ctx))
            except (IrloopError, OSError, ValueError):
                return []
            return [
                CompletionItem(f"{done}{name}{ends}", help=help or None)
                for name, help in known
                if name.lower().startswith(last)
            ]

        return complete

    return decorate


def steps(*known: str) -> Completer:
    """Complete a list of these words, separated by commas."""
    return _completer(splits=",")(lambda _: [(word, "") for word in known])


@_completer()
def pass_names(ctx: click.Context) -> Names:
    """The passes."""
    from irloop import transformations

    return ((item.name, item.summary) for item in transformations())


@_completer(splits=",")
def codes(ctx: click.Context) -> Names:
    """The codes of rules; several are separated by commas."""
    from irloop import rules

    return ((rule.code, rule.title) for rule in rules())


@_completer()
def explained(ctx: click.Context) -> Names:
    """The codes of rules and errors."""
    from irloop import rules
    from irloop.errors import MEANINGS

    known = {rule.code: rule.title for rule in rules()}
    known |= {code: meaning.partition(". ")[0] for code, meaning in MEANINGS.items()}
    return sorted(known.items())


@_completer()
def operation_names(ctx: click.Context) -> Names:
    """The types of operations."""
    from irloop import operations

    return [(name, "") for name in sorted({item.type for item in operations()})]


@_completer(splits=",")
def engines(ctx: click.Context) -> Names:
    """The engines; several are separated by commas."""
    from irloop import environment

    found = environment().engines
    return [("auto", ""), *((item.name, item.version or "not installed") for item in found)]


@_completer()
def releases(ctx: click.Context) -> Names:
    """The measured releases of engines, newest first, as in openvino-2024.6."""
    from irloop import environment

    found = environment().engines
    return [(f"{item.name}-{number}", "") for item in found for number in reversed(item.releases)]


def _inputs(ctx: click.Context) -> Names:
    """The inputs of the model."""
    model = _model(ctx)
    nodes = () if model is None else model.graph.parameters
    return [(node.name, str(node.output.type)) for node in nodes]


input_names = _completer()(_inputs)

#: Complete the name of an input before its value, as in ``x=``.
settings = _completer(ends="=")(_inputs)


@_completer(splits=",")
def value_names(ctx: click.Context) -> Names:
    """The values of the main graph; several are separated by commas."""
    model = _model(ctx)
    nodes = () if model is None else (*model.graph.parameters, *model.graph.nodes)
    return [(node.name, node.op.type) for node in nodes]


def _model(ctx: click.Context) -> Any:
    """The model that was typed before, without its weights; None if there is none."""
    from irloop import read_model

    # An option without its value ends the parsing, and arguments have no names then.
    named = [*(ctx.params.get(name) for name in _MODELS), *ctx.args]
    files = (item for item in named if isinstance(item, str) and os.path.isfile(item))
    file = next(files, None)
    return None if file is None else read_model(file, without_weights=True)


def named_reports(formats: Iterable[str]) -> Completer:
    """Complete ``FORMAT=FILE``, or a file."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        format, equals, start = incomplete.partition("=")
        if not equals:
            known = [CompletionItem(f"{name}=") for name in formats if name.startswith(format)]
            return known or files(ctx, param, incomplete)
        folder, name = os.path.split(start)
        try:
            entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
        except OSError:
            return []
        return [
            CompletionItem(f"{format}={os.path.join(folder, entry.name)}{os.sep * entry.is_dir()}")
            for entry in entries
            if entry.name.startswith(name)
        ]

    return complete
