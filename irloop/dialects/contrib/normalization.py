"""Normalisations of ONNX Runtime: of sums, of embeddings, and by the root mean square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from irloop.dialects import inference
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.terms import CannotDecomposeError, Steps, Term
from irloop.graph.arguments import Arguments
from irloop.graph.op import attribute
from irloop.graph.types import ElementType, Shape, TensorType, ValueType

__all__ = [
    "EmbedLayerNormalization",
    "LayerNormalization1",
    "QEmbedLayerNormalization",
    "SimplifiedLayerNormalization",
    "SkipLayerNormalization",
    "SkipSimplifiedLayerNormalization",
]

EPSILON = 9.999999960041972e-13
LARGER_EPSILON = 9.999999747378752e-06


def widened(s: Steps, x: Term) -> Term:
    """Convert f16 and bf16 to f32, because ONNX Runtime computes sums of them in f32."""
    narrow = x.element in (ElementType.F16, ElementType.BF16)
    return s.convert(x, ElementType.F32) if narrow else x


def normalized(
    s: Steps, x: Term, scale: Term, bias: Term | None, axis: int, epsilon: float
) -> list[Term]:
    """Apply LayerNormalization over the dimensions from `axis` on.

    Returns the normalised tensor, the mean and the reciprocal of the standard deviation.
    """
    if s.opset >= 17:
        return s.ops("LayerNormalization", x, scale, bias, n_outputs=3, axis=axis, epsilon=epsilon)
    axes = range(axis % x.rank, x.rank)
    mean = s.reduce("ReduceMean", x, axes)
    centred = x - mean
    inverse = inverse_root(s, s.reduce("ReduceMean", s.square(centred), axes), epsilon)
    result = centred * inverse * scale
    return [result if bias is None else result + bias, mean, inverse]


def inverse_root(s: Steps, x: Term, epsilon: float) -> Term:
    """1 / sqrt(x + epsilon)."""
    return s.op("Reciprocal", s.op("Sqrt", x + epsilon))


def divided_by_rms(s: Steps, x: Term, scale: Term, axis: int, epsilon: float) -> list[Term]:
    """x divided by its root mean square over the dimensions from `axis` on, times `scale`.

    Also returns the factor by which x is multiplied: 1 / root mean square.
    """
    axes = range(axis % x.rank, x.rank)
    inverse = inverse_root(s, s.reduce("ReduceMean", s.square(x), axes), epsilon)
    return [x * inverse * scale, inverse]


def _hidden(args: Arguments, *positions: int) -> None:
    """Check that the vectors at `positions` have the size of the last dimension of input 0."""
    dims = args.shape(0).dims
    for position in positions:
        vector = args.shape(position) if args.has(position) else Shape(None)
        if dims and vector.refine(Shape.of(dims[-1])) is None:
            expected = str(Shape.of(dims[-1]))
            raise args.error(
                f"input {position} does not have the size of the last dimension",
                expected,
                str(vector),
            )


def _sum_types(args: Arguments) -> list[ValueType]:
    """The types of the result, the mean, 1 / standard deviation and the sum that was normalised."""
    dims = args.shape(0).dims
    kept = Shape(None) if not dims else Shape((*dims[:-1], 1))
    statistic: ValueType = TensorType(ElementType.F32, kept)
    return [args.tensor(0), statistic, statistic, args.tensor(0)][: args.n_outputs]


def _statistic(args: Arguments, axis: int) -> ValueType:
    """The type of a mean or deviation of input 0 over the axes from `axis` on."""
    first = inference.axis_in(args, axis, args.rank(0))
    dims = args.shape(0).dims
    if dims is None or first is None:
        return TensorType(ElementType.F32, Shape(None))
    return TensorType(ElementType.F32, Shape((*dims[:first], *[1] * (len(dims) - first))))


class _SkipNormalization(ContribOp):
    epsilon: float = attribute(default=EPSILON, least=0)

    def sum(self, s: Steps, x: Term, skip: Term, bias: Term | None) -> Term:
        """x + skip + bias; f16 is added in f32."""
        total = widened(s, x) + widened(s, skip)
        return total if bias is None else total + widened(s, bias)


class SkipLayerNormalization(
    _SkipNormalization, type="SkipLayerNormalization", inputs=(3, 5), outputs=None
):
    """LayerNormalization of x + skip + bias over the last axis; output 3 is that sum.

    `skip` may have a batch of 1, or no batch dimension.
    """

    operands = (
        "x: T, skip: T, gamma: T, beta?: T, bias?: T -> T, mean?: f32, inverse_deviation?: f32,"
        " sum?: T where T: bf16 | f16 | f32"
    )

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        inference.same_element(args)
        _hidden(args, 2, 3, 4)
        return _sum_types(args)

    def decompose(
        self, s: Steps, x: Term, skip: Term, gamma: Term, beta: Term | None, bias: Term | None
    ) -> Sequence[Term | None]:
        total = self.sum(s, x, skip, bias)
        scale, shift = widened(s, gamma), None if beta is None else widened(s, beta)
        result, mean, inverse = normalized(s, total, scale, shift, -1, self.epsilon)
        return s.convert(result, x.element), mean, inverse, s.convert(total, x.element)


class SkipSimplifiedLayerNormalization(
    _SkipNormalization, type="SkipSimplifiedLayerNormalization", inputs=(3, 4), outputs=None
):
    """s / rms(s) * gamma, where s = x + skip + bias.

    rms is the root mean square over the last axis. Output 1, the mean, is 0, as in ONNX Runtime,
    because no mean is subtracted. Output 2 is 1 / rms(s), and output 3 is s.
    """

    operands = (
        "x: T, skip: T, gamma: T, bias?: T -> T, mean?: f32, inverse_deviation?: f32, sum?: T"
        " where T: bf16 | f16 | f32"
    )

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        inference.same_element(args)
        _hidden(args, 2, 3)
        return _sum_types(args)

    def decompose(
        self, s: Steps, x: Term, skip: Term, gamma: Term, bias: Term | None
    ) -> Sequence[Term | None]:
        total = self.sum(s, x, skip, bias)
        result, inverse = divided_by_rms(s, total, widened(s, gamma), -1, self.epsilon)
        mean = s.op("ConstantOfShape", s.op("Shape", inverse))
        return s.convert(result, x.element), mean, inverse, s.convert(total, x.element)


class SimplifiedLayerNormalization(
    ContribOp, type="SimplifiedLayerNormalization", domain="", inputs=2, outputs=None
):
    """x divided by its root mean square over the dimensions from `axis` on, times scale.

    ONNX Runtime defines it in ai.onnx, in every opset.
    """

    operands = (
        "x: T, scale: V -> V, inverse_deviation?: f32 | f64 where T: bf16 | f16 | f32 | f64, V:"
        " bf16 | f16 | f32 | f64"
    )

    axis: int = -1
    epsilon: float = LARGER_EPSILON
    stash_type: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        result: ValueType = TensorType(args.element(1), args.shape(0))
        return [result, _statistic(args, self.axis)][: args.n_outputs]

    def decompose(self, s: Steps, x: Term, scale: Term) -> Sequence[Term]:
        wide = widened(s, x)
        factor = s.convert(scale, wide.element)
        result, inverse = divided_by_rms(s, wide, factor, self.axis, self.epsilon)
        return s.convert(result, scale.element), inverse


class LayerNormalization1(
    ContribOp,
    type="LayerNormalization",
    domain="",
    until=16,
    inputs=(2, 3),
    outputs=None,
):
    """LayerNormalization-17 in a model of an older opset, which ONNX Runtime accepts.

    The result has the element type of `scale`. The optional outputs 1 and 2 are the mean and the
    inverse standard deviation.
    """

    operands = (
        "x: T, scale: V, bias?: V -> V, mean?: f32 | f64, inverse_deviation?: f32 | f64 where T:"
        " bf16 | f16 | f32 | f64, V: bf16 | f16 | f32 | f64"
    )
    cost = "linear"

    axis: int = -1
    epsilon: float = LARGER_EPSILON
    stash_type: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        statistic = _statistic(args, self.axis)
        result: ValueType = TensorType(args.element(1), args.shape(0))
        return [result, statistic, statistic][: args.n_outputs]

    def decompose(self, s: Steps, x: Term, scale: Term, bias: Term | None) -> Sequence[Term]:
        wide = widened(s, x)
        factor = s.convert(scale, wide.element)
        shift = None if bias is None else s.convert(bias, wide.element)
        result, mean, inverse = normalized(s, wide, factor, shift, self.axis, self.epsilon)
        return s.convert(result, scale.element), mean, inverse


class EmbedLayerNormalization(
    ContribOp, type="EmbedLayerNormalization", inputs=(7, 9), outputs=None
):
    """Adds the embeddings of each token's word, position and segment, and normalises the sums.

    Inputs: word ids, segment ids (optional), the embeddings of words, positions and segments
    (optional), gamma, beta, a mask (optional) and the ids of positions (optional, else 0, 1, 2...).
    Output 1 is the number of ones in the mask for each batch item (zeros without a mask), output 2
    is the sum before it is normalised.
    """

    operands = (
        "ids: i32, segment_ids?: i32, words: T, positions: T, segments?: T, gamma: T, beta: T,"
        " mask?: i32, position_ids?: i32 -> T, mask_index?: i32, sum?: T where T: f16 | f32"
    )

    epsilon: float = attribute(default=EPSILON, least=0)
    mask_index_type: int | None = None

    omissible: ClassVar[frozenset[int]] = frozenset({1, 4})

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 2, 3, 4, 5, 6)
        ids, words = args.shape(0).dims, args.shape(2).dims
        batch, length = ids if ids is not None and len(ids) == 2 else (None, None)
        hidden = words[1] if words is not None and len(words) == 2 else None
        result: ValueType = TensorType(args.element(2), Shape.of(batch, length, hidden))
        index: ValueType = TensorType(ElementType.I32, Shape.of(batch))
        return [result, index, result][: args.n_outputs]

    def decompose(
        self,
        s: Steps,
        ids: Term,
        segment_ids: Term | None,
        words: Term,
        positions: Term,
        segments: Term | None,
        gamma: Term,
        beta: Term,
        mask: Term | None,
        position_ids: Term | None,
    ) -> Sequence[Term]:
        if position_ids is None:
            rows = s.slice(positions, 0, 0, s.size(ids, 1))
        else:
            rows = s.gather(positions, position_ids, 0)
        total = s.gather(words, ids, 0) + rows
        if segments is not None and segment_ids is not None:
            total = total + s.gather(segments, segment_ids, 0)
        wide = widened(s, total)
        scale, shift = s.convert(gamma, wide.element), s.convert(beta, wide.element)
        result = normalized(s, wide, scale, shift, -1, self.epsilon)[0]
        outputs = [s.convert(result, words.element)]
        if s.n_outputs > 1:
            zeros = s.expand(s.constant([0], ElementType.I32), [s.size(ids, 0)])
            outputs.append(zeros if mask is None else s.reduce("ReduceSum", mask, [1], keep=False))
        return [*outputs, total] if s.n_outputs > 2 else outputs


class QEmbedLayerNormalization(ContribOp, type="QEmbedLayerNormalization", inputs=18, outputs=None):
    """EmbedLayerNormalization of quantized embeddings, gamma and beta."""

    operands = (
        "ids: i32, segment_ids?: i32, words: Q, positions: Q, segments?: Q, gamma: Q, beta: Q,"
        " mask?: i32, words_scale: f32, positions_scale: f32, segments_scale?: f32, gamma_scale:"
        " f32, beta_scale: f32, words_zero_point: Q, positions_zero_point: Q,"
        " segments_zero_point?: Q, gamma_zero_point: Q, beta_zero_point: Q -> f32, mask_index: i32"
        " where Q: i8 | u8"
    )

    epsilon: float = attribute(default=EPSILON, least=0)

    omissible: ClassVar[frozenset[int]] = frozenset({1, 4, 7, 10, 15})

    def decompose(
        self, s: Steps, ids: Term, segment_ids: Term | None, *inputs: Term | None
    ) -> Sequence[Term]:
        words, positions, segments, gamma, beta = (
            None
            if x is None or scale is None or zero is None
            else s.op("DequantizeLinear", x, s.scalar(scale), s.scalar(zero))
            for x, scale, zero in zip(inputs[:5], inputs[6:11], inputs[11:16], strict=True)
        )
        if words is None or positions is None or gamma is None or beta is None:
            raise CannotDecomposeError("an embedding, a scale or a zero point is missing")
        plain = EmbedLayerNormalization(epsilon=self.epsilon)
        given = (words, positions, segments, gamma, beta)
        return plain.decompose(s, ids, segment_ids, *given, inputs[5], None)
