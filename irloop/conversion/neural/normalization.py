"""Converts normalisations to ONNX."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.conversion.tensors import computed_axes
from irloop.dialects.onnx import elementwise as onnx_math
from irloop.dialects.onnx import normalization as onnx
from irloop.dialects.openvino import elementwise as ov_math
from irloop.dialects.openvino import normalization as ov
from irloop.dialects.writing.known_inputs import ints
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

#: Squares of 16-bit floats easily overflow, so runtimes compute them in f32.
_NARROW = frozenset({ElementType.F16, ElementType.BF16})


def in_f32(c: Export, build: Callable[..., Value], *values: Value) -> Value:
    """Call `build` with `values` cast to f32; cast its result to the type of the first value.

    If the first value is not f16 or bf16, the values are cast to its type instead of f32.
    """
    element = element_of(values[0])
    chosen = ElementType.F32 if element in _NARROW else element
    return c.computed_in(chosen, build, *values)


def reduced(c: Export, kind: str, value: Value, axes: Sequence[int] | Value) -> Value:
    """Reduce `value` along `axes` and keep its rank; if `axes` is empty, return `value` itself."""
    if isinstance(axes, Value):
        return computed_axes.reduced(c, kind, value, axes)
    return c.reduce(kind, value, axes) if axes else value


def centred(c: Export, value: Value, axes: Sequence[int] | Value) -> Value:
    """Subtract from `value` its mean over `axes`."""
    return c.subtract(value, reduced(c, "Mean", value, axes))


def standardized(
    c: Export,
    value: Value,
    axes: Sequence[int] | Value,
    epsilon: float,
    *,
    inside: bool = True,
    by_channels: bool = True,
) -> Value:
    """Subtract the mean from `value`, and divide it by the standard deviation.

    `epsilon` is added to the variance or, if `inside` is false, to its root. With `by_channels`, an
    InstanceNormalization is written if it has the same effect for these axes.
    """
    channels = _channels(value, axes) if inside and by_channels else None
    if channels is not None:
        # InstanceNormalization takes ONNX Runtime half as long as the operations that it replaces.
        ones, zeros = (c.constant([number] * channels, ElementType.F32) for number in (1, 0))
        return c(onnx.InstanceNormalization(epsilon), value, ones, zeros)
    shifted = centred(c, value, axes)
    # The square is a Pow, because ONNX Runtime then fuses these operations to a LayerNormalization,
    # which takes half as long.
    squares = c(onnx_math.Pow(), shifted, c.scalar(2, value))
    variance = reduced(c, "Mean", squares, axes)
    small = c.scalar(epsilon, value)
    if inside:
        deviation = c(onnx_math.Sqrt(), c.add(variance, small))
    else:
        deviation = c.add(c(onnx_math.Sqrt(), variance), small)
    return c.divide(shifted, deviation)


def _channels(value: Value, axes: Sequence[int] | Value) -> int | None:
    """The number of channels, or None if InstanceNormalization cannot normalise `value`.

    It can do so if the elements are f32, `axes` are exactly the axes after the channels, and the
    number of channels is known.
    """
    rank = shape_of(value).rank
    if isinstance(axes, Value) or rank is None or element_of(value) is not ElementType.F32:
        return None
    if rank < 3 or sorted(axis % rank for axis in axes) != list(range(2, rank)):
        return None
    size = shape_of(value).dim(1)
    return size if isinstance(size, int) and size > 0 else None


@exports(ov.BatchNormInference1)
def export_batch_norm1(
    c: Export,
    op: ov.BatchNormInference1,
    gamma: Value,
    beta: Value,
    data: Value,
    mean: Value,
    variance: Value,
) -> Value:
    return _batch_norm(c, op.epsilon, data, gamma, beta, mean, variance)


@exports(ov.BatchNormInference5)
def export_batch_norm5(c: Export, op: ov.BatchNormInference5, *operands: Value) -> Value:
    return _batch_norm(c, op.epsilon, *operands)


def _batch_norm(c: Export, epsilon: float, *operands: Value) -> Value:
    target: onnx.BatchNormalization9 | onnx.BatchNormalization14
    target = (
        onnx.BatchNormalization14(epsilon) if c.opset >= 14 else onnx.BatchNormalization9(epsilon)
    )

    def build(*wide: Value) -> Value:
        return c.emit(target, *wide, n_outputs=1).outputs[0]

    return c.computed_in(c.computing_type(element_of(operands[0])), build, *operands)


@exports(ov.MVN1, ov.MVN2)
def export_mvn2(c: Export, op: ov.MVN2, x: Value) -> Value:
    axes = op.axes(c.rank_of(x))
    if not op.normalize_variance:
        return in_f32(c, lambda value: centred(c, value, axes), x)
    return in_f32(c, lambda value: standardized(c, value, axes, op.eps), x)


@exports(ov.MVN6)
def export_mvn6(c: Export, op: ov.MVN6, x: Value, axes: Value) -> Value:
    known = ints(c, axes)
    listed: Sequence[int] | Value = axes if known is None else known
    if not op.normalize_variance:
        return in_f32(c, lambda value: centred(c, value, listed), x)

    def build(value: Value) -> Value:
        by_channels = not _is_scaled_by_elements(c.node.output)
        return standardized(c, value, listed, op.eps, inside=op.is_inside, by_channels=by_channels)

    return in_f32(c, build, x)


def _is_scaled_by_elements(value: Value) -> bool:
    """Return whether a Multiply gives each element of the last axis of `value` its own factor.

    Then `value` probably belongs to a LayerNormalization with a scale, which ONNX Runtime fuses.
    """
    for reader, _ in value.uses:
        if not isinstance(reader.op, ov_math.Multiply):
            continue
        factors = [item for item in reader.inputs if item is not None and item is not value]
        if any(shape_of(item).dims and shape_of(item).dim(-1) != 1 for item in factors):
            return True
    return False


@exports(ov.NormalizeL2)
def export_normalize_l2(c: Export, op: ov.NormalizeL2, x: Value, axes: Value) -> Value:
    """Write NormalizeL2 as a division of x by its norm over the axes.

    If the list of axes is empty, every element is divided by its own norm, which gives 1; it is
    computed as x to the power of 0.
    """
    known = ints(c, axes)
    if known == []:
        return in_f32(c, lambda value: c(onnx_math.Pow(), value, c.scalar(0, value)), x)
    listed: Sequence[int] | Value = axes if known is None else known

    def build(value: Value) -> Value:
        total = reduced(c, "Sum", c.multiply(value, value), listed)
        small = c.scalar(op.eps, value)
        combine = c.maximum if op.is_maximum else c.add
        return c.divide(value, c(onnx_math.Sqrt(), combine(total, small)))

    return in_f32(c, build, x)


@exports(ov.LRN)
def export_lrn(c: Export, op: ov.LRN, x: Value, axes: Value) -> Value:
    """Write LRN as an ONNX LRN if it normalises 4-D data over the channels with an odd size.

    Otherwise the squares in each window are added with Slices and Adds, and the formula is computed
    with Mul, Add, Pow and Div.
    """
    known = ints(c, axes)
    if known is None:
        raise c.refuse("its axes are computed", "make them constant")
    rank = c.rank_of(x)
    chosen = sorted({axis % rank for axis in known})
    if chosen == [1] and rank == 4 and op.size % 2:
        node = onnx.LRN(size=op.size, alpha=op.alpha, beta=op.beta, bias=op.bias)
        return c.numeric(node, x)

    def build(value: Value) -> Value:
        total = c.multiply(value, value)
        for axis in chosen:
            total = _window_sum(c, total, axis, rank, (op.size - 1) // 2)
        scaled = c.multiply(total, c.scalar(op.alpha / op.size ** len(chosen), value))
        base = c.add(scaled, c.scalar(op.bias, value))
        return c.divide(value, c(onnx_math.Pow(), base, c.scalar(op.beta, value)))

    return in_f32(c, build, x)


def _window_sum(c: Export, value: Value, axis: int, rank: int, side: int) -> Value:
    """Emit the sums of sliding windows along `axis`, one for each element.

    A window holds the element and its neighbours that are at most `side` positions away.
    """
    if side == 0:
        return value
    pads = [0] * (2 * rank)
    pads[axis] = pads[rank + axis] = side
    padded = c.pad(value, c.i64(pads))
    total = None
    for shift in range(2 * side + 1):
        # The end is negative, because the length of the axis may be unknown.
        end = shift - 2 * side if shift < 2 * side else 2**31 - 1
        piece = c.slice(padded, [shift], [end], [axis])
        total = piece if total is None else c.add(total, piece)
    assert total is not None
    return total


@exports(ov.GroupNormalization)
def export_group_norm(
    c: Export, op: ov.GroupNormalization, x: Value, scale: Value, bias: Value
) -> Value:
    rank = c.rank_of(x)
    if c.opset >= 21:
        target = onnx.GroupNormalization21(op.num_groups, op.epsilon)
        return c.numeric(target, x, scale, bias)

    def build(value: Value, factor: Value, offset: Value) -> Value:
        grouped = c.reshape(value, [0, op.num_groups, -1])
        unit = standardized(c, grouped, [2], op.epsilon)
        whole = c.reshape_to(unit, c.shape_of(value))
        scaled = c.multiply(whole, c.along_channels(factor, rank))
        return c.add(scaled, c.along_channels(offset, rank))

    return in_f32(c, build, x, scale, bias)
