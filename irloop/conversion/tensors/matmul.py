"""Converts matrix operations, such as MatMul, Einsum and Inverse, between OpenVINO and ONNX."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product as all_of

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import Conversion, exports, imports
from irloop.conversion.tensors.einsum import einsum
from irloop.dialects.einsum import DOTS, Equation
from irloop.dialects.onnx import matmul as onnx
from irloop.dialects.onnx.elementwise import Sqrt
from irloop.dialects.openvino import matmul as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.record import Record
from irloop.graph.types import ElementType, Shape, broadcast_shapes

__all__: list[str] = []


@exports(ov.MatMul)
def export_matmul(c: Export, op: ov.MatMul, left: Value, right: Value) -> Value:
    """Write MatMul, or Gemm for two matrices of which at least one is transposed."""
    matrices = shape_of(left).rank == shape_of(right).rank == 2
    if matrices and (op.transpose_a or op.transpose_b) and element_of(left).is_float:
        gemm = onnx.Gemm(trans_a=int(op.transpose_a), trans_b=int(op.transpose_b))
        # Before opset 11 Gemm requires a term to add.
        added = [] if c.opset >= 11 else [c.constant(0, element_of(left))]
        return c.numeric(gemm, left, right, *added)
    first = _with_last_axes_exchanged(c, left) if op.transpose_a else left
    second = _with_last_axes_exchanged(c, right) if op.transpose_b else right
    return _product(c, first, second)


def _product(c: Export, left: Value, right: Value) -> Value:
    return c.numeric(onnx.MatMul(), left, right, small=None, half=None)


def _with_last_axes_exchanged(c: Export, value: Value) -> Value:
    """Exchange the last two axes; a vector is unchanged."""
    rank = shape_of(value).rank
    if rank is None:
        raise c.refuse("an operand to transpose has no known rank", "declare the rank of the input")
    if rank < 2:
        return value
    return c.swap_last(value)


@imports(onnx.MatMul)
def import_matmul(c: Import, op: onnx.MatMul, left: Value, right: Value) -> Value:
    """MatMul -> MatMul."""
    return c(ov.MatMul(), left, right)


@imports(onnx.Gemm, onnx.Gemm1)
def import_gemm(
    c: Import,
    op: onnx.Gemm | onnx.Gemm1,
    left: Value,
    right: Value,
    bias: Value | None = None,
) -> Value:
    """Write Gemm as a MatMul times alpha, plus C times beta.

    A factor of 1 needs no Multiply. If C is omitted or beta is 0, there is no Add.
    """
    product = c(ov.MatMul(transpose_a=op.trans_a != 0, transpose_b=op.trans_b != 0), left, right)
    total = _scaled(c, product, op.alpha)
    if bias is None or op.beta == 0.0:
        return total
    return c.add(total, _scaled(c, bias, op.beta))


def _scaled(c: Import, value: Value, factor: float) -> Value:
    if factor == 1.0:
        return value
    if element_of(value).is_integer and not float(factor).is_integer():
        raise c.refuse(f"it multiplies integers by {factor}", "multiply them in a float type")
    return c.multiply(value, c.scalar(factor, value))


@exports(ov.Einsum)
def export_einsum(c: Export, op: ov.Einsum, *operands: Value) -> Value:
    """Write Einsum, and broadcast the dimensions under "..." first; older opsets get products."""
    return einsum(c, op.equation, *_aligned(c, Equation.parse(op.equation), operands))


def _aligned(c: Export, equation: Equation, operands: tuple[Value, ...]) -> list[Value]:
    """Broadcast the dimensions under "..." to the same sizes in all operands.

    ONNX's inference requires that they have the same rank. The operands are returned unchanged if
    the sizes are equal already, or if one is not known.
    """
    extents: list[list[int] | None] = []
    for term, operand in zip(equation.operands, operands, strict=True):
        dims = shape_of(operand).static()
        if DOTS in term and dims is None:
            return list(operands)
        dots = term.index(DOTS) if DOTS in term else 0
        behind = len(term) - dots - 1
        extents.append(list(dims[dots : len(dims) - behind]) if DOTS in term and dims else None)
    spread = [extent for extent in extents if extent is not None]
    if not spread or all(extent == spread[0] for extent in spread):
        return list(operands)
    common = broadcast_shapes(Shape(tuple(extent)) for extent in spread)
    target = None if common is None else common.static()
    assert target is not None, "inference has determined the dimensions under ..."
    result = []
    for term, operand, extent in zip(equation.operands, operands, extents, strict=True):
        if extent is None:
            result.append(operand)
            continue
        dots = term.index(DOTS)
        added = list(range(dots, dots + len(target) - len(extent)))
        wide = c.unsqueeze(operand, added) if added else operand
        ones = [1] * (len(term) - 1)
        result.append(c.expand(wide, c.i64([*ones[:dots], *target, *ones[dots:]])))
    return result


@imports(onnx.Einsum)
def import_einsum(c: Import, op: onnx.Einsum, *operands: Value) -> Value:
    """Write Einsum, with an equation that has an explicit arrow and no spaces."""
    if c.opset < 7:
        raise c.refuse("OpenVINO has Einsum since opset7", "write opset7 or newer")
    # OpenVINO accepts neither spaces in an equation nor "ii" without an arrow.
    equation = Equation.parse(op.equation)
    left = ",".join("".join(term) for term in equation.operands)
    return c(ov.Einsum(f"{left}->{''.join(equation.result)}"), *operands)


@exports(ov.ScaledDotProductAttention)
def export_attention(
    c: Export,
    op: ov.ScaledDotProductAttention,
    query: Value,
    key: Value,
    value: Value,
    mask: Value | None = None,
    scale: Value | None = None,
) -> Value:
    """Write ScaledDotProductAttention as two MatMuls with a Softmax between them.

    The first MatMul multiplies queries by keys. The mask is applied before the Softmax. The second
    MatMul applies the results to the values.
    """
    if scale is None:
        scale = _usual_scale(c, query)
    scores = c.multiply(_product(c, query, _with_last_axes_exchanged(c, key)), scale)
    if op.causal:
        mask = _causal_mask(c, scores)
    if mask is not None and element_of(mask) is ElementType.BOOLEAN:
        lowest = c.scalar(float("-inf"), scores)
        scores = c.select(mask, scores, lowest)
    elif mask is not None and shape_of(mask).rank != 0:
        scores = c.add(scores, mask)
    return _product(c, c.softmax(scores, -1), value)


def _usual_scale(c: Export, query: Value) -> Value:
    """Return 1 / sqrt(width of the queries), computed at run time if the width is unknown."""
    width = shape_of(query).dim(-1)
    if isinstance(width, int):
        return c.scalar(width**-0.5, query)
    size = c.size_of(query, -1)
    root = c(Sqrt(), c.convert(size, element_of(query)))
    return c.divide(c.scalar(1.0, query), root)


def _causal_mask(c: Export, scores: Value) -> Value:
    """Return a mask [queries, keys] that is true where the key is not after its query."""
    rows, columns = (c.numbers_below(c.size_of(scores, axis)) for axis in (-2, -1))
    return c.logical_not(c.less(c.unsqueeze(rows, [1]), columns))


@exports(ov.Inverse)
def export_inverse(c: Export, op: ov.Inverse, x: Value) -> Value:
    """Write Inverse as cofactors divided by the determinant, for matrices with at most 4 rows."""
    size, rank = _rows(c, x), shape_of(x).rank
    if rank is None or size > 4:
        raise c.refuse(f"ONNX has no inverse, and {size} rows are too many to expand")
    flat = c.reshape(x, [*(0,) * (rank - 2), size * size])
    cells = [c.gather(flat, c.i64([index]), rank - 2) for index in range(size * size)]
    expansion = _Expansion(
        cells,
        size,
        c.multiply,
        c.add,
        c.subtract,
    )
    every = tuple(range(size))
    one, zero = c.scalar(1.0, x), c.scalar(0.0, x)
    factors = []
    for row, column in all_of(every, every):
        # The inverse has the cofactor of the transposed position; if `adjoint` transposes the
        # inverse, it has the cofactor of the same position.
        down, along = (row, column) if op.adjoint else (column, row)
        rows = tuple(item for item in every if item != down)
        columns = tuple(item for item in every if item != along)
        minor = expansion.minor(rows, columns) if rows else one
        factors.append(c.subtract(zero, minor) if (row + column) % 2 else minor)
    if size == 1:
        return c.divide(one, x)
    cofactors = c.concat(factors, rank - 2)
    shares = c.divide(cofactors, expansion.minor(every, every))
    return c.reshape(shares, [*(0,) * (rank - 2), size, size])


@imports(onnx.Det)
def import_det(c: Import, op: onnx.Det, x: Value) -> Value:
    """Write Det as the Laplace expansion of matrices with at most 4 rows.

    The expansion consists of Multiply, Add and Subtract.
    """
    size, rank = _rows(c, x), shape_of(x).rank
    if rank is None or size > 4:
        raise c.refuse(f"OpenVINO has no determinant, and {size} rows are too many to expand")
    flat = c.reshape(x, [*(0,) * (rank - 2), size * size])
    cells = [c.gather(flat, c.i64(index), rank - 2) for index in range(size * size)]
    expansion = _Expansion(
        cells,
        size,
        c.multiply,
        c.add,
        c.subtract,
    )
    every = tuple(range(size))
    return expansion.minor(every, every)


Binary = Callable[[Value, Value], Value]


class _Expansion(Record):
    """Emits the determinant of a small matrix by Laplace expansion along the first row.

    `cells` are the elements of the matrix of `size` rows, row by row.
    """

    cells: list[Value]
    size: int
    multiply: Binary
    add: Binary
    subtract: Binary

    def minor(self, rows: tuple[int, ...], columns: tuple[int, ...]) -> Value:
        """Emit the determinant of the submatrix with these rows and columns."""
        if len(rows) == 1:
            return self.cells[rows[0] * self.size + columns[0]]
        total: Value | None = None
        for index, column in enumerate(columns):
            rest = self.minor(rows[1:], columns[:index] + columns[index + 1 :])
            part = self.multiply(self.cells[rows[0] * self.size + column], rest)
            if total is None:
                total = part
            else:
                total = self.subtract(total, part) if index % 2 else self.add(total, part)
        assert total is not None, "a matrix has at least one column"
        return total


def _rows(c: Conversion, x: Value) -> int:
    dims = shape_of(x).dims
    rows = dims[-1] if dims is not None else None
    if not isinstance(rows, int):
        raise c.refuse("the size of its matrices is not known", "give the input a static shape")
    return rows
