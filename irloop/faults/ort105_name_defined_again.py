"""ORT105: a body defines a name of the enclosing graph again."""

from __future__ import annotations

from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault

__all__ = ["NameDefinedAgain"]


class NameDefinedAgain(
    Fault,
    code="ORT105",
    engine="onnxruntime",
    title="A body defines a name of the enclosing graph again",
    effect=Effect.REFUSAL,
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


@NameDefinedAgain.case(
    "body_defines_an_outer_name",
    "ONNX outside of the standard: refused, or as meant",
    "ONNX IR",
    "The names of a nested graph must not shadow those of the graph around it.",
    # 3 * x, then 7 * x
    run([1, [1, -2]], [[3, -6]]),
    run([2, [1, -2]], [[7, -14]]),
    may_be_refused=True,
)
def smallest() -> str:
    return onnx_text("""
g (int64 n, float[2] x) => (float[2] y) {
  a = Neg (x)
  y = Loop <body = b (int64 i, bool c, float[2] s) => (bool c, float[2] t) {
    a = Add (s, s)  t = Add (a, x)
  }> (n, "", x)
}""")
