"""Matrix products of OpenVINO."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import rules
from irloop.dialects.matmul import product_shape
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.inference import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import TensorType, ValueType

__all__ = ["MatMul"]


class MatMul(OpenVinoOp, type="MatMul", since=1, inputs=2):
    """Matrix product with NumPy's rules for vectors and leading dimensions (MatMul-1).

    `transpose_a`, `transpose_b` exchange the last two dimensions of an operand; a vector
    stays as it is.
    """

    transpose_a: bool = False
    transpose_b: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = product_shape(args, self.transpose_a, self.transpose_b)
        return [TensorType(rules.same_element(args), shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.matmul.matmul(self.transpose_a, self.transpose_b)
