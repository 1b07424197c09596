"""ORT116: an Einsum of empty tensors whose batch axes do not come first."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx.matmul import Einsum
from irloop.graph.builder import shape_of
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import may_be_empty

__all__ = ["EinsumOfAnEmptyBatch"]


class EinsumOfAnEmptyBatch(
    Hazard,
    code="ORT116",
    engine="onnxruntime",
    versions=("1.31.1", "1.32.0"),
    title="An Einsum of empty tensors whose batch axes do not come first",
    effect=Effect.CRASH,
    case="einsum_of_an_empty_batch",
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
