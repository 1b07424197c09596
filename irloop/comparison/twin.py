"""Copies a model and rewrites, in the copy, those hazards of an engine that a pass can rewrite.

According to the specification, the copy computes the same values as the model. If an engine returns
different values for the two, one of these hazards is the reason.
"""

from __future__ import annotations

from irloop.faults.catalogue import ENGINES, find_faults
from irloop.faults.fault import Fault
from irloop.graph.clone import clone_model
from irloop.graph.inference import Inference
from irloop.graph.model import Model
from irloop.passes.common import LIBRARY
from irloop.passes.manager import Manager

__all__ = ["safe_twin"]


def safe_twin(model: Model, engine: str) -> tuple[Model, tuple[type[Fault], ...]] | None:
    """Rewrite the hazards of `engine` in a copy of a model; return the copy and the hazards.

    None if the engine is unknown, or if the model has no hazard that a pass rewrites.

    Raises:
        IrloopError: when the model contradicts itself, or a pass cannot change it.
    """
    if engine not in ENGINES:
        return None
    twin = clone_model(model)
    Inference().run(twin.graph)
    found = dict.fromkeys(match.fault for match in find_faults(twin.graph, engine))
    hazards = tuple(hazard for hazard in found if hazard.passes)
    if not hazards:
        return None
    names = dict.fromkeys(name for hazard in hazards for name in hazard.passes)
    Manager([LIBRARY[name]() for name in names]).run_passes(twin)
    return twin, hazards
