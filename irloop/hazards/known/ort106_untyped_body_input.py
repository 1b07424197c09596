"""ORT106: a body input has no element type."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["UntypedBodyInput"]


class UntypedBodyInput(
    Hazard,
    code="ORT106",
    engine="onnxruntime",
    versions=("1.31.1", "1.32.0"),
    title="A body input has no element type",
    effect=Effect.REFUSAL,
    case="body_input_without_type",
    rule="ONX205",
    fix="Declare the element type.",
):
    """A body input has no element type.

    What happens:
        ONNX Runtime refuses to create the session.
    Where:
        An input of a body is declared without its element type.
    What irloop does:
        The ONNX writer declares the types of all body inputs.
    """
