"""Runs selected passes, then rewrites the forms that the engine cannot handle.

The engine is the one for the model's format; it would refuse these forms or compute them wrongly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irloop.faults.repairing import repairs_after
from irloop.graph.inference import Inference
from irloop.graph.model import Model
from irloop.graph.wellformed import require_wellformed
from irloop.passes.base import Pass
from irloop.passes.library import find_pass, made_passes
from irloop.passes.manager import Manager, Observer
from irloop.passes.profile import Profile

__all__ = ["transform_model"]


def transform_model(
    model: Model,
    passes: Iterable[str | Pass],
    *,
    disable: Iterable[str] = (),
    verify: bool = False,
    observers: Sequence[Observer] = (),
) -> Profile:
    """Run passes, which change `model`; return a record of each pass.

    See `irloop.transform` for the arguments and the errors.
    """
    made = made_passes(passes)
    manager = Manager(made, name="transform", check=verify, observers=observers)
    # A pass that is requested by name runs even if it is disabled by default.
    manager.config.enable(*made)
    own = {item.name for item in made}
    manager.config.disable(*(name if name in own else find_pass(name) for name in disable))
    require_wellformed(model.graph)
    inference = Inference(tolerant=True)
    inference.run(model.graph)
    repairs = repairs_after(model, inference, manager.config)
    repairs.check = verify
    manager.run_passes(model)
    repairs.run_passes(model)
    repaired = [record for record in repairs.profile if record.modified]
    return Profile([*manager.profile, *repaired])
