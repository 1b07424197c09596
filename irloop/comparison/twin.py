"""Copies a model and rewrites, in the copy, those faults of an engine that a pass can rewrite.

According to the specification, the copy computes the same values as the model. If an engine returns
different values for the two, one of these faults is the reason.
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
    """Rewrite the faults of `engine` in a copy of a model; return the copy and the faults.

    None if the engine is unknown, or if the model has no fault that a pass rewrites.

    Raises:
        IrloopError: when the model contradicts itself, or a pass cannot change it.
    """
    if engine not in ENGINES:
        return None
    twin = clone_model(model)
    Inference().run(twin.graph)
    found = dict.fromkeys(match.fault for match in find_faults(twin.graph, engine))
    faults = tuple(fault for fault in found if fault.passes)
    if not faults:
        return None
    names = dict.fromkeys(name for fault in faults for name in fault.passes)
    Manager([LIBRARY[name]() for name in names]).run_passes(twin)
    return twin, faults
