"""ORT104: a body returns a value of the enclosing graph."""

from __future__ import annotations

from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault

__all__ = ["OuterValueReturned"]


class OuterValueReturned(
    Fault,
    code="ORT104",
    engine="onnxruntime",
    title="A body returns a value of the enclosing graph",
    effect=Effect.REFUSAL,
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


@OuterValueReturned.case(
    "body_returns_an_outer_value",
    "ONNX outside of the standard: refused, or as meant",
    "ONNX IR",
    "The outputs of a graph are values of that graph.",
    run([True, [1, -2]], [[1, -2]]),
    run([False, [1, -2]], [[-1, 2]]),
    may_be_refused=True,
)
def smallest() -> str:
    return onnx_text("""
g (bool c, float[2] x) => (float[2] y) {
  y = If (c) <then_branch = t () => (float[2] x) { },
              else_branch = e () => (float[2] n) { n = Neg (x) }>
}""")
