"""ORT105: a body defines a name of the enclosing graph again."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["NameDefinedAgain"]


class NameDefinedAgain(
    Hazard,
    code="ORT105",
    engine="onnxruntime",
    versions=("1.31.1", "1.32.0"),
    title="A body defines a name of the enclosing graph again",
    effect=Effect.REFUSAL,
    case="body_defines_an_outer_name",
    rule="ONX203",
    fix="Rename the value in the body.",
):
    """A body defines a name of the enclosing graph again.

    What happens:
        ONNX Runtime refuses to create the session.
    Where:
        A node of a body has an output whose name belongs to another value outside the body.
    What irloop does:
        The ONNX writer gives every value a unique name.
    """
