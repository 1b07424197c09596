"""ORT106: the condition of a body has no element type."""

from __future__ import annotations

from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault

__all__ = ["UntypedBodyInput"]


class UntypedBodyInput(
    Fault,
    code="ORT106",
    engine="onnxruntime",
    title="The condition of a body has no element type",
    effect=Effect.REFUSAL,
    rule="ONX205",
    fix="Declare the element type.",
):
    """The condition of a body has no element type.

    What happens:
        ONNX Runtime refuses to create the session.
    Where:
        The condition of a body is declared without its element type, and the Loop has no initial
        condition, which would give it one. (The types of other inputs follow from outside.)
    What irloop does:
        The ONNX writer declares the types of all body inputs.
    """


@UntypedBodyInput.case(
    "body_input_without_type",
    "ONNX outside of the standard: refused, or as meant",
    "ONNX IR",
    "Each input of a graph has a type; that of a body input can be inferred.",
    run([1, [1, -2]], [[2, -4]]),
    run([3, [1, -2]], [[4, -8]]),
    may_be_refused=True,
)
def smallest() -> str:
    return onnx_text("""
g (int64 n, float[2] x) => (float[2] y) {
  y = Loop <body = b (i, c, s) => (bool c, float[2] t) { t = Add (s, x) }> (n, "", x)
}""")
