"""Creates notes about faults in a converted model.

These are patterns that the engine of the model's format computes wrongly.
"""

from __future__ import annotations

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.faults.catalogue import DIALECTS, broken_faults, find_faults
from irloop.graph.model import Model
from irloop.graph.walk import node_path

__all__ = ["fault_notes"]


def fault_notes(model: Model, runtime: str | None) -> list[Diagnostic]:
    """Create a note for each fault that conversion could not avoid.

    `runtime` is the named target, such as "openvino-2021.4". Types must be inferred already.
    """
    engine = runtime or DIALECTS[model.dialect]
    notes = [
        Diagnostic(
            "CNV109",
            Severity.WARNING,
            f"{match.fault.engine} fails on this pattern ({match.fault.code}): {match.found}",
            Location(line=match.node.location.line, path=node_path(match.node)),
            cause=f"{match.fault.title}: {match.fault.effect.value}",
            fix=match.fault.fix,
        )
        for match in find_faults(model.graph, engine, of_conversion=True)
    ]
    return [*notes, *broken_faults(engine)]
