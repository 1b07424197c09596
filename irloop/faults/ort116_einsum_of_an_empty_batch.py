"""ORT116: an Einsum of empty tensors whose batch axes do not come first."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import may_be_empty
from irloop.dialects.onnx.matmul import Einsum
from irloop.faults.case import empty, onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Node

__all__ = ["EinsumOfAnEmptyBatch"]


class EinsumOfAnEmptyBatch(
    Fault,
    code="ORT116",
    engine="onnxruntime",
    title="An Einsum of empty tensors whose batch axes do not come first",
    effect=Effect.CRASH,
    fix="Transpose the operands so that the axes that all of them share come first.",
):
    """An Einsum of empty tensors whose batch axes do not come first.

    What happens:
        ONNX Runtime transposes the operands for a product of matrices. It divides by a dimension of
        0, and the process ends with SIGFPE.
    Where:
        A label that two operands and the result share comes after a label that they do not share,
        as `h` in "bihd,bjhd->bhij", and a dimension is 0 or not known before the model runs.
    What irloop does:
        Nothing: the Einsum is right for all other sizes.
    """

    concerns_conversion = False
    operations = (Einsum,)

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, Einsum):
            return
        given, _, result = node.op.equation.replace(" ", "").partition("->")
        operands = given.split(",")
        shared = set(operands[0]).intersection(*operands[1:], result)
        behind = any(sorted(x, key=lambda y: y not in shared) != list(x) for x in operands)
        if len(operands) < 2 or not behind:
            return
        for value in node.inputs:
            if value is not None and may_be_empty(shape_of(value)):
                yield f"{value.name!r}, an operand of {node.name!r}, may be empty"
                return


@EinsumOfAnEmptyBatch.case(
    "einsum_of_an_empty_batch",
    "ONNX: empty tensors, omitted inputs",
    "ONNX Einsum-12",
    "The sum of products of the operands over all labels that the result does not have.",
    # Result (h, i, j) is the product of x (i, h) and w (j, h).
    run(
        [[[[[1], [2]], [[3], [4]]]], [[[[1], [0]], [[2], [1]]]]],
        [[[[[1, 2], [3, 6]], [[0, 2], [0, 4]]]]],
    ),
    run([empty(0, 2, 2, 1), empty(0, 2, 2, 1)], [empty(0, 2, 2, 2)]),
)
def smallest() -> str:
    return onnx_text("""
g (float[n, 2, 2, 1] x, float[n, 2, 2, 1] w) => (float[n, 2, 2, 2] y) {
  y = Einsum <equation = "bihd,bjhd->bhij"> (x, w)
}""")
