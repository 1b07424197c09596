"""Matrix products in OpenVINO."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.einsum import einsum_types
from irloop.dialects.matmul import product_shape, square
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import UNKNOWN_SHAPE, Shape, TensorType, ValueType, broadcast_shapes

__all__ = ["Einsum", "Inverse", "MatMul", "ScaledDotProductAttention"]


class MatMul(OpenVinoOp, type="MatMul", since=1, inputs=2):
    """Matrix product with NumPy's rules for vectors and leading dimensions (MatMul-1).

    `transpose_a` and `transpose_b` swap the last two dimensions of an operand; a vector is not
    transposed.
    """

    operands = "a: number, b: number -> number"
    cost = "product"

    transpose_a: bool = False
    transpose_b: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = product_shape(args, self.transpose_a, self.transpose_b)
        return [TensorType(inference.same_element(args), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.matmul.matmul(self.transpose_a, self.transpose_b)


class Einsum(OpenVinoOp, type="Einsum", since=7, inputs=(1, None)):
    """The sum of products described by `equation` (Einsum-7)."""

    operands = "operands...: number -> number"

    equation: str

    def infer(self, args: Arguments) -> list[ValueType]:
        return einsum_types(args, self.equation)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.matmul.einsum(self.equation)


class Inverse(OpenVinoOp, type="Inverse", since=14, inputs=1):
    """The inverses of the matrices in the last two axes; `adjoint` transposes them (Inverse-14)."""

    operands = "data: float -> float"

    adjoint: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        square(args)
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.matmul.inverse(adjoint=self.adjoint)


class ScaledDotProductAttention(
    OpenVinoOp, type="ScaledDotProductAttention", since=13, inputs=(3, 5)
):
    """softmax(Q @ K^T * scale + mask) @ V (ScaledDotProductAttention-13).

    Q is [..., L, E], K [..., S, E], V [..., S, Ev], followed by an optional mask and scale. With
    `causal` a query attends to the keys up to its own position, and the mask is ignored.
    """

    operands = (
        "query: float, key: float, value: float, mask?: float | boolean, scale?: float -> float"
    )

    causal: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        element = inference.same_element(args, 0, 1, 2)
        query, key, value = (args.shape(position).dims for position in range(3))
        if query is None or key is None or value is None:
            rank = args.rank(0)
            return [TensorType(element, UNKNOWN_SHAPE if rank is None else Shape.of_rank(rank))]
        if min(map(len, (query, key, value))) < 2:
            raise args.error("Q, K and V are matrices", "rank 2 or more", "rank 1 or 0")
        lead = broadcast_shapes(Shape(dims[:-2]) for dims in (query, key, value))
        if lead is None or lead.dims is None:
            raise args.error("the leading dimensions of Q, K and V cannot be broadcast")
        return [TensorType(element, Shape((*lead.dims, query[-2], value[-1])))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.matmul.attention(causal=self.causal)
