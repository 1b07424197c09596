"""ORT104: a body returns a value of the enclosing graph."""

from __future__ import annotations

from irloop.hazards.hazard import Effect, Hazard

__all__ = ["OuterValueReturned"]


class OuterValueReturned(
    Hazard,
    code="ORT104",
    engine="onnxruntime",
    versions=("1.31.1", "1.32.0"),
    title="A body returns a value of the enclosing graph",
    effect=Effect.REFUSAL,
    case="body_returns_an_outer_value",
    rule="ONX204",
    fix="Return an Identity of the value.",
):
    """A body returns a value of the enclosing graph.

    What happens:
        ONNX Runtime refuses to create the session.
    Where:
        A result of a body or branch is the name of a value outside of it.
    What irloop does:
        The ONNX writer puts an Identity in between.
    """
