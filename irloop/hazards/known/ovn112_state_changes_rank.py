"""OVN112: a state whose number of dimensions changes."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["StateChangesRank"]


class StateChangesRank(
    Hazard,
    code="OVN112",
    engine="openvino",
    versions=("2026.4.1",),
    title="A state whose number of dimensions changes",
    effect=Effect.REFUSAL,
    rule="IRL628",
    fix="Give the initial value the rank that the state continues with.",
):
    """A state whose number of dimensions changes.

    What happens:
        The inference ends with an error.
    Where:
        A state begins with another rank than it continues with.
    What irloop does:
        Conversion reports it, or unrolls a loop that runs once.
    """
