"""Warnings about patterns that an engine gets wrong: `validate --engine openvino`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from irloop.diagnostics import Diagnostic, Severity
from irloop.errors import ReadError
from irloop.faults.catalogue import Match, broken_faults, find_faults
from irloop.formats.openvino.reader import read_document
from irloop.graph.model import Graph
from irloop.graph.walk import all_nodes, node_path
from irloop.graph.wellformed import misfit
from irloop.validation.analysis import LightInference

if TYPE_CHECKING:
    from irloop.formats.openvino.document import Document
    from irloop.opening import Path

__all__ = ["fault_findings", "fault_findings_of_ir"]


def fault_findings(
    graph: Graph, engines: Iterable[str], reported: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a warning for each node of a graph that has the pattern of a fault of these engines.

    `reported` holds the codes of the rules that found something; faults with the same rule are
    skipped. If the inputs, bodies or port maps of some node do not fit its operation, yield one
    note instead.

    Raises:
        UsageError: for an engine in which no fault was measured.
    """
    wrong = next((node for node in all_nodes(graph) if misfit(node) is not None), None)
    if wrong is not None:
        yield _not_looked_for(engines, f"{node_path(wrong)}: {misfit(wrong)}")
        return
    LightInference().run(graph)
    for engine in engines:
        yield from broken_faults(engine)
        for match in find_faults(graph, engine):
            if match.fault.rule not in reported:
                yield _finding(match)


def fault_findings_of_ir(
    document: Document, weights: Path, engines: Iterable[str], reported: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield the faults of `engines` in an IR, even if the IR has errors.

    If the errors prevent building a graph, yield one note instead.
    """
    try:
        graph = read_document(document, weights).graph
    except ReadError as error:
        yield _not_looked_for(engines, error.message)
        return
    yield from fault_findings(graph, engines, reported)


def _not_looked_for(engines: Iterable[str], reason: str) -> Diagnostic:
    return Diagnostic(
        "HAZ001",
        Severity.INFO,
        f"the model was not searched for faults of {', '.join(engines)}: {reason}",
        fix="correct the errors, then validate again",
    )


def _finding(match: Match) -> Diagnostic:
    fault = match.fault
    place = match.node.location
    return Diagnostic(
        fault.code,
        Severity.WARNING,
        f"{fault.title}: {match.found}",
        replace(place, path=place.path or node_path(match.node)),
        cause=f"{fault.engine} {fault.measured[-1]}: {fault.effect.value}",
        fix=fault.fix,
    )
