"""Matrix products, einsum and attention; leading dimensions broadcast as in NumPy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.precision import unwarned
from irloop.kernels.work import FEW, spend_each, spend_products
from irloop.kernels.writers import WIDE, Writer, new_result, writes

__all__ = [
    "A_SCORE",
    "Array",
    "Function",
    "attention",
    "determinant",
    "einsum",
    "gemm",
    "inverse",
    "matmul",
    "narrow",
    "product",
    "spend_product",
    "widened",
]

#: Nanoseconds for the steps between the two products of attention (mask, softmax), per score.
A_SCORE = 25

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


def narrow(dtype: np.dtype[Any]) -> bool:
    """Return whether this is a float below 32 bits, which every runtime multiplies in f32."""
    return dtype.itemsize < 4 and dtype.kind not in "iub"


def widened(array: Array) -> Array:
    """Convert narrow floats to f32; return other arrays unchanged."""
    return array.astype(np.float32) if narrow(array.dtype) else array


def _product_into(left: Array, right: Array, out: Array) -> None:
    spend_product(left, right)
    np.matmul(left, right, out)


def _product_writer(left: Array, right: Array) -> Writer | None:
    if left.dtype not in WIDE or left.dtype != right.dtype or min(left.ndim, right.ndim) < 1:
        return None
    if multiplications(left, right) > FEW:
        return _product_into
    # The call of dot takes half the time.
    return np.dot if left.ndim == right.ndim == 2 else np.matmul


@unwarned
@new_result
@writes(_product_writer)
def product(left: Array, right: Array) -> Any:
    """The matrix product as in NumPy; keeps the element type, and sums narrow floats in f32."""
    spend_product(left, right)
    if narrow(left.dtype):
        wide = np.matmul(left.astype(np.float32), right.astype(np.float32))
        return wide.astype(left.dtype)
    return np.matmul(left, right)


def spend_product(left: Array, right: Array) -> None:
    """Charge the budget for a matrix product of `left` and `right`.

    The number of steps depends on the number of multiplications, which `multiplications` estimates.

    Raises:
        LimitError: when fewer steps are left in the budget.
    """
    count = multiplications(left, right)
    is_vector = 1 in (*left.shape[:-1][-1:], *right.shape[1:][-1:]) or 1 in (left.ndim, right.ndim)
    read = left.size + right.size
    spend_products(count, left.dtype, "a matrix product", read=read, is_vector=is_vector)


def multiplications(left: Array, right: Array) -> int:
    """Return the number of scalar multiplications in the matrix product of `left` and `right`.

    For [M, K] and [K, N] it is M * K * N, multiplied by the number of matrices in the operand that
    has more of them. If the batch axes of both operands are broadcast, the true number is larger.
    """
    columns = right.shape[-1] if right.ndim > 1 else 1
    rows = left.shape[-2] if left.ndim > 1 else 1
    return max(left.size * columns, right.size * rows)


def _transposed(array: Array) -> Array:
    return array.swapaxes(-1, -2) if array.ndim > 1 else array


def matmul(transpose_a: bool = False, transpose_b: bool = False) -> Function:
    """Return `product`, or a function that transposes operands before it calls `product`.

    The last two dimensions are exchanged; a vector is not changed.
    """
    if not transpose_a and not transpose_b:
        return product

    def turned(left: Array, right: Array) -> tuple[Array, Array]:
        return _transposed(left) if transpose_a else left, _transposed(
            right
        ) if transpose_b else right

    def writer(left: Array, right: Array) -> Writer | None:
        chosen = _product_writer(*turned(left, right))
        return chosen and (lambda left, right, out: chosen(*turned(left, right), out))

    @new_result
    @writes(writer)
    def apply(left: Array, right: Array) -> Any:
        return product(*turned(left, right))

    return apply


def gemm(alpha: float, beta: float, transpose_a: bool, transpose_b: bool) -> Function:
    """Make a kernel that computes ``alpha * A @ B + beta * C`` of matrices.

    `transpose_a` and `transpose_b` transpose A and B first. C is broadcast to the product, and may
    be missing.
    """

    def writer(left: Array, right: Array, bias: Array | None = None) -> Writer | None:
        first, second = left.T if transpose_a else left, right.T if transpose_b else right
        product = _product_writer(first, second)
        if product is None or (alpha, beta) != (1.0, 1.0):
            return None
        if bias is not None and bias.shape not in ((), second.shape[-1:], (1, second.shape[-1])):
            return None

        def write(left: Array, right: Array, *rest: Any) -> None:
            *added, out = rest
            product(left.T if transpose_a else left, right.T if transpose_b else right, out)
            if bias is not None:
                np.add(out, added[0], out)

        return write

    @new_result
    @writes(writer)
    def apply(left: Array, right: Array, bias: Array | None = None) -> Any:
        first = left.T if transpose_a else left
        second = right.T if transpose_b else right
        spend_product(first, second)
        with np.errstate(all="ignore"):
            if left.dtype.kind in "iu":
                return _scaled_integers(first @ second, alpha, bias, beta)
            total = widened(first) @ widened(second)
            if alpha != 1.0:
                total = total * total.dtype.type(alpha)
            if bias is not None and beta != 0.0:
                wide = widened(bias)
                total = total + (wide if beta == 1.0 else wide * wide.dtype.type(beta))
            return total.astype(left.dtype, copy=False)

    return apply


def _scaled_integers(total: Array, alpha: float, bias: Array | None, beta: float) -> Any:
    # Integral factors keep all 64 bits; fractional ones are applied in f64, and the result
    # truncated.
    def scaled(array: Array, factor: float) -> Any:
        if float(factor).is_integer():
            return array * np.asarray(int(factor)).astype(array.dtype)
        return np.trunc(array.astype(np.float64) * factor).astype(array.dtype)

    result = scaled(total, alpha)
    return result if bias is None else result + scaled(bias, beta)


def einsum(equation: str) -> Function:
    """Make a kernel that computes the sum of products described by an Einsum equation."""
    compact = "".join(equation.split())

    def apply(*operands: Array) -> Any:
        with np.errstate(all="ignore"):
            wide = [widened(operand) for operand in operands]
            result = np.einsum(compact, *wide, optimize=_path_of(compact, wide))
        return np.asarray(result).astype(operands[0].dtype, copy=False)

    return apply


def _path_of(equation: str, operands: Sequence[Array]) -> Any:
    """Return the argument `optimize` of `numpy.einsum`, and charge the budget for the einsum.

    The argument is the order in which NumPy contracts more than two operands. The search for this
    order costs steps for each pair of operands. A contraction that is not a matrix product costs at
    least as much as a matrix product of integers.
    """
    count = len(operands)
    terms = _terms(equation, operands)
    if terms is None:
        return count > 1  # NumPy refuses the equation.
    *inputs, output = [set(term) for term in terms]
    sizes: dict[str, int] = {}
    for term, operand in zip(terms, operands, strict=False):
        for letter, size in zip(term, operand.shape, strict=True):
            sizes[letter] = max(size, sizes.get(letter, 1))
    path: Any = count > 1
    if count > 2:
        budget.spend(4 * count * count, "the order of an einsum")
        path = np.einsum_path(equation, *operands, optimize="greedy")[0]
    contractions = path[1:] if count > 2 else [tuple(range(count))]
    for chosen in contractions:
        parts = [inputs[at] for at in chosen]
        inputs = [item for at, item in enumerate(inputs) if at not in chosen]
        letters = set().union(*parts)
        kept = letters & output.union(*inputs)
        inputs.append(kept)
        products = math.prod(sizes[letter] for letter in letters)
        shared = set.intersection(*parts)
        is_product = len(parts) == 2 and bool(shared) and not shared & kept
        kind = operands[0].dtype if is_product else np.dtype(np.int64)
        budget.reserve(8 * math.prod(sizes[letter] for letter in kept), "an einsum")
        spend_products(products, kind, "an einsum")
        if count > 2:
            # Engines are slow at an einsum that is not a matrix product.
            spend_each(products if not is_product else 0, 250, "an einsum")
    return path


def _terms(equation: str, operands: Sequence[Array]) -> list[list[str]] | None:
    """List the axis names of each operand of an Einsum, then those of its result.

    Example: "ij,jk->ik" gives [["i", "j"], ["j", "k"], ["i", "k"]]. The axes that an ellipsis
    covers are numbered from the last axis: ..., "1", "0". Returns None if the equation does not
    have one term for each operand, or if a term does not have one name for each axis of its
    operand.
    """
    left, arrow, right = equation.partition("->")
    texts = left.split(",")
    if len(texts) != len(operands):
        return None
    terms = []
    most = 0
    for text, operand in zip(texts, operands, strict=True):
        before, dots, after = text.partition("...")
        rest = operand.ndim - len(before) - len(after)
        if rest < 0 or (rest and not dots):
            return None
        most = max(most, rest)
        terms.append([*before, *map(str, range(rest - 1, -1, -1)), *after])
    wide = [str(at) for at in range(most - 1, -1, -1)]
    if arrow:
        before, dots, after = right.partition("...")
        return [*terms, [*before, *(wide if dots else ()), *after]]
    counts = Counter(letter for term in terms for letter in term)
    return [*terms, [*wide, *(letter for letter, number in counts.items() if number == 1)]]


def inverse(*, adjoint: bool = False) -> Function:
    """Return a function that inverts the matrices in the last two axes.

    With `adjoint`, it returns the transposed inverses.
    """

    def apply(x: Array) -> Any:
        _spend_elimination(x, "an inverse")
        with np.errstate(all="ignore"):
            result = np.linalg.inv(widened(x))
        if adjoint:
            result = np.ascontiguousarray(result.swapaxes(-1, -2))
        return result.astype(x.dtype, copy=False)

    return apply


def _spend_elimination(x: Array, what: str) -> None:
    """Charge the budget for factorising the matrices in `x`.

    Factorising is estimated to take ten times as long as a matrix product of the same size. `what`
    names the work in the error message, such as "a determinant".
    """
    spend_products(10 * x.size * x.shape[-1], x.dtype, what)


def determinant(x: Array) -> Any:
    """The determinant of the matrices in the last two axes."""
    _spend_elimination(x, "a determinant")
    with np.errstate(all="ignore"):
        return np.asarray(np.linalg.det(widened(x))).astype(x.dtype, copy=False)


def attention(*, causal: bool = False) -> Function:
    """Make a kernel for scaled dot product attention: softmax(Q @ K^T * scale + mask) @ V.

    Q is [..., L, E], K [..., S, E], V [..., S, Ev]. The mask is optional. Numbers in the mask are
    added to the scores; a boolean mask is true where a query may attend to a key. The scale is 1 /
    sqrt(E) when missing. With `causal` a query attends to the keys up to its own position, and the
    mask is ignored.
    """

    def apply(
        query: Array,
        key: Array,
        value: Array,
        mask: Array | None = None,
        scale: Array | None = None,
    ) -> Any:
        q, k, v = widened(query), widened(key), widened(value)
        factor = q.shape[-1] ** -0.5 if scale is None else float(scale.reshape(-1)[0])
        with np.errstate(all="ignore"):
            spend_product(q, k.swapaxes(-1, -2))
            scores_size = q.size // max(q.shape[-1], 1) * k.shape[-2]
            budget.reserve(4 * q.itemsize * scores_size, "the scores of attention")
            spend_each(scores_size, A_SCORE, "the scores of attention")
            scores = np.matmul(q, k.swapaxes(-1, -2)) * q.dtype.type(factor)
            if causal:
                seen = np.tri(scores.shape[-2], scores.shape[-1], dtype=bool)
                scores = np.where(seen, scores, -np.inf)
            elif mask is not None and mask.dtype.kind == "b":
                scores = np.where(mask, scores, -np.inf)
            elif mask is not None and mask.ndim:
                scores = scores + widened(mask)
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            result = np.matmul(scores / scores.sum(axis=-1, keepdims=True), v)
        return result.astype(query.dtype, copy=False)

    return apply
