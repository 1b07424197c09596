"""Finds the hazards of an engine version, and the nodes of a model that match their patterns.

A hazard is a known fault of an engine, with the pattern of nodes on which it occurs.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator
from functools import cache
from inspect import cleandoc

from irloop.errors import UsageError
from irloop.graph.model import Graph, Node
from irloop.graph.op import Op
from irloop.graph.record import Record
from irloop.graph.walk import all_nodes, kinds_of
from irloop.hazards import known
from irloop.hazards.hazard import HAZARDS, Hazard

__all__ = ["ENGINES", "NOT_MINIMAL", "Match", "explain", "find_hazards", "hazards", "hazards_of"]

#: The engines with hazards; for each, the newest version in which the hazards were measured.
ENGINES = {"onnxruntime": "1.32.0", "openvino": "2026.4.1"}

#: For each engine, the first letters of the file names of its hazards.
_PREFIXES = {"onnxruntime": "ort", "openvino": "ovn"}

#: A note for hazards whose conformance case passes in some versions that have the fault.
NOT_MINIMAL = (
    "The minimal model alone does not show the fault in every version: the fault was seen in "
    "larger models, when the file was read in another way, or with a separate request for each "
    "inference."
)

_TARGET = re.compile(r"(?P<engine>[a-z]+)(?:-(?P<version>[0-9]+(?:\.[0-9]+)*))?")


class Match(Record):
    """An occurrence of the pattern of a hazard in a model."""

    hazard: type[Hazard]
    node: Node
    found: str


def hazards() -> dict[str, type[Hazard]]:
    """Every hazard, keyed by its code, in the order of codes."""
    return {code: item for engine in ENGINES for code, item in _hazards_in(engine).items()}


@cache
def _hazards_in(engine: str) -> dict[str, type[Hazard]]:
    """The hazards of an engine; the modules of other engines' hazards are not imported."""
    folder = next(iter(known.__path__))
    for name in sorted(os.listdir(folder)):
        if name.startswith(_PREFIXES[engine]) and name.endswith(".py"):
            importlib.import_module(f"{known.__name__}.{name[:-3]}")
    return {code: item for code, item in sorted(HAZARDS.items()) if item.engine == engine}


def explain(code: str) -> str:
    """Return the description of a hazard as text for the user.

    The text also contains two commands: one finds the hazard in a model, the other tests whether
    the installed version of the engine has it.

    Raises:
        UsageError: for a code that does not exist.
    """
    hazard = hazards().get(code)
    if hazard is None:
        raise UsageError(f"no hazard has the code {code!r}", expected=", ".join(hazards()))
    measured = f"measured in {hazard.engine} {', '.join(hazard.versions)}"
    text = [f"{code}: {hazard.title} ({hazard.effect.value}, {measured})"]
    text.append(cleandoc(hazard.__doc__ or ""))
    if hazard.rule:
        text.append(f"Found by:\n    rule {hazard.rule}, in every irloop validate")
    else:
        text.append(f"Found by:\n    irloop validate --engine {hazard.engine}")
    text.append(f"Test your version:\n    irloop conformance {hazard.engine} --case {hazard.case}")
    if not hazard.minimal:
        text.append(NOT_MINIMAL)
    if hazard.fix:
        text.append(f"Fix:\n    {hazard.fix}")
    return "\n\n".join(text) + "\n"


def hazards_of(target: str) -> list[type[Hazard]]:
    """The hazards of an engine, such as "openvino-2021.4" or "onnxruntime".

    A name without a version means the newest version that was measured. Version 2021.4 also
    includes the hazards that were measured in 2021.4.2.

    Raises:
        UsageError: when no hazard was measured in such an engine.
    """
    match = _TARGET.fullmatch(target)
    engine = match["engine"] if match else ""
    if match is None or engine not in ENGINES:
        raise UsageError(
            f"no engine {target!r}",
            expected=f"{', '.join(ENGINES)}, with or without a version, such as openvino-2021.4",
        )
    version = match["version"] or ENGINES[engine]
    measured = [*_hazards_in(engine).values()]
    chosen = [item for item in measured if any(_begins(one, version) for one in item.versions)]
    if not chosen:
        versions = sorted({one for item in measured for one in item.versions})
        raise UsageError(
            f"{engine} {version} was not measured", expected=f"one of {', '.join(versions)}"
        )
    return chosen


def _begins(measured: str, asked: str) -> bool:
    left, right = measured.split("."), asked.split(".")
    shorter = min(len(left), len(right))
    return left[:shorter] == right[:shorter]


def find_hazards(graph: Graph, target: str, *, of_conversion: bool = False) -> Iterator[Match]:
    """Find the places in a graph and its bodies at which the engine `target` hits a hazard.

    With `of_conversion`, only those hazards are considered that a conversion reports in its result
    (`Hazard.concerns_conversion`).

    Raises:
        UsageError: when no hazard was measured in the engine `target`.
    """
    chosen = hazards_of(target)
    kinds = kinds_of(graph)
    wanted = [
        item()
        for item in chosen
        if (item.concerns_conversion or not of_conversion)
        and item.find is not Hazard.find
        and any(issubclass(kind, item.beside) for kind in kinds)
        and any(issubclass(kind, item.operations) for kind in kinds)
    ]
    if not wanted:
        return
    #: The hazards of each operation, separately for nodes with bodies and for other nodes.
    by_operation: dict[tuple[type[Op], bool], list[Hazard]] = {}
    for node in all_nodes(graph):
        key = type(node.op), bool(node.bodies)
        possible = by_operation.get(key)
        if possible is None:
            possible = by_operation[key] = [
                item
                for item in wanted
                if isinstance(node.op, item.operations) and (node.bodies or not item.only_with_body)
            ]
        for hazard in possible:
            for found in hazard.find(node):
                yield Match(type(hazard), node, found)
