"""Finds the faults of an engine version, and the nodes of a model that have their patterns.

Users know a fault by the pattern of nodes on which it occurs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from inspect import cleandoc

from irloop import faults as folder_of_faults
from irloop.diagnostics import Diagnostic, Severity
from irloop.errors import InternalError, UsageError
from irloop.faults import repairs as folder_of_repairs
from irloop.faults.fault import FAULTS, Fault
from irloop.faults.measured import Release, releases, spans
from irloop.graph.model import Graph, Node
from irloop.graph.op import Op
from irloop.graph.record import Record
from irloop.graph.walk import all_nodes, kinds_of
from irloop.modules import Modules

__all__ = [
    "DIALECTS",
    "ENGINES",
    "NOT_MINIMAL",
    "REPAIRS",
    "Match",
    "avoided_faults",
    "broken_faults",
    "explain",
    "faults",
    "faults_of",
    "faults_of_engine",
    "find_faults",
]

#: The engines with known faults; for each, the newest release in which they were measured.
ENGINES = {name: releases(name)[-1].version for name in ("onnxruntime", "openvino")}

#: For each dialect, the engine that runs its models.
DIALECTS = {"onnx": "onnxruntime", "openvino": "openvino"}

_FILES = Modules(folder_of_faults.__name__, else_imports=False)

#: The passes that `Fault.avoided_by` names, one in each module.
REPAIRS = Modules(folder_of_repairs.__name__)

#: For each engine, the first letters of the file names of its faults.
_PREFIXES = {"onnxruntime": "ort", "openvino": "ovn"}

#: A note for faults whose conformance case passes in some versions that have the fault.
NOT_MINIMAL = (
    "The minimal model alone does not show the fault in every version: the fault was seen in "
    "larger models, when the file was read in another way, or with a separate request for each "
    "inference."
)

_TARGET = re.compile(r"(?P<engine>[a-z]+)(?:-(?P<version>[0-9]+(?:\.[0-9]+)*))?")


class Match(Record):
    """An occurrence of the pattern of a fault in a model."""

    fault: type[Fault]
    node: Node
    found: str


def faults() -> dict[str, type[Fault]]:
    """Every fault, keyed by its code, in the order of codes."""
    return {code: item for engine in ENGINES for code, item in _faults_in(engine).items()}


@cache
def _faults_in(engine: str) -> dict[str, type[Fault]]:
    """The faults of an engine; the modules of other engines' faults are not imported."""
    for name in _FILES.names:
        if name.startswith(_PREFIXES[engine]):
            _FILES.load(name)
    return {code: item for code, item in sorted(FAULTS.items()) if item.engine == engine}


def broken_faults(target: str) -> list[Diagnostic]:
    """Name the faults of an engine, and their repairs, whose modules cannot be imported."""
    known = faults_of_engine(_engine_of(target))
    repairs = {name for item in known for name in item.avoided_by}
    broken = {_code(name): why for name, why in _FILES.broken.items()}
    broken |= {name: why for name, why in REPAIRS.broken.items() if name in repairs}
    return [
        Diagnostic(
            InternalError.code,
            Severity.ERROR,
            f"fault {name} {why}" if name.isupper() else f"repair {name} {why}",
            fix="install irloop again",
        )
        for name, why in broken.items()
    ]


def _code(file: str) -> str:
    return file.partition("_")[0].upper()


def faults_of_engine(engine: str) -> list[type[Fault]]:
    """Every fault of an engine, in the order of codes, whatever the version."""
    return [*_faults_in(engine).values()]


