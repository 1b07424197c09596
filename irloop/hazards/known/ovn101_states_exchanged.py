"""OVN101: states that exchange their values."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["StatesExchanged"]


class StatesExchanged(
    Hazard,
    code="OVN101",
    engine="openvino",
    versions=("2021.4.2", "2026.4.1"),
    title="States that exchange their values",
    effect=Effect.WRONG,
    case="openvino_loop_states_exchanged",
    rule="IRL626",
    fix="irloop transform --pass body_barriers",
):
    """States that exchange their values.

    What happens:
        Back edges are carried out one after another in the memory of the parameters: from the
        second iteration on one of the two values is lost.
    Where:
        A body result is a Parameter of the body, and a back edge leads from it to another Parameter
        that is read.
    What irloop does:
        Conversion to IR copies the value in the body; the pass body_barriers does so in an IR.
    """
