"""Matrix products in the other dialect."""

from __future__ import annotations

from irloop.conversion import onnx_forms as forms
from irloop.conversion import openvino_forms as ov_forms
from irloop.conversion.framework import Conversion, exports, imports
from irloop.dialects.onnx import matmul as onnx
from irloop.dialects.openvino import matmul as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value

__all__: list[str] = []


@exports(ov.MatMul)
def export_matmul(c: Conversion, op: ov.MatMul, left: Value, right: Value) -> Value:
    """MatMul -> MatMul; two matrices of which one is transposed -> Gemm."""
    matrices = shape_of(left).rank == shape_of(right).rank == 2
    if matrices and (op.transpose_a or op.transpose_b) and element_of(left).is_float:
        gemm = onnx.Gemm(trans_a=int(op.transpose_a), trans_b=int(op.transpose_b))
        return forms.numeric(c, gemm, left, right)
    first = _turned(c, left) if op.transpose_a else left
    second = _turned(c, right) if op.transpose_b else right
    return forms.numeric(c, onnx.MatMul(), first, second, small=None)


def _turned(c: Conversion, value: Value) -> Value:
    """The last two axes exchanged; a vector stays."""
    rank = shape_of(value).rank
    if rank is None:
        raise c.refuse("an operand to transpose has no known rank", "give the input a rank")
    if rank < 2:
        return value
    return forms.transpose(c, value, [*range(rank - 2), rank - 1, rank - 2])


@imports(onnx.MatMul)
def import_matmul(c: Conversion, op: onnx.MatMul, left: Value, right: Value) -> Value:
    """MatMul -> MatMul."""
    return c(ov.MatMul(), left, right)


@imports(onnx.Gemm, onnx.Gemm1)
def import_gemm(
    c: Conversion,
    op: onnx.Gemm | onnx.Gemm1,
    left: Value,
    right: Value,
    bias: Value | None = None,
) -> Value:
    """Gemm -> MatMul, scaled, plus C, scaled."""
    product = c(ov.MatMul(transpose_a=op.trans_a != 0, transpose_b=op.trans_b != 0), left, right)
    total = _scaled(c, product, op.alpha)
    if bias is None or op.beta == 0.0:
        return total
    return ov_forms.add(c, total, _scaled(c, bias, op.beta))


def _scaled(c: Conversion, value: Value, factor: float) -> Value:
    if factor == 1.0:
        return value
    if element_of(value).is_integer and not float(factor).is_integer():
        raise c.refuse(f"integers are multiplied by {factor}", "multiply them in a float type")
    return ov_forms.multiply(c, value, ov_forms.scalar(c, factor, value))
