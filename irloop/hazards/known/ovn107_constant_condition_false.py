"""OVN107: an initial condition of constant false."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["ConstantConditionFalse"]


class ConstantConditionFalse(
    Hazard,
    code="OVN107",
    engine="openvino",
    versions=("2026.4.1",),
    title="An initial condition of constant false",
    effect=Effect.WRONG,
    rule="IRL609",
    fix="Leave the loop out: irloop transform --pass fold_trips",
):
    """An initial condition of constant false.

    What happens:
        The last values of the states are lost.
    Where:
        The condition input of a Loop is a constant false.
    What irloop does:
        Conversion to IR writes no loop.
    """
