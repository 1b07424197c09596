"""ONNX Runtime's operations with quantized weights, most of them matrix products.

The weights are quantized to 8-bit integers, or to values of 2, 4 or 8 bits in blocks, each of which
has its own scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from irloop.dialects import inference
from irloop.dialects.contrib.attention import FILTER, self_attention
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.normalization import widened
from irloop.dialects.contrib.quantized_elements import dequantized, quantized
from irloop.dialects.contrib.terms import CannotDecomposeError, Steps, Term
from irloop.graph.arguments import Arguments
from irloop.graph.op import attribute
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "DynamicQuantizeMatMul",
    "GatherBlockQuantized",
    "MatMulBnb4",
    "MatMulIntegerToFloat",
    "MatMulNBits",
    "QAttention",
    "QGemm",
]

#: The first opset of ai.onnx that has u4.
U4_SINCE = 21

#: The values that the 4-bit codes of MatMulBnb4 represent, as published by bitsandbytes (FP4 and
#: NF4).
FP4 = (0.0, 0.0052083333, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25)
NF4 = (
    *(-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453),
    *(-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0),
    *(0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224),
    *(0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0),
)


def unpacked(
    s: Steps, codes: Term, bits: int, shape: Sequence[int], *, high_first: bool = False
) -> Term:
    """Unpack integers of `bits` bits from bytes, and return them as f32 in the shape `shape`.

    The bytes `codes` form `shape[0]` rows. If the integers of a row do not fill its last byte, the
    rest is ignored. 4-bit constants are stored as u4 if the opset has it, so that weights do not
    grow.

    Raises:
        CannotDecomposeError: for a number of bits that is not 2, 4 or 8.
    """
    if bits not in (2, 4, 8):
        raise CannotDecomposeError(f"its weights have {bits} bits")
    rows, count = shape[0], math.prod(shape[1:])
    known = codes.constant() if s.is_graph and codes.element is ElementType.U8 else None
    if known is not None and known.size * 8 // bits >= rows * count:
        array = unpacked_array(known.reshape(rows, -1), bits, high_first=high_first)
        element = ElementType.U4 if bits == 4 and s.opset >= U4_SINCE else ElementType.U8
        stored = s.constant(array[:, :count].reshape(shape), element)
        return s.convert(stored, ElementType.F32)
    whole = separated(s, s.reshape(codes, [rows, -1]), bits, high_first=high_first)
    kept = s.slice(s.convert(whole, ElementType.F32), 1, 0, count)
    return s.reshape(kept, list(shape))


def separated(s: Steps, codes: Term, bits: int, *, high_first: bool = False) -> Term:
    """Unpack small integers: each byte of `codes` holds 8 / `bits` of them.

    The result is u8 with one integer per element, so its last axis is 8 / `bits` times as long. The
    first integer is in the lowest bits of a byte, or in the highest bits with `high_first`.
    """
    if bits == 8:
        return codes
    parts = []
    for at in range(8 // bits):
        # Shifting left first removes the codes in the higher bits.
        raised = codes if bits * (at + 1) == 8 else shifted(s, codes, 8 - bits * (at + 1), "LEFT")
        parts.append(shifted(s, raised, 8 - bits, "RIGHT"))
    columns = [s.unsqueeze(part, codes.rank) for part in parts]
    stacked = s.concat(codes.rank, *(reversed(columns) if high_first else columns))
    return s.reshape(stacked, [*[0] * (codes.rank - 1), -1])


def unpacked_array(codes: Array, bits: int, *, high_first: bool) -> Array:
    """Unpack an array of u8 in which each element holds several integers of `bits` bits.

    The last axis becomes 8 / `bits` times as long. With `high_first`, the first integer is in the
    highest bits.
    """
    import numpy as np

    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    parts = codes[..., None] >> (shifts[::-1] if high_first else shifts)
    return (parts & ((1 << bits) - 1)).reshape(*codes.shape[:-1], -1)


def shifted(s: Steps, x: Term, bits: int, direction: str) -> Term:
    """Shift the bits of u8 numbers."""
    return s.op("BitShift", x, s.like(bits, x), direction=direction)


def integer_product(s: Steps, a: Term, b: Term, a_zero: Term | None, b_zero: Term | None) -> Term:
    """The i32 product of integers, after their zero points are subtracted."""
    left = None if a_zero is None or a_zero.rank == 0 else s.scalar(a_zero)
    return s.op("MatMulInteger", a, b, a_zero if left is None else left, b_zero)


class DynamicQuantizeMatMul(ContribOp, type="DynamicQuantizeMatMul", inputs=(3, 5)):
    """Quantizes A to u8 by its range, multiplies it by quantized weights and adds a bias.

    A, the bias and the result are f32.
    """

    operands = "a: f32, b: Q, b_scale: f32, b_zero_point?: Q, bias?: f32 -> f32 where Q: i8 | u8"

    def decompose(
        self, s: Steps, a: Term, b: Term, scale: Term, zero: Term | None, bias: Term | None
    ) -> Term:
        codes, a_scale, a_zero = s.ops("DynamicQuantizeLinear", a, n_outputs=3)
        product = s.op("MatMulInteger", codes, b, a_zero, zero)
        found = s.convert(product, ElementType.F32) * (scale * a_scale)
        return found if bias is None else found + bias


class MatMulIntegerToFloat(ContribOp, type="MatMulIntegerToFloat", inputs=(4, 7)):
    """The product of quantized A and B as f32, plus a bias."""

    operands = (
        "a: A, b: B, a_scale: F, b_scale: F, a_zero_point?: A, b_zero_point?: B, bias?: F -> F"
        " where A: i8 | u8, B: i8 | u8, F: f16 | f32"
    )

    def decompose(
        self,
        s: Steps,
        a: Term,
        b: Term,
        a_scale: Term,
        b_scale: Term,
        a_zero: Term | None,
        b_zero: Term | None,
        bias: Term | None,
    ) -> Term:
        product = s.convert(integer_product(s, a, b, a_zero, b_zero), a_scale.element)
        found = product * (b_scale * a_scale)
        return found if bias is None else found + bias


class QGemm(ContribOp, type="QGemm", inputs=(6, 9)):
    """Computes ``alpha * (A' @ B' + C)`` of quantized matrices, as f32 or quantized.

    A' and B' are the matrices A and B; `transA` and `transB` transpose them. C is i32, in units of
    the product of the scales of A and B.
    """

    operands = (
        "a: A, a_scale: f32, a_zero_point: A, b: B, b_scale: f32, b_zero_point: B, c?: i32,"
        " y_scale?: f32, y_zero_point?: i8 | u8 -> f32 | i8 | u8 where A: i8 | u8, B: i8 | u8"
    )

    alpha: float = 1.0
    trans_a: int = attribute(default=0, name="transA")
    trans_b: int = attribute(default=0, name="transB")

    def decompose(
        self,
        s: Steps,
        a: Term,
        a_scale: Term,
        a_zero: Term,
        b: Term,
        b_scale: Term,
        b_zero: Term,
        c: Term | None,
        scale: Term | None,
        zero: Term | None,
    ) -> Term:
        axis = 0 if self.trans_b else 1
        factors = [dequantized(s, a, a_scale, a_zero), _columns(s, b, b_scale, b_zero, axis)]
        if c is not None:
            factors.append(s.convert(c, ElementType.F32) * (b_scale * s.scalar(a_scale)))
        product = s.op(
            "Gemm",
            *factors,
            alpha=self.alpha,
            beta=self.alpha,
            trans_a=self.trans_a,
            trans_b=self.trans_b,
        )
        return product if scale is None else quantized(s, product, scale, zero, a)


def _columns(s: Steps, x: Term, scale: Term, zero: Term, axis: int) -> Term:
    """(x - zero point) * scale of a matrix, with one scale or one for each position of `axis`."""
    if scale.rank == 0 or scale.dims == (1,):
        return dequantized(s, x, scale, zero)
    if s.opset < 13:
        raise CannotDecomposeError("DequantizeLinear has several scales since opset 13")
    return s.op("DequantizeLinear", x, scale, zero, axis=axis)


class MatMulNBits(ContribOp, type="MatMulNBits", inputs=(3, 6)):
    """x @ transpose(W); W [N, K] is quantised in blocks of columns.

    Each block has a scale and a zero point. The quantised integers are packed into bytes, the lower
    bits first: [N, blocks, bytes of a block]. Scales are [N, blocks]. Zero points are packed in the
    same way, or not packed and of the type of x.
    """

    operands = (
        "x: T, b: u8, scales: T, zero_points?: u8 | bf16 | f16 | f32, g_idx?: i32, bias?: T -> T"
        " where T: bf16 | f16 | f32"
    )

    columns: int = attribute(name="K")
    rows: int = attribute(name="N")
    block_size: int = attribute()
    accuracy_level: int = 0
    bits: int = 4
    weight_prepacked: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0, 2)
        dims = args.shape(0).dims
        shape = Shape(None) if not dims else Shape((*dims[:-1], self.rows))
        return [TensorType(args.element(0), shape)]

    def decompose(
        self,
        s: Steps,
        x: Term,
        b: Term,
        scales: Term,
        zeros: Term | None,
        groups: Term | None,
        bias: Term | None,
    ) -> Term:
        if groups is not None:
            raise CannotDecomposeError("it reorders its columns (g_idx)")
        if self.weight_prepacked:
            raise CannotDecomposeError("its weights are packed for one CUDA device")
        if self.block_size < 1 or self.columns < 1:
            raise CannotDecomposeError("it has blocks without elements")
        blocks = -(-self.columns // self.block_size)
        codes = unpacked(s, b, self.bits, [self.rows, blocks, self.block_size])
        numbers = codes - self._zeros(s, zeros, blocks)
        factors = s.reshape(widened(s, scales), [self.rows, blocks, 1])
        weights = s.reshape(numbers * factors, [self.rows, blocks * self.block_size])
        if blocks * self.block_size > self.columns:
            weights = s.slice(weights, 1, 0, self.columns)
        product = widened(s, x) @ s.swap_last(weights)
        if bias is not None:
            product = product + widened(s, bias)
        return s.convert(product, x.element)

    def _zeros(self, s: Steps, zeros: Term | None, blocks: int) -> Term | float:
        if zeros is None:
            return float(1 << (self.bits - 1))
        if zeros.element is not ElementType.U8:
            return s.reshape(widened(s, zeros), [self.rows, blocks, 1])
        return unpacked(s, zeros, self.bits, [self.rows, blocks, 1])


class MatMulBnb4(ContribOp, type="MatMulBnb4", inputs=3):
    """x @ transpose(W), or x @ W if `transB` is 0; W is quantised to 4-bit floats (FP4 or NF4).

    W is [N, K], and each block of `block_size` elements has a scale.
    """

    operands = "x: T, b: u8, absmax: T -> T where T: bf16 | f16 | f32"

    columns: int = attribute(name="K")
    rows: int = attribute(name="N")
    block_size: int = attribute()
    quant_type: int = attribute()
    trans_b: int = attribute(default=1, name="transB")
    training_mode: int = 0

    def decompose(self, s: Steps, x: Term, b: Term, absmax: Term) -> Term:
        if self.quant_type not in (0, 1):
            raise CannotDecomposeError(
                f"its codes are of type {self.quant_type}, 0 or 1 are supported"
            )
        count = self.columns * self.rows
        blocks = -(-count // max(self.block_size, 1))
        codes = s.reshape(unpacked(s, b, 4, [1, count], high_first=True), [-1])
        table = NF4 if self.quant_type else (*FP4, *(-number for number in FP4))
        numbers = s.gather(s.constant(table, ElementType.F32), s.convert(codes, ElementType.I32), 0)
        wide = s.expand(s.unsqueeze(widened(s, absmax), 1), [blocks, self.block_size])
        factors = s.slice(s.reshape(wide, [-1]), 0, 0, count)
        weights = s.reshape(numbers * factors, [self.rows, self.columns])
        found = widened(s, x) @ (s.swap_last(weights) if self.trans_b else weights)
        return s.convert(found, x.element)


class GatherBlockQuantized(ContribOp, type="GatherBlockQuantized", inputs=(3, 4)):
    """Rows of a table that is quantized in blocks along its last axis, dequantized."""

    operands = (
        "data: Q, indices: i32 | i64, scales: F, zero_points?: Q -> F where Q: i4 | u4 | u8 |"
        " f4e2m1 | f8e4m3 | f8e4m3fnuz | f8e5m2 | f8e5m2fnuz, F: bf16 | f16 | f32"
    )

    bits: int = 4
    block_size: int = 128
    gather_axis: int = 0
    quantize_axis: int = 1

    def decompose(
        self, s: Steps, data: Term, indices: Term, scales: Term, zeros: Term | None
    ) -> Term:
        rank = data.rank
        if self.gather_axis % rank or self.quantize_axis % rank != rank - 1 or rank < 2:
            raise CannotDecomposeError("it gathers along an axis other than the first")
        packed = data.element is ElementType.U8
        if not packed and data.element not in (ElementType.U4, ElementType.I4):
            raise CannotDecomposeError(
                f"its table has element type {data.element}; only u8, u4 and i4 are supported"
            )
        if packed and self.bits not in (2, 4, 8):
            raise CannotDecomposeError(f"its weights have {self.bits} bits")
        rows = self._rows(s, data, indices)
        factors = s.gather(scales, indices, 0)
        blocks = scales.dim(-1, "the number of blocks")
        lead: list[int | Term] = [0] * (rows.rank - 1)
        if zeros is not None:
            shift = s.convert(self._rows(s, zeros, indices), ElementType.F32)
            shift = s.unsqueeze(s.slice(shift, shift.rank - 1, 0, blocks), shift.rank)
        else:
            middle = float(1 << (self.bits - 1)) if packed else 0.0
            shift = s.constant(middle, ElementType.F32)
        numbers = s.reshape(s.convert(rows, ElementType.F32), [*lead, blocks, -1]) - shift
        found = numbers * s.unsqueeze(widened(s, factors), factors.rank)
        return s.convert(s.reshape(found, [*lead, -1]), scales.element)

    def _rows(self, s: Steps, table: Term, indices: Term) -> Term:
        if table.element is ElementType.U8:
            # Rows are unpacked after they are gathered, because only a few of them are needed.
            return separated(s, s.gather(table, indices, 0), self.bits)
        stored = ElementType.U8 if table.element is ElementType.U4 else ElementType.I8
        return s.gather(s.convert(table, stored), indices, 0)


class QAttention(ContribOp, type="QAttention", inputs=(5, 9), outputs=None):
    """Attention whose projections are products of quantized matrices."""

    operands = (
        "x: X, weight: W, bias: F, input_scale: F, weight_scale: F, mask?: i32,"
        " input_zero_point?: X, weight_zero_point?: W, past?: F -> F, present?: F where X: i8 |"
        " u8, W: i8 | u8, F: f16 | f32"
    )
    omissible: ClassVar[frozenset[int]] = frozenset()

    num_heads: int
    do_rotary: int = 0
    mask_filter_value: float = FILTER
    past_present_share_buffer: int = 0
    scale: float = 0.0
    unidirectional: int = 0

    def decompose(
        self,
        s: Steps,
        x: Term,
        weight: Term,
        bias: Term,
        x_scale: Term,
        scale: Term,
        mask: Term | None,
        x_zero: Term | None,
        zero: Term | None,
        past: Term | None,
    ) -> Sequence[Term]:
        if self.do_rotary or self.past_present_share_buffer:
            raise CannotDecomposeError("ONNX Runtime rotates and shares buffers on CUDA only")
        product = s.convert(integer_product(s, x, weight, x_zero, zero), ElementType.F32)
        projected = product * (scale * x_scale) + bias
        width = weight.dim(1, "the size of the weights")
        return self_attention(
            s,
            projected,
            (width // 3,) * 3,
            self.num_heads,
            self.scale,
            (mask, self.mask_filter_value, bool(self.unidirectional)),
            past,
            None,
        )
