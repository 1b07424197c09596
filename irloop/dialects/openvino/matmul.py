"""Matrix products in OpenVINO."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference, windows
from irloop.dialects.einsum import einsum_types
from irloop.dialects.matmul import product_shape, square
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import (
    UNKNOWN_SHAPE,
    ElementType,
    Shape,
    TensorType,
    ValueType,
    broadcast_shapes,
)

__all__ = ["Einsum", "Inverse", "MatMul", "ScaledDotProductAttention"]


class MatMul(OpenVinoOp, type="MatMul", since=1, inputs=2):
    """Matrix product with NumPy's rules for vectors and leading dimensions (MatMul-1).

    `transpose_a` and `transpose_b` swap the last two dimensions of an operand; a vector is not
    transposed.
    """

    operands = "a: T, b: T -> T where T: number | small"
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

    operands = "operands...: T -> T where T: number | small"

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

    operands = "query: T, key: T, value: T, mask?: float | boolean, scale?: T -> T where T: float"

    causal: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        element = inference.same_element(args, 0, 1, 2)
        if args.element(3) is not ElementType.BOOLEAN:
            inference.same_element(args, 0, 3)
        query, key, value = (args.shape(position).dims for position in range(3))
        if query is None or key is None or value is None:
            rank = args.rank(0)
            return [TensorType(element, UNKNOWN_SHAPE if rank is None else Shape.of_rank(rank))]
        if min(map(len, (query, key, value))) < 2:
            raise args.error("Q, K and V are matrices", "rank 2 or more", "rank 1 or 0")
        for name, left, right in (
            ("the keys have another size than the queries", query[-1], key[-1]),
            ("there are not as many values as keys", key[-2], value[-2]),
        ):
            windows.same_dim(args, name, left, right)
        lead = broadcast_shapes(Shape(dims[:-2]) for dims in (query, key, value))
        if lead is None or lead.dims is None:
            raise args.error("the leading dimensions of Q, K and V cannot be broadcast")
        weights, mask = Shape((*lead.dims, query[-2], key[-2])), args.shape(3)
        if args.rank(3) and (args.rank(3) == 1 or broadcast_shapes((weights, mask)) is None):
            raise args.error("the mask cannot be broadcast", str(weights), str(mask))
        return [TensorType(element, Shape((*lead.dims, query[-2], value[-1])))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.matmul.attention(causal=self.causal)
