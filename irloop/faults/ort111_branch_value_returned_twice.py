"""ORT111: a branch returns one value as two results."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.results import repeated
from irloop.dialects.onnx import control_flow as onnx
from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Node

__all__ = ["BranchValueReturnedTwice"]


class BranchValueReturnedTwice(
    Fault,
    code="ORT111",
    engine="onnxruntime",
    title="A branch returns one value as two results",
    effect=Effect.WRONG,
    rule="ONX402",
    passes=("separate_results",),
):
    """A branch returns one value as two results.

    What happens:
        One of the two outputs of the If is never written.
    Where:
        A name occurs twice among the outputs of a branch.
    What irloop does:
        Conversion to ONNX copies the value in the body.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, onnx.If):
            for body in node.bodies:
                for result in repeated(body):
                    yield f"{body.label} returns the value of {result.name!r} twice"


@BranchValueReturnedTwice.case(
    "if_returns_one_value_twice",
    "If",
    "ONNX If-16",
    (
        "then_branch: Graph to run if condition is true. "
        "else_branch: Graph to run if condition is false."
    ),
    run([True, [1, 3]], [[-1, -3], [-1, -3]]),
    run([False, [1, 3]], [[2, 6], [1, 9]]),
)
def smallest() -> str:
    return onnx_text("""
g (bool c, float[2] x) => (float[2] y, float[2] z) {
  y, z = If (c) <then_branch = t () => (float[2] a, float[2] a) { a = Neg (x) },
                 else_branch = e () => (float[2] k, float[2] l) { k = Add (x, x)  l = Mul (x, x) }>
}""")
