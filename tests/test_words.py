"""The words of the source: docstrings of predicates, and names that tell nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: Names that may live a few lines only, and for how many.
VAGUE = ("at", "found", "given", "item", "whole")
MOST_LINES = 3

_SCOPES = (ast.FunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@cache
def functions() -> list[tuple[str, ast.FunctionDef]]:
    files = sorted([*ROOT.glob("irloop/**/*.py"), *ROOT.glob("cli/**/*.py")])
    return [
        (f"{file.relative_to(ROOT)}:{node.lineno} {node.name}", node)
        for file in files
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
    ]


def lines_by_name(function: ast.AST) -> Iterator[tuple[str, int]]:
    """The vague names that a function binds or reads, with their lines; inner scopes left out."""
    for node in ast.iter_child_nodes(function):
        if isinstance(node, (*_SCOPES, *_COMPREHENSIONS)):
            continue
        if isinstance(node, ast.Name) and node.id in VAGUE:
            yield node.id, node.lineno
        if isinstance(node, ast.arg) and node.arg in VAGUE:
            yield node.arg, node.lineno
        yield from lines_by_name(node)


def test_docstrings_of_predicates_begin_one_way() -> None:
    wrong = [
        place
        for place, function in functions()
        if function.returns is not None
        and ast.unparse(function.returns) == "bool"
        and (ast.get_docstring(function) or "").split(maxsplit=1)[:1] in (["True"], ["Whether"])
    ]
    assert not wrong, "begin them with 'Return whether': " + "\n".join(wrong)


def test_vague_names_live_a_few_lines() -> None:
    wrong = []
    for place, function in functions():
        lines: dict[str, list[int]] = {}
        for name, line in lines_by_name(function):
            lines.setdefault(name, []).append(line)
        if any(getattr(argument, "arg", "") == "expected" for argument in ast.walk(function.args)):
            # An error says what it expected and what it found.
            lines.pop("found", None)
        wrong += [
            f"{place}: {name}, {max(used) - min(used) + 1} lines"
            for name, used in lines.items()
            if max(used) - min(used) >= MOST_LINES
        ]
    assert not wrong, "\n".join(wrong)
