"""Warnings about patterns that an engine gets wrong: `validate --engine openvino`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from irloop.diagnostics import Diagnostic, Severity
from irloop.graph.model import Graph
from irloop.graph.walk import node_path
from irloop.hazards.catalogue import Match, find_hazards
from irloop.validation.analysis import LightInference

__all__ = ["hazard_findings"]


def hazard_findings(graph: Graph, engines: Iterable[str]) -> Iterator[Diagnostic]:
    """A warning for each place in a graph that has the pattern of a hazard of these engines.

    Raises:
        UsageError: when no hazard was measured in such an engine.
    """
    LightInference().run(graph)
    for engine in engines:
        for match in find_hazards(graph, engine):
            yield _finding(match)


def _finding(match: Match) -> Diagnostic:
    hazard = match.hazard
    place = match.node.location
    return Diagnostic(
        hazard.code,
        Severity.WARNING,
        f"{hazard.title}: {match.found}",
        replace(place, path=place.path or node_path(match.node)),
        cause=f"{hazard.engine} {hazard.versions[-1]}: {hazard.effect.value}",
        fix=hazard.fix,
    )
