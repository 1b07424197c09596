"""Operations of ONNX Runtime on 8-bit matrices in the memory orders of cublasLt.

The order of a matrix determines where its elements are in memory; a tensor keeps the shape of the
matrix whatever its order. The numbers of the orders are those of QuantizeWithOrder, and their
layouts are those that NVIDIA documents for cublasLtOrder_t. A matrix in a tiled order consists of
whole tiles; the matrices of a batch follow each other.

ONNX Runtime has kernels for CUDA only, and these accept fewer orders than the definitions:
QuantizeWithOrder reads row-major matrices, DequantizeWithOrder writes row-major ones and reads no
composite tiles, and only row-major matrices are multiplied by column-major ones. These operations
are therefore not compared with a run of ONNX Runtime, but with the published definitions and with
the expected results in ONNX Runtime's tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from irloop.dialects import inference
from irloop.dialects.contrib.activation import gelu
from irloop.dialects.contrib.attention import heads_of, joined, seen_by
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.normalization import LARGER_EPSILON, normalized, widened
from irloop.dialects.contrib.quantized_elements import dequantized
from irloop.dialects.contrib.terms import CannotDecomposeError, Steps, Term
from irloop.graph.arguments import Arguments
from irloop.graph.op import attribute
from irloop.graph.types import UNKNOWN_DIM, Dim, ElementType, Shape, TensorType, ValueType

__all__ = [
    "DequantizeWithOrder",
    "QOrderedAttention",
    "QOrderedGelu",
    "QOrderedLayerNormalization",
    "QOrderedMatMul",
    "QuantizeWithOrder",
]


class Order(NamedTuple):
    """A memory order of matrices, which may be stored in tiles.

    A matrix is viewed as a tensor, and the axes of this tensor are permuted. For example,
    ORDER_COL32 has `columns` (32,) and `places` (1, 0, 2): a matrix [R, C] is viewed as
    [R, C / 32, 32] and stored as [C / 32, R, 32].

    `rows` are the sizes of the axes into which the rows of a tile are split, `columns` those for
    its columns. In the view, the axis that counts tiles comes before these sizes, and the axes of
    the rows come before those of the columns. `places` lists the axes of the view in the order in
    which they are stored.
    """

    name: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    places: tuple[int, ...]


ROW = 1
COLUMN = 0
COLUMNS_32 = 2

#: The orders by their numbers. In COL4_4R2_8C a tile of 8 rows and 32 columns consists of its even
#: and its odd rows; each half consists of groups of 4 columns. In COL32_2R_4R4 the rows of a tile
#: of 32 rows and 32 columns are stored in the order 0, 1, 8, 9, 16, 17, 24, 25, 2, 3, 10, ...
ORDERS = (
    Order("ORDER_COL", (), (), (1, 0)),
    Order("ORDER_ROW", (), (), (0, 1)),
    Order("ORDER_COL32", (), (32,), (1, 0, 2)),
    Order("ORDER_COL4_4R2_8C", (4, 2), (8, 4), (3, 0, 2, 4, 1, 5)),
    Order("ORDER_COL32_2R_4R4", (4, 4, 2), (32,), (4, 0, 2, 1, 3, 5)),
)

#: The orders of weights that are transposed before they are stored in tiles.
TILED_WEIGHTS = (3, 4)


def order_of(number: int) -> Order:
    """The storage order that has this number in ONNX Runtime.

    Raises:
        CannotDecomposeError: if no order has the number.
    """
    if not 0 <= number < len(ORDERS):
        raise CannotDecomposeError(f"{number} is not the number of an order; these are 0 to 4")
    return ORDERS[number]


def _parts(s: Steps, x: Term, axis: int, sizes: Sequence[int], order: Order) -> list[int | Term]:
    """Return the shape into which one axis of matrices is split: [number of tiles, *sizes].

    A tile has as many rows (axis -2) or columns (axis -1) as the product of `sizes`. For example,
    128 columns with sizes (32,) become [4, 32]. `order` is the storage order that an error names.

    Raises:
        CannotDecomposeError: if the axis cannot be divided into whole tiles.
    """
    tile = math.prod(sizes)
    known = x.dims[axis]
    if known is None:
        count = s.size(x, axis)
        return [count if tile == 1 else count / tile, *sizes]
    if known % tile:
        what = "columns" if axis == -1 else "rows"
        raise CannotDecomposeError(
            f"its matrix has {known} {what}; {order.name} needs a multiple of {tile}"
        )
    return [known // tile, *sizes]


def _divided(s: Steps, x: Term, number: int) -> tuple[list[int | Term], tuple[int, ...]]:
    """Return two arguments for storing matrices `x` in tiles: for a Reshape and for a Transpose.

    The Reshape, with 0 for each batch axis to keep its size, divides rows and columns into tiles.
    The Transpose then permutes the resulting axes to their order in memory. `number` is the number
    of the storage order (see `order_of`).
    """
    order = order_of(number)
    batch = list(range(x.rank - 2))
    axes: list[int | Term] = [0 for _ in batch]
    axes += _parts(s, x, -2, order.rows, order) + _parts(s, x, -1, order.columns, order)
    return axes, (*batch, *(len(batch) + place for place in order.places))


def _extents(s: Steps, x: Term) -> list[int | Term]:
    """The numbers of rows and columns of matrices."""
    sizes = zip((-2, -1), x.dims[-2:], strict=True)
    return [s.size(x, axis) if known is None else known for axis, known in sizes]


def stored(s: Steps, x: Term, number: int) -> Term:
    """Convert row-major matrices to the memory order `number` of cublasLt.

    A vector is converted as a matrix of one row.
    """
    if number == ROW:
        return x
    if x.rank < 2:
        return s.reshape(stored(s, s.reshape(x, [1, -1]), number), [-1] * x.rank)
    axes, places = _divided(s, x, number)
    if 0 in x.dims:
        return x
    lead: list[int | Term] = [0] * (x.rank - 2)
    moved = s.transpose(s.reshape(x, axes), places)
    return s.reshape(moved, [*lead, *_extents(s, x)])


def loaded(s: Steps, x: Term, number: int) -> Term:
    """Convert matrices from the storage order `number` of ONNX Runtime to row-major order.

    A vector is converted as a matrix of one row.
    """
    if number == ROW:
        return x
    if x.rank < 2:
        return s.reshape(loaded(s, s.reshape(x, [1, -1]), number), [-1] * x.rank)
    axes, places = _divided(s, x, number)
    if 0 in x.dims:
        return x
    lead: list[int | Term] = [0] * (x.rank - 2)
    back = sorted(range(len(places)), key=places.__getitem__)
    moved = s.transpose(s.reshape(x, [axes[place] for place in places]), back)
    return s.reshape(moved, [*lead, *_extents(s, x)])


def weights(s: Steps, x: Term, number: int) -> Term:
    """Convert weights from the memory order `number` to row-major order.

    Weights in a tiled order are stored transposed; their transposition is undone.
    """
    if number not in TILED_WEIGHTS:
        return loaded(s, x, number)
    lead: list[int | Term] = [0] * (x.rank - 2)
    rows, columns = _extents(s, x)
    return s.swap_last(loaded(s, s.reshape(x, [*lead, columns, rows]), number))


def check_product(first: int, second: int, result: int) -> None:
    """Refuse to multiply matrices in memory orders for which ONNX Runtime defines no product.

    The arguments are the numbers of the orders of both operands and of the result.

    Raises:
        CannotDecomposeError: for such orders.
    """
    names = [order_of(number).name for number in (first, second, result)]
    is_plain = (first, second) == (ROW, COLUMN)
    if not is_plain and (first != COLUMNS_32 or second not in TILED_WEIGHTS):
        raise CannotDecomposeError(
            f"it multiplies {names[0]} by {names[1]}; ONNX Runtime defines the products of"
            " ORDER_ROW and ORDER_COL, and of ORDER_COL32 and ORDER_COL4_4R2_8C or"
            " ORDER_COL32_2R_4R4"
        )
    if first != result:
        raise CannotDecomposeError(f"its result is in {names[2]}, but its input in {names[0]}")


def real(s: Steps, codes: Term, scale: Term) -> Term:
    """Convert quantised integers `codes` to real numbers: codes * scale."""
    return dequantized(s, codes, scale, None)


def coded(s: Steps, x: Term, scale: Term) -> Term:
    """round(x / scale), saturated to 8 bits."""
    return s.op("QuantizeLinear", x, s.scalar(scale), s.constant(0, ElementType.I8))


def real_product(s: Steps, a: Term, b: Term, scale: Term) -> Term:
    """The product of two matrices of quantised integers, times `scale`, in f32."""
    return s.convert(s.op("MatMulInteger", a, b), ElementType.F32) * scale


class QuantizeWithOrder(ContribOp, type="QuantizeWithOrder", inputs=2):
    """Quantises a matrix to i8 and changes its memory order.

    The elements become round(x / scale), saturated to 8 bits. They are rearranged from
    `order_input` to `order_output`.
    """

    operands = "x: f16 | f32, scale: f32 -> i8"
    cost = "linear"

    order_input: int
    order_output: int

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(ElementType.I8, args.shape(0))]

    def decompose(self, s: Steps, x: Term, scale: Term) -> Term:
        codes = coded(s, widened(s, x), scale)
        return stored(s, loaded(s, codes, self.order_input), self.order_output)


class DequantizeWithOrder(ContribOp, type="DequantizeWithOrder", inputs=2):
    """Multiplies quantised integers by a scale and changes their memory order.

    The result is f16 or f32.
    """

    operands = "x: i8, scale: f32 -> f16 | f32"
    cost = "linear"

    order_input: int
    order_output: int
    to: ElementType

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(self.to, args.shape(0))]

    def decompose(self, s: Steps, x: Term, scale: Term) -> Term:
        if self.to not in (ElementType.F32, ElementType.F16):
            raise CannotDecomposeError(f"it dequantizes to {self.to}, f16 and f32 are defined")
        codes = stored(s, loaded(s, x, self.order_input), self.order_output)
        return s.convert(real(s, codes, scale), self.to)


class QOrderedMatMul(ContribOp, type="QOrderedMatMul", inputs=(5, 8)):
    """Quantised a @ b + bias + c; each operand has a scale, and b may have one for each column.

    Two combinations of memory orders are possible. In the first, b is column-major, and a, c and
    the result are row-major. In the second, b is transposed and in ORDER_COL4_4R2_8C or
    ORDER_COL32_2R_4R4, and a, c and the result are in ORDER_COL32. The second has no bias.
    """

    operands = (
        "a: i8, a_scale: f32, b: i8, b_scale: f32, y_scale: f32, bias?: f32, c?: i8, c_scale?: f32"
        " -> i8"
    )

    order_a: int = attribute(name="order_A")
    order_b: int = attribute(name="order_B")
    order_y: int = attribute(name="order_Y")

    def infer(self, args: Arguments) -> list[ValueType]:
        rows, columns = args.shape(0).dims, args.shape(2).dims
        shape = Shape(None) if not rows or not columns else Shape((*rows[:-1], columns[-1]))
        return [TensorType(ElementType.I8, shape)]

    def decompose(
        self,
        s: Steps,
        a: Term,
        a_scale: Term,
        b: Term,
        b_scale: Term,
        scale: Term,
        bias: Term | None,
        c: Term | None,
        c_scale: Term | None,
    ) -> Term:
        check_product(self.order_a, self.order_b, self.order_y)
        if bias is not None and self.order_a != ROW:
            raise CannotDecomposeError("it adds a bias to matrices in tiles")
        if c is not None and c_scale is None:
            raise CannotDecomposeError("it adds a matrix without a scale")
        left, right = loaded(s, a, self.order_a), weights(s, b, self.order_b)
        product = real_product(s, left, self._fitted(s, right, a), b_scale * s.scalar(a_scale))
        if bias is not None:
            product = product + bias
        if c is not None and c_scale is not None:
            addend = real(s, loaded(s, c, self.order_a), c_scale)
            product = product + self._fitted(s, addend, a)
        return stored(s, coded(s, product, scale), self.order_y)

    def _fitted(self, s: Steps, x: Term, a: Term) -> Term:
        """x without a batch dimension if `a` has none, so that the result has the rank of `a`."""
        if x.rank > 2 and x.dims[0] not in (1, None, *a.dims[:1] * (a.rank > 2)):
            raise CannotDecomposeError("its operands differ in batch size")
        return s.squeeze(x, 0) if x.rank == 3 and a.rank == 2 else x


class QOrderedGelu(ContribOp, type="QOrderedGelu", inputs=3):
    """Gelu of quantized integers with a quantized result: x * (1 + erf(x / sqrt(2))) / 2."""

    operands = "x: i8, x_scale: f32, y_scale: f32 -> i8"
    elementwise = True

    order_x: int | None = attribute(default=None, name="order_X")
    order_y: int | None = attribute(default=None, name="order_Y")

    def infer(self, args: Arguments) -> list[ValueType]:
        return inference.same_as_first(args)

    def decompose(self, s: Steps, x: Term, x_scale: Term, scale: Term) -> Term:
        if self.order_x is not None and self.order_y not in (None, self.order_x):
            raise CannotDecomposeError("its input and its output differ in order")
        return coded(s, gelu(s, real(s, x, x_scale)), scale)


class QOrderedLayerNormalization(ContribOp, type="QOrderedLayerNormalization", inputs=(5, 5)):
    """LayerNormalization of quantised data over the dimensions from `axis` on.

    The data are dequantised, normalised in floating point, and quantised again.
    """

    operands = "x: i8, x_scale: f32, gamma: F, beta?: F, y_scale: f32 -> i8 where F: f16 | f32"
    omissible: ClassVar[frozenset[int]] = frozenset({3})

    axis: int = -1
    epsilon: float = LARGER_EPSILON
    order_x: int = attribute(default=ROW, name="order_X")
    order_y: int = attribute(default=ROW, name="order_Y")

    def infer(self, args: Arguments) -> list[ValueType]:
        return inference.same_as_first(args)

    def decompose(
        self, s: Steps, x: Term, x_scale: Term, gamma: Term, beta: Term | None, scale: Term
    ) -> Term:
        if self.order_x != self.order_y:
            raise CannotDecomposeError("its input and its output differ in order")
        numbers = real(s, loaded(s, x, self.order_x), x_scale)
        wide = None if beta is None else widened(s, beta)
        found = normalized(s, numbers, widened(s, gamma), wide, self.axis, self.epsilon)[0]
        return stored(s, coded(s, found, scale), self.order_y)


class QOrderedAttention(ContribOp, type="QOrderedAttention", inputs=(17, 20)):
    """Self-attention of quantized integers; scores, weights and the result are quantized, too.

    The mask may have the same forms as that of Attention. Masked keys get the weight 0, but the
    maximum that is subtracted from the scores before the exponential includes their scores. A node
    is refused if it has `unidirectional`, a past or a bias of the scores, which ONNX Runtime's
    kernel ignores, or if it lacks one of the two scales of the scores, which the kernel needs.
    """

    operands = (
        "x: i8, x_scale: f32, q_scale: f32, k_scale: f32, v_scale: f32, q_weights: i8,"
        " k_weights: i8, v_weights: i8, q_weights_scale: f32, k_weights_scale: f32,"
        " v_weights_scale: f32, q_bias: f32, k_bias: f32, v_bias: f32, scores_scale?: f32,"
        " softmax_scale?: f32, y_scale: f32, mask?: i32, past?: i8, attention_bias?: f32 -> i8"
    )
    omissible: ClassVar[frozenset[int]] = frozenset({14, 15})

    num_heads: int
    order_input: int
    order_output: int
    order_weight: int
    qkv_hidden_sizes: tuple[int, ...] = ()
    unidirectional: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        rows, columns = args.shape(0).dims, args.shape(7).dims
        if rows is None or len(rows) != 3:
            return [TensorType(ElementType.I8, Shape(None))]
        size: Dim = columns[-1] if columns else UNKNOWN_DIM
        return [TensorType(ElementType.I8, Shape((*rows[:2], size)))]

    def decompose(self, s: Steps, *inputs: Term | None) -> Term:
        x, x_scale, *given = inputs
        scores_scale, softmax_scale, y_scale, mask, past, addend = given[12:]
        self._check(past, addend)
        if scores_scale is None or softmax_scale is None:
            raise CannotDecomposeError("it has no scale of the scores, or of their softmax")
        assert x is not None
        assert x_scale is not None
        assert y_scale is not None
        rows = loaded(s, x, self.order_input)
        parts = [self._projected(s, rows, x_scale, given[at:12:3]) for at in range(3)]
        (query, q_scale), (key, k_scale), (value, v_scale) = parts
        scores = real_product(s, query, s.swap_last(key), s.scalar(q_scale) * s.scalar(k_scale))
        codes = s.convert(coded(s, scores, scores_scale), ElementType.F32)
        size = query.dim(-1, "the size of a head")
        distances = codes - s.reduce("ReduceMax", codes, [-1])
        powers = s.op("Exp", distances * (s.scalar(scores_scale) * (1 / math.sqrt(size))))
        if mask is not None:
            powers = s.select(seen_by(s, mask, key), powers, 0.0)
        shares = coded(s, powers / s.reduce("ReduceSum", powers, [-1]), softmax_scale)
        found = real_product(s, shares, value, s.scalar(softmax_scale) * s.scalar(v_scale))
        width = value.dim(-1, "the size of a head") * self.num_heads
        return stored(s, coded(s, joined(s, found, width), y_scale), self.order_output)

    def _check(self, past: Term | None, addend: Term | None) -> None:
        check_product(self.order_input, self.order_weight, self.order_output)
        ignored = {
            "unidirectional": bool(self.unidirectional),
            "past": past is not None,
            "attention_bias": addend is not None,
        }
        if any(ignored.values()):
            names = ", ".join(name for name, is_given in ignored.items() if is_given)
            raise CannotDecomposeError(f"ONNX Runtime's kernel ignores its {names}")

    def _projected(
        self, s: Steps, rows: Term, x_scale: Term, operands: Sequence[Term | None]
    ) -> tuple[Term, Term]:
        """Project quantised `rows`; return 8-bit integers and their scale.

        The integers are [batch, heads, positions, size]. `x_scale` is the scale of `rows`;
        `operands` holds the scale of the result, the weights, their scale, and the bias.
        """
        scale, matrix, matrix_scale, bias = operands
        assert scale is not None
        assert matrix is not None
        assert matrix_scale is not None
        assert bias is not None
        factors = matrix_scale * s.scalar(x_scale)
        found = real_product(s, rows, weights(s, matrix, self.order_weight), factors) + bias
        return heads_of(s, coded(s, found, scale), self.num_heads), scale
