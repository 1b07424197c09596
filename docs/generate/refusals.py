"""The reasons for which conversions refuse operations, read from their source code.

A rule refuses by ``raise c.refuse("reason")``, itself or in a function it calls. The sources are
read, not run, so a reason is found even if no model triggers it.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from types import FunctionType
from typing import Any

from irloop.conversion.framework.translation import EXPORTS, IMPORTS
from irloop.dialects.onnx import ONNX
from irloop.dialects.openvino import OPENVINO

__all__ = ["reasons"]

_RULES = {"openvino": (OPENVINO, EXPORTS), "onnx": (ONNX, IMPORTS)}


def reasons(dialect: str, type: str, since: int, domain: str = "") -> tuple[str, ...]:
    """Every reason for which the conversion of an operation, or a step of it, may refuse."""
    registry, rules = _RULES[dialect]
    cls = registry.find(type, since, domain)
    rule = None if cls is None else rules.find(cls)
    if rule is None:
        return ()
    found: dict[str, None] = {}
    for function in _reached(rule):
        found.update(dict.fromkeys(_own_reasons(function)))
    return tuple(found)


def _reached(rule: Callable[..., Any]) -> Iterator[FunctionType]:
    """A rule and the functions of its own module that it calls, directly or not."""
    waiting, seen = [rule], set()
    while waiting:
        function = waiting.pop(0)
        if not isinstance(function, FunctionType) or function in seen:
            continue
        seen.add(function)
        yield function
        called = (function.__globals__.get(name) for name in _names(function))
        waiting += [
            item
            for item in called
            if isinstance(item, FunctionType) and item.__module__ == function.__module__
        ]


@cache
def _tree(function: FunctionType) -> ast.Module:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def _names(function: FunctionType) -> list[str]:
    return [node.id for node in ast.walk(_tree(function)) if isinstance(node, ast.Name)]


def _own_reasons(function: FunctionType) -> Iterator[str]:
    for node in ast.walk(_tree(function)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr == "refuse" and node.args and (reason := _text(node.args[0])):
            yield reason + _remedy(node)


def _text(node: ast.expr) -> str:
    """A text in the source, with an ellipsis for parts that are known only at run time."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    return "…" if isinstance(node, ast.FormattedValue) else ""


def _remedy(call: ast.Call) -> str:
    """The opset that helps, if the refusal names one."""
    named = {item.arg: item.value for item in call.keywords}
    opset = named.get("opset")
    return f" (opset {opset.value!r} can)" if isinstance(opset, ast.Constant) else ""
