"""ORT107: the condition of a body is honoured although the Loop has no condition input."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["OmittedConditionIsHonoured"]


class OmittedConditionIsHonoured(
    Hazard,
    code="ORT107",
    engine="onnxruntime",
    versions=("1.31.1",),
    title="The condition of a body is honoured although the Loop has no condition input",
    effect=Effect.WRONG,
    rule="ONX301",
    fix="Connect a constant true, or return a constant true from the body.",
):
    """The condition of a body is honoured although the Loop has no condition input.

    What happens:
        A Loop stops when its body returns false. By the specification the value is ignored where
        the condition input is left out. Every engine that was measured stops.
    Where:
        The condition input of a Loop is left out, and its body computes a condition.
    What irloop does:
        irloop's executor and its conversion to IR stop as well; the conversion warns (CNV102).
    """