def explain(code: str) -> str:
    """Return the description of a fault as text for the user.

    The text also contains two commands: one finds the fault in a model, the other tests whether
    the installed version of the engine has it.

    Raises:
        UsageError: for a code that does not exist.
    """
    fault = faults().get(code)
    for name, why in _FILES.broken.items():
        if code == _code(name):
            raise UsageError(f"fault {code} {why}", fix="install irloop again")
    if fault is None:
        raise UsageError(f"no fault has the code {code!r}", expected=", ".join(faults()))
    measured = f"measured in {fault.engine} {spans(fault.engine, code)}"
    text = [f"{code}: {fault.title} ({fault.effect.value}, {measured})"]
    text.append(cleandoc(fault.__doc__ or ""))
    if fault.rule:
        text.append(f"Found by:\n    rule {fault.rule}, in every irloop validate")
    else:
        text.append(f"Found by:\n    irloop validate --engine {fault.engine}")
    text.append(
        f"Test your version:\n    irloop conformance {fault.engine} --case {fault.smallest.name}"
    )
    if not fault.minimal:
        text.append(NOT_MINIMAL)
    if fault.fix:
        text.append(f"Fix:\n    {fault.fix}")
    return "\n\n".join(text) + "\n"


def faults_of(target: str) -> list[type[Fault]]:
    """The faults of an engine, such as "openvino-2021.4" or "onnxruntime".

    A name without a version means the newest release that was measured. Version 2021.4 means
    2021.4.2, and 2026 every release of that year.

    Raises:
        UsageError: when no such engine was measured.
    """
    chosen = _releases_of(target)
    known = faults_of_engine(_engine_of(target))
    return [item for item in known if any(one.has(item.code) for one in chosen)]


def avoided_faults(target: str) -> list[type[Fault]]:
    """The faults that every conversion for an engine avoids, before it is adapted to a target.

    A target with a version leaves out the faults that it was measured not to have. A fault stays if
    its case does not tell.

    Raises:
        UsageError: when no such engine was measured.
    """
    engine = _engine_of(target)
    chosen = [] if target == engine else _releases_of(target)
    return [
        item
        for item in faults_of_engine(engine)
        if not item.on_target
        and not (chosen and item.minimal and all(one.is_right(item.code) for one in chosen))
    ]


def _engine_of(target: str) -> str:
    """The engine of a target.

    Raises:
        UsageError: when it has no known faults.
    """
    match = _TARGET.fullmatch(target)
    if match is None or match["engine"] not in ENGINES:
        raise UsageError(
            f"no engine {target!r}",
            expected=f"{', '.join(ENGINES)}, with or without a version, such as openvino-2021.4",
        )
    return match["engine"]


def _releases_of(target: str) -> list[Release]:
    """The measured releases that a target means.

    Raises:
        UsageError: when there is none.
    """
    engine = _engine_of(target)
    version = target.removeprefix(engine)[1:] or ENGINES[engine]
    chosen = [item for item in releases(engine) if item.is_called(version)]
    if not chosen:
        known = ", ".join(item.version for item in releases(engine))
        raise UsageError(f"{engine} {version} was not measured", expected=f"one of {known}")
    return chosen


def find_faults(graph: Graph, target: str, *, of_conversion: bool = False) -> Iterator[Match]:
    """Find the places in a graph and its bodies at which the engine `target` has a fault.

    With `of_conversion`, only those faults are considered that a conversion reports in its result
    (`Fault.concerns_conversion`).

    Raises:
        UsageError: when no fault was measured in the engine `target`.
    """
    chosen = faults_of(target)
    kinds = kinds_of(graph)
    wanted = [
        item()
        for item in chosen
        if (item.concerns_conversion or not of_conversion)
        and item.find is not Fault.find
        and any(issubclass(kind, item.beside) for kind in kinds)
        and any(issubclass(kind, item.operations) for kind in kinds)
    ]
    if not wanted:
        return
    #: The faults of each operation, separately for nodes with bodies and for other nodes.
    by_operation: dict[tuple[type[Op], bool], list[Fault]] = {}
    for node in all_nodes(graph):
        key = type(node.op), bool(node.bodies)
        possible = by_operation.get(key)
        if possible is None:
            possible = by_operation[key] = [
                item
                for item in wanted
                if isinstance(node.op, item.operations) and (node.bodies or not item.only_with_body)
            ]
        for fault in possible:
            for found in fault.find(node):
                yield Match(type(fault), node, found)
