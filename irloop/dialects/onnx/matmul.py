"""Matrix products in ONNX."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.einsum import einsum_types
from irloop.dialects.matmul import product_shape, square
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import (
    UNKNOWN_DIM,
    UNKNOWN_SHAPE,
    Shape,
    TensorType,
    ValueType,
    broadcast_shapes,
)

__all__ = ["Det", "Einsum", "Gemm", "Gemm1", "MatMul"]


class MatMul(OnnxOp, type="MatMul", since=1, inputs=2):
    """Matrix product as in numpy.matmul (MatMul-1, 9, 13)."""

    cost = "product"

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(inference.same_element(args), product_shape(args))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.matmul.product


class _Gemm(OnnxOp):
    """``alpha * A' @ B' + beta * C``, where A' and B' are matrices A and B or their transposes."""

    cost = "product"

    alpha: float = 1.0
    beta: float = 1.0
    # ONNX Runtime drops the other bits.
    trans_a: int = attribute(default=0, name="transA", least=-(2**31), most=2**31 - 1)
    trans_b: int = attribute(default=0, name="transB", least=-(2**31), most=2**31 - 1)

    def infer(self, args: Arguments) -> list[ValueType]:
        for position in (0, 1):
            if args.rank(position) not in (None, 2):
                raise args.error(
                    f"operand {position} is not a matrix", "2 dimensions", str(args.shape(position))
                )
        shape = product_shape(args, bool(self.trans_a), bool(self.trans_b))
        if shape.dims is None:
            rows = args.shape(0).dims
            columns = args.shape(1).dims
            shape = Shape(
                (
                    rows[1 if self.trans_a else 0] if rows else UNKNOWN_DIM,
                    columns[0 if self.trans_b else 1] if columns else UNKNOWN_DIM,
                )
            )
        if args.has(2) and args.rank(2) is not None:
            merged = broadcast_shapes((shape, args.shape(2)))
            if merged is None or merged.rank != 2:
                raise args.error(
                    "C cannot be broadcast to the product", str(shape), str(args.shape(2))
                )
        return [TensorType(inference.same_element(args), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.matmul.gemm(self.alpha, self.beta, bool(self.trans_a), bool(self.trans_b))


class Gemm1(_Gemm, type="Gemm", since=1, inputs=3):
    """``alpha * A' @ B' + beta * C`` of matrices (Gemm-1, 6).

    A' and B' are A and B; `transA` and `transB` transpose them. C is required. With `broadcast` it
    may be smaller than the product.
    """

    broadcast: int = 0


class Gemm(_Gemm, type="Gemm", since=7, inputs=(2, 3)):
    """``alpha * A' @ B' + beta * C`` of matrices (Gemm-7, 9, 11, 13).

    A' and B' are A and B; `transA` and `transB` transpose them. C broadcasts as in NumPy and is
    optional since opset 11.
    """


class Einsum(OnnxOp, type="Einsum", since=12, inputs=(1, None)):
    """The sum of products described by `equation` (Einsum-12, 28)."""

    equation: str

    def infer(self, args: Arguments) -> list[ValueType]:
        return einsum_types(args, self.equation)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.matmul.einsum(self.equation)


class Det(OnnxOp, type="Det", since=11, inputs=1):
    """The determinant of the matrices in the last two axes (Det-11, 22)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        square(args)
        dims = args.shape(0).dims
        shape = UNKNOWN_SHAPE if dims is None else Shape(dims[:-2])
        return [TensorType(args.element(0), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.matmul.determinant
