"""Copies a model and rewrites, in the copy, those faults of an engine that irloop can rewrite.

According to the specification, the copy computes the same values as the model. If an engine returns
different values for the two, one of these faults is the reason.
"""

from __future__ import annotations

from irloop.faults.catalogue import DIALECTS, find_faults
from irloop.faults.fault import Effect, Fault
from irloop.faults.repairing import repairs
from irloop.graph.clone import clone_model
from irloop.graph.inference import Inference
from irloop.graph.model import Model
from irloop.passes.common import LIBRARY
from irloop.passes.manager import Manager

__all__ = ["safe_twin"]


def safe_twin(model: Model, engine: str) -> tuple[Model, tuple[type[Fault], ...]] | None:
    """Rewrite the faults of `engine` in a copy of a model.

    The copy is rewritten by the passes that users run against these faults (`Fault.passes`), and by
    those that end every conversion. Returns the copy, and those of the rewritten faults that can
    make a value wrong. None if another engine runs models of this dialect.

    Raises:
        IrloopError: when the model contradicts itself, or a pass cannot change it.
    """
    if DIALECTS[model.dialect] != engine:
        return None
    twin = clone_model(model)
    before = _faults(twin, engine)
    names = dict.fromkeys(name for fault in before for name in fault.passes)
    Manager([*(LIBRARY[name]() for name in names), *repairs(model.dialect)]).run_passes(twin)
    left = _faults(twin, engine)
    rewritten = tuple(
        fault
        for fault, places in before.items()
        if fault.effect in (Effect.WRONG, Effect.STALE) and places > left.get(fault, 0)
    )
    return twin, rewritten


def _faults(model: Model, engine: str) -> dict[type[Fault], int]:
    """Count the places where a model has each fault of the engine."""
    Inference().run(model.graph)
    places: dict[type[Fault], int] = {}
    for match in find_faults(model.graph, engine):
        places[match.fault] = places.get(match.fault, 0) + 1
    return places
