"""OVN106: a trip count of constant zero and a joined output."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["ConstantTripCountZero"]


class ConstantTripCountZero(
    Hazard,
    code="OVN106",
    engine="openvino",
    versions=("2026.4.1",),
    title="A trip count of constant zero and a joined output",
    effect=Effect.CRASH,
    rule="IRL609",
    fix="Leave the loop out: irloop transform --pass fold_trips",
):
    """A trip count of constant zero and a joined output.

    What happens:
        The process dies while the model is compiled, or the output is empty in a wrong way.
    Where:
        The trip count of a Loop is a constant 0.
    What irloop does:
        Conversion to IR writes no loop.
    """
