"""Matrix products of ONNX Runtime with fused operations."""

from __future__ import annotations

from irloop.dialects.contrib.activation import fast_gelu
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.steps import Steps
from irloop.dialects.writing.known_inputs import needed_rank
from irloop.dialects.writing.sizes import Sizes
from irloop.dialects.writing.writer import RefusedError
from irloop.graph.model import Value
from irloop.graph.op import attribute

__all__ = ["FusedGemm", "FusedMatMul", "FusedMatMulActivation", "GemmFastGelu", "TransposeMatMul"]


def transposed(s: Steps, x: Value, swap: bool, batches: bool) -> Value:
    """Transpose the axes of a matrix operand as FusedMatMul does.

    If `batches` is true, axis 0 first moves before the last axis. If `swap` is true, the last two
    axes of the result are swapped.
    """
    rank = needed_rank(s, x)
    perm = list(range(rank))
    if batches and rank > 1:
        perm = [*range(1, rank - 1), 0, rank - 1]
    if swap and rank > 1:
        perm[-2], perm[-1] = perm[-1], perm[-2]
    return x if perm == list(range(rank)) else s.transpose(x, perm)


def exchanged(s: Steps, x: Value) -> Value:
    """Reshape a matrix [..., K, M] to [..., M, K]; the elements keep their order.

    ONNX Runtime does this instead of a transposition when it multiplies by a vector.
    """
    sizes = Sizes(s)
    *batch, rows, columns = sizes.of(x)
    return sizes.reshape(x, [*batch, columns, rows])


class _Product(ContribOp):
    alpha: float = 1.0
    trans_a: int = attribute(default=0, name="transA")
    trans_b: int = attribute(default=0, name="transB")

    def product(self, s: Steps, a: Value, b: Value, batch_a: int = 0, batch_b: int = 0) -> Value:
        """Return ``alpha * A' @ B'``, where A' and B' are `a` and `b` with their axes permuted.

        If `batch_a` is not 0, the first axis of `a` moves before its last axis. Then `transA` swaps
        the last two axes; if `b` is a vector, `a` is reshaped instead (see `exchanged`). `batch_b`
        and `transB` permute `b` in the same way.
        """
        if needed_rank(s, b) == 1 and needed_rank(s, a) > 1:
            left = exchanged(s, a) if self.trans_a else a
        else:
            left = transposed(s, a, bool(self.trans_a), bool(batch_a))
        right = transposed(s, b, bool(self.trans_b), bool(batch_b))
        found = s.op("MatMul", left, right)
        return found if self.alpha == 1 else s.multiply(found, s.scalar(self.alpha, found))


class FusedMatMul(_Product, type="FusedMatMul", inputs=2):
    """Computes ``alpha * A' @ B'``, where A' and B' are A and B with their axes permuted.

    The attributes choose the permutation. First, `transBatchA` or `transBatchB` moves the first
    axis of its operand directly before the last axis: [X, Y, Z, W] becomes [Y, Z, X, W]. Then
    `transA` or `transB` swaps the last two axes.
    """

    operands = "a: T, b: T -> T where T: bf16 | f16 | f32 | f64"

    batch_a: int = attribute(default=0, name="transBatchA")
    batch_b: int = attribute(default=0, name="transBatchB")

    def decompose(self, s: Steps, a: Value, b: Value) -> Value:
        return self.product(s, a, b, self.batch_a, self.batch_b)


class TransposeMatMul(_Product, type="TransposeMatMul", inputs=2):
    """Computes ``alpha * A' @ B'``, where A' and B' are A and B or their transposes.

    `transA` and `transB` swap the last two axes of an operand.
    """

    operands = "a: T, b: T -> T where T: bf16 | f16 | f32 | f64"

    def decompose(self, s: Steps, a: Value, b: Value) -> Value:
        return self.product(s, a, b)


def activated(s: Steps, x: Value, name: str, alpha: float, beta: float, gamma: float) -> Value:
    """Apply an activation, given by the name that fused products and convolutions use.

    Raises:
        RefusedError: when no such activation is known.
    """
    match name:
        case "":
            return x
        case "Relu" | "Sigmoid" | "Tanh" | "Softplus" | "Softsign":
            return s.op(name, x)
        case "LeakyRelu" | "Elu" | "ThresholdedRelu":
            return s.op(name, x, alpha=alpha)
        case "HardSigmoid":
            return s.op(name, x, alpha=alpha, beta=beta)
        case "Selu":
            return s.op(name, x, alpha=alpha, gamma=gamma)
        case "Clip":
            return s.clip(x, alpha, beta)
        case "HardSwish":
            return s.multiply(x, s.op("HardSigmoid", x, alpha=alpha, beta=beta))
        case "QuickGelu":
            return s.multiply(x, s.op("Sigmoid", s.multiply(x, s.scalar(alpha, x))))
        case "Gelu":
            return fast_gelu(s, x)
    raise RefusedError(f"its activation {name!r} is not known")


class FusedGemm(_Product, type="FusedGemm", inputs=(2, 3)):
    """Computes ``activation(alpha * A' @ B' + beta * C)``.

    A' and B' are the matrices A and B; `transA` and `transB` transpose them.
    """

    operands = "a: T, b: T, c?: T -> T where T: f16 | f32 | f64 | i32 | i64 | u32 | u64"

    beta: float = 1.0
    activation: str = ""
    activation_alpha: float = 0.0
    activation_beta: float = 0.0
    activation_gamma: float = 0.0

    def decompose(self, s: Steps, a: Value, b: Value, c: Value | None) -> Value:
        made = s.op(
            "Gemm",
            *(a, b, c),
            alpha=self.alpha,
            beta=self.beta,
            trans_a=self.trans_a,
            trans_b=self.trans_b,
        )
        numbers = (self.activation_alpha, self.activation_beta, self.activation_gamma)
        return activated(s, made, self.activation, *numbers)


class FusedMatMulActivation(_Product, type="FusedMatMulActivation", inputs=2):
    """Computes ``activation(alpha * A' @ B')``.

    A' and B' are A and B with their axes permuted, as in FusedMatMul.
    """

    operands = "a: T, b: T -> T where T: bf16 | f16 | f32 | f64"

    batch_a: int = attribute(default=0, name="transBatchA")
    batch_b: int = attribute(default=0, name="transBatchB")
    activation: str = ""
    activation_alpha: float = 0.0
    activation_beta: float = 0.0
    activation_gamma: float = 0.0
    activation_axis: int = 0

    def decompose(self, s: Steps, a: Value, b: Value) -> Value:
        numbers = (self.activation_alpha, self.activation_beta, self.activation_gamma)
        made = self.product(s, a, b, self.batch_a, self.batch_b)
        return activated(s, made, self.activation, *numbers)


class GemmFastGelu(ContribOp, type="GemmFastGelu", inputs=(2, 3)):
    """Gelu, approximated by tanh, of ``X @ W + bias``."""

    operands = "x: T, w: T, bias?: T -> T where T: bf16 | f16 | f32"

    def decompose(self, s: Steps, x: Value, w: Value, bias: Value | None) -> Value:
        found = s.op("MatMul", x, w)
        return fast_gelu(s, found if bias is None else s.add(found, bias))
