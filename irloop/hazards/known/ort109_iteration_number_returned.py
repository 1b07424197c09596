"""ORT109: a Loop body returns its iteration number."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["IterationNumberReturned"]


class IterationNumberReturned(
    Hazard,
    code="ORT109",
    engine="onnxruntime",
    versions=("1.31.1",),
    title="A Loop body returns its iteration number",
    effect=Effect.WRONG,
    case="loop_body_returns_its_iteration_number",
    rule="ONX312",
    fix="irloop transform --pass separate_results",
):
    """A Loop body returns its iteration number.

    What happens:
        A scan output holds the last number in every place; a state is one larger than it should be.
    Where:
        The first input of a Loop body is also one of its outputs.
    What irloop does:
        Conversion to ONNX copies the value in the body.
    """
