"""OVN108: a joined value whose shape changes."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["JoinedValueChangesShape"]


class JoinedValueChangesShape(
    Hazard,
    code="OVN108",
    engine="openvino",
    versions=("2026.4.1",),
    title="A joined value whose shape changes",
    effect=Effect.WRONG,
    rule="IRL612",
    fix="Join values of one shape.",
):
    """A joined value whose shape changes.

    What happens:
        The output holds memory that nothing was written to.
    Where:
        The value that is joined has another size in each iteration.
    What irloop does:
        Conversion reports it.
    """
