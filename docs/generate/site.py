"""Generates whole pages, blocks within pages, and entries of the navigation."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import irloop
from docs.generate import (
    api,
    commands,
    faults,
    messages,
    operations,
    passes,
    pictures,
    reports,
    repository,
    rules,
    texts,
    tolerances,
    verdicts,
)

__all__ = ["BLOCKS", "filled", "navigation", "pages"]

#: The generators of blocks, which replace ``<!-- generated: NAME -->`` in pages.
BLOCKS: dict[str, Callable[[], str]] = {
    "api classes": api.classes,
    "api errors": api.errors,
    "api functions": api.functions,
    "api passes": api.passes,
    "commands": commands.index,
    "faults onnxruntime": partial(faults.of_engine, "onnxruntime"),
    "faults openvino": partial(faults.of_engine, "openvino"),
    "faults": faults.index,
    "messages": messages.known,
    "operation counts": operations.counts,
    "operations described onnx": partial(operations.described, "onnx"),
    "operations described openvino": partial(operations.described, "openvino"),
    "operations onnx": partial(operations.operations, "onnx"),
    "operations openvino": partial(operations.operations, "openvino"),
    "other codes": rules.other_codes,
    "passes": passes.library,
    "pre-commit": repository.pre_commit,
    "refused contrib": operations.refused_contrib,
    "refused onnx": partial(operations.refused, "onnx"),
    "refused openvino": partial(operations.refused, "openvino"),
    "releases onnxruntime": partial(faults.of_releases, "onnxruntime"),
    "releases openvino": partial(faults.of_releases, "openvino"),
    "report finding": reports.finding,
    "report keys": reports.report,
    "rules": rules.index,
    "tolerances": tolerances.allowances,
    "verdicts": verdicts.words,
}

_REQUEST = re.compile(r"^<!-- (generated|picture): ([\w -]+?) -->$", re.MULTILINE)


def pages() -> dict[str, str]:
    """Every generated page, keyed by path."""
    return {**rules.pages(), **faults.pages(), **commands.pages(), **texts.pages()}


def filled(markdown: str) -> str:
    """A page with its generated blocks and pictures.

    Raises:
        KeyError: for a block or a model that does not exist.
    """
    return _REQUEST.sub(_answer, markdown)


def _answer(request: re.Match[str]) -> str:
    kind, name = request.groups()
    return BLOCKS[name]() if kind == "generated" else pictures.picture(name)


def navigation(name: str) -> list[Any]:
    """The entries that replace ``NAME: generated`` in mkdocs.yml.

    Raises:
        KeyError: for an unknown name.
    """
    return {"Rules": _rules, "Faults of engines": _faults, "Command line": _commands}[name]()


def _rules() -> list[Any]:
    groups: dict[str, list[str]] = {}
    for rule in irloop.rules():
        path = f"rules/{rule.code.lower()}.md"
        groups.setdefault(rules.title_of(rule.code), []).append(path)
    sections = [{title: paths} for title, paths in groups.items()]
    return ["rules/index.md", *sections, {"Other codes": "rules/other.md"}]


def _faults() -> list[str]:
    return ["hazards/index.md", "hazards/releases.md", *faults.pages()]


def _commands() -> list[str]:
    return ["reference/cli/index.md", *commands.pages()]
