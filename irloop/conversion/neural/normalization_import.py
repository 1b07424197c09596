"""Converts ONNX's normalisations and dropout to OpenVINO."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import imports
from irloop.dialects.onnx import normalization as onnx
from irloop.dialects.openvino import elementwise as ov_math
from irloop.dialects.openvino import normalization as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

_NARROW = frozenset({ElementType.F16, ElementType.BF16})

Outputs = Value | Sequence[Value | None]


def standardized(
    c: Import, x: Value, axes: Sequence[int], epsilon: float, *, inside: bool = True
) -> Value:
    """Shift and scale `x` so that its mean is 0 and its variance is 1 over `axes`.

    The divisor is the root of the variance. `epsilon` is added to the variance or, if `inside` is
    false, to the root.
    """
    if c.opset >= 6:
        mode = "inside_sqrt" if inside else "outside_sqrt"
        return c(ov.MVN6(True, epsilon, mode), x, c.i64(list(axes)))
    shifted = c.subtract(x, c.reduce("Mean", x, axes))
    variance = c.reduce("Mean", c.multiply(shifted, shifted), axes)
    small = c.scalar(epsilon, x)
    if inside:
        return c.divide(shifted, c(ov_math.Sqrt(), c.add(variance, small)))
    return c.divide(shifted, c.add(c(ov_math.Sqrt(), variance), small))


def scaled(c: Import, unit: Value, scale: Value, bias: Value | None) -> Value:
    """Emit `unit` * `scale` + `bias`; without a bias, only the product."""
    product = c.multiply(unit, scale)
    return product if bias is None else c.add(product, bias)


@imports(onnx.BatchNormalization9)
def import_batch_norm9(c: Import, op: onnx.BatchNormalization9, *operands: Value) -> Outputs:
    if len(c.node.outputs) > 1 and any(value.uses for value in c.node.outputs[1:]):
        return _trained(c, op.epsilon, op.momentum, *operands)
    return [_batch_norm(c, op.epsilon, *operands)]


@imports(onnx.BatchNormalization14)
def import_batch_norm14(c: Import, op: onnx.BatchNormalization14, *operands: Value) -> Outputs:
    if op.training_mode:
        return _trained(c, op.epsilon, op.momentum, *operands)
    return [_batch_norm(c, op.epsilon, *operands)]


@imports(onnx.BatchNormalization7)
def import_batch_norm7(c: Import, op: onnx.BatchNormalization7, *operands: Value) -> Outputs:
    """Write BatchNormalization-7 as BatchNormInference if possible, else as arithmetic.

    Arithmetic is needed in training mode, and with `spatial` 0, where each element of a batch item
    has its own parameters.
    """
    if len(c.node.outputs) > 1 and any(value.uses for value in c.node.outputs[1:]):
        if not op.spatial:
            raise c.refuse(
                "it is in training mode, with parameters for each element", "export for inference"
            )
        return _trained(c, op.epsilon, op.momentum, *operands)
    if op.spatial:
        return [_batch_norm(c, op.epsilon, *operands)]
    x, scale, bias, mean, variance = operands
    small = c.scalar(op.epsilon, variance)
    deviation = c(ov_math.Sqrt(), c.add(variance, small))
    unit = c.divide(c.subtract(x, mean), deviation)
    return [scaled(c, unit, scale, bias)]


def _batch_norm(c: Import, epsilon: float, x: Value, *parameters: Value) -> Value:
    """Emit BatchNormInference of `x` with the scale, shift, mean and variance in `parameters`.

    Since opset 15, these may have a wider type than `x`; everything is then computed in the widest
    type, and the result is converted to the type of `x`. A 1-D `x` is treated as a batch of items
    with one channel.
    """
    if shape_of(x).rank == 1:
        column = _batch_norm(c, epsilon, c.unsqueeze(x, [1]), *parameters)
        return c.squeeze(column, [1])
    element = element_of(x)
    types = {element_of(value) for value in parameters}
    wide = element
    if types != {element} and ElementType.DYNAMIC not in types:
        wide = max((element, *types), key=lambda item: item.bits)
    gamma, beta, mean, variance = (c.convert(value, wide) for value in parameters)
    data = c.convert(x, wide)
    if c.opset >= 5:
        result = c(ov.BatchNormInference5(epsilon), data, gamma, beta, mean, variance)
    else:
        result = c(ov.BatchNormInference1(epsilon), gamma, beta, data, mean, variance)
    return c.convert(result, element)


def _trained(
    c: Import,
    epsilon: float,
    momentum: float,
    x: Value,
    scale: Value,
    bias: Value,
    mean: Value,
    variance: Value,
) -> Outputs:
    """Normalise by the statistics of the batch; further outputs are the running statistics."""
    rank = c.rank_of(x)
    axes = [0, *range(2, rank)]
    element = element_of(x)
    data = c.convert(x, element_of(mean))
    centre = c.reduce("Mean", data, axes)
    shifted = c.subtract(data, centre)
    spread = c.reduce("Mean", c.multiply(shifted, shifted), axes)
    deviation = c(ov_math.Sqrt(), c.add(spread, c.scalar(epsilon, spread)))
    unit = c.convert(c.divide(shifted, deviation), element_of(scale))
    result = scaled(c, unit, c.along_channels(scale, rank), c.along_channels(bias, rank))
    saved = [c.reshape(value, [-1]) for value in (centre, spread)]
    running = [_running(c, *pair, momentum) for pair in zip((mean, variance), saved, strict=True)]
    outputs = [c.convert(result, element), *running, *saved]
    return outputs[: len(c.node.outputs)]


def _running(c: Import, old: Value, new: Value, momentum: float) -> Value:
    kept = c.multiply(old, c.scalar(momentum, old))
    return c.add(kept, c.multiply(new, c.scalar(1 - momentum, new)))


@imports(onnx.InstanceNormalization)
def import_instance_norm(
    c: Import, op: onnx.InstanceNormalization, x: Value, scale: Value, bias: Value
) -> Value:
    """Write InstanceNormalization as MVN, times the scale, plus the bias.

    A scale of 1 and a bias of 0 are left out. They are common: exporters write a group
    normalisation as an InstanceNormalization with these constants, between two Reshapes.
    """
    rank = c.rank_of(x)
    result = standardized(c, x, range(2, rank), op.epsilon)
    if not _is_filled(c, scale, 1):
        result = c.multiply(result, c.along_channels(scale, rank))
    if not _is_filled(c, bias, 0):
        result = c.add(result, c.along_channels(bias, rank))
    return result


def _is_filled(c: Import, parameter: Value, number: int) -> bool:
    """Return whether `c` is a constant whose elements all are `number`."""
    known = c.constant_of(parameter)
    return known is not None and bool((known == number).all())


@imports(onnx.GroupNormalization18)
def import_group_norm18(
    c: Import, op: onnx.GroupNormalization18, x: Value, scale: Value, bias: Value
) -> Value:
    """Write GroupNormalization-18 as MVN of the groups, times the scale, plus the bias.

    A Reshape first gives each group an axis of its own, and another Reshape restores the shape at
    the end. This version has one scale and one bias for each group, so they are applied before the
    second Reshape.
    """

    def build(value: Value, factor: Value, offset: Value) -> Value:
        grouped = c.reshape(value, [0, op.num_groups, -1])
        unit = standardized(c, grouped, [2], op.epsilon)
        wide = scaled(c, unit, c.along_channels(factor, 3), c.along_channels(offset, 3))
        return c.reshape_to(wide, c.shape_of(value), special_zero=False)

    return c.in_f32(build, x, scale, bias)


@imports(onnx.GroupNormalization21)
def import_group_norm21(
    c: Import, op: onnx.GroupNormalization21, x: Value, scale: Value, bias: Value
) -> Value:
    rank = c.rank_of(x)

    def build(value: Value, factor: Value, offset: Value) -> Value:
        if c.opset >= 12:
            return c(ov.GroupNormalization(op.num_groups, op.epsilon), value, factor, offset)
        grouped = c.reshape(value, [0, op.num_groups, -1])
        unit = standardized(c, grouped, [2], op.epsilon)
        whole = c.reshape_to(unit, c.shape_of(value), special_zero=False)
        return scaled(c, whole, c.along_channels(factor, rank), c.along_channels(offset, rank))

    return c.in_f32(build, x, scale, bias)


def _trailing(c: Import, x: Value, axis: int) -> list[int]:
    """The axes from `axis` to the last."""
    if axis < 0:
        return list(range(axis, 0))
    return list(range(axis, c.rank_of(x)))


@imports(onnx.LayerNormalization)
def import_layer_norm(
    c: Import,
    op: onnx.LayerNormalization,
    x: Value,
    scale: Value,
    bias: Value | None = None,
) -> Outputs:
    axes = _trailing(c, x, op.axis)
    element = element_of(x)
    wide = c.convert(x, ElementType.F32 if element in _NARROW else element)
    unit = c.convert(standardized(c, wide, axes, op.epsilon), element)
    outputs = [scaled(c, unit, scale, bias)]
    if len(c.node.outputs) == 1:
        return outputs
    centre = c.reduce("Mean", wide, axes)
    shifted = c.subtract(wide, centre)
    variance = c.reduce("Mean", c.multiply(shifted, shifted), axes)
    root = c(ov_math.Sqrt(), c.add(variance, c.scalar(op.epsilon, wide)))
    inverse = c.divide(c.scalar(1, wide), root)
    statistics = (c.convert(value, ElementType.F32) for value in (centre, inverse))
    return [*outputs, *statistics][: len(c.node.outputs)]


@imports(onnx.RMSNormalization)
def import_rms_norm(c: Import, op: onnx.RMSNormalization, x: Value, scale: Value) -> Value:
    axes = _trailing(c, x, op.axis)

    def build(value: Value) -> Value:
        square = c.reduce("Mean", c.multiply(value, value), axes)
        root = c(ov_math.Sqrt(), c.add(square, c.scalar(op.epsilon, value)))
        return c.divide(value, root)

    unit = c.convert(c.in_f32(build, x), element_of(scale))
    return c.multiply(unit, scale)


@imports(onnx.LpNormalization)
def import_lp_norm(c: Import, op: onnx.LpNormalization, x: Value) -> Value:
    """Write LpNormalization as a division by the norm.

    A norm of 0 is replaced by 1, so that the elements stay 0.
    """

    def build(value: Value) -> Value:
        if c.opset >= 4:
            norm = c.reduce(f"L{op.p}", value, [op.axis])
        elif op.p == 1:
            norm = c.reduce("Sum", c(ov_math.Abs(), value), [op.axis])
        else:
            squares = c.reduce("Sum", c.multiply(value, value), [op.axis])
            norm = c(ov_math.Sqrt(), squares)
        nothing = c.equal(norm, c.scalar(0, norm))
        return c.divide(value, c.select(nothing, c.scalar(1, norm), norm))

    return c.in_f32(build, x)


@imports(onnx.MeanVarianceNormalization)
def import_mean_variance(c: Import, op: onnx.MeanVarianceNormalization, x: Value) -> Value:
    return standardized(c, x, op.axes, 1e-9, inside=False)


@imports(onnx.LRN)
def import_lrn(c: Import, op: onnx.LRN, x: Value) -> Value:
    """Write LRN for a window of odd size, else sums of slices and elementwise operations.

    OpenVINO's window is symmetric, so it cannot have an even size.
    """
    if op.size % 2:
        return c(ov.LRN(op.alpha, op.beta, op.bias, op.size), x, c.i64([1]))
    rank = c.rank_of(x)

    def build(value: Value) -> Value:
        total = _window_sum(c, c.multiply(value, value), rank, op.size)
        factor = c.scalar(op.alpha / op.size, value)
        base = c.add(c.multiply(total, factor), c.scalar(op.bias, value))
        return c.divide(value, c(ov_math.Power(), base, c.scalar(op.beta, value)))

    return c.in_f32(build, x)


def _window_sum(c: Import, value: Value, rank: int, size: int) -> Value:
    before = (size - 1) // 2
    after = size - 1 - before
    channels = shape_of(value).dim(1)
    if isinstance(channels, int):
        # A window reaches at most to the other end of the axis.
        before, after = (max(0, min(reach, channels - 1)) for reach in (before, after))
        size = before + after + 1
    begins, ends = [0] * rank, [0] * rank
    begins[1], ends[1] = before, after
    padded = c.pad(value, c.i64(begins), c.i64(ends), c.scalar(0, value))
    total = None
    for shift in range(size):
        # The end is negative, because the number of channels may be unknown.
        end = shift - size + 1 if shift < size - 1 else 2**31 - 1
        piece = c.slice(padded, [shift], [end], [1])
        total = piece if total is None else c.add(total, piece)
    assert total is not None
    return total


@imports(onnx.Dropout7, onnx.Dropout10)
def import_dropout(c: Import, op: onnx.Dropout7 | onnx.Dropout10, x: Value) -> Outputs:
    """Replace Dropout by its input; the mask is a tensor of zeros."""
    element = element_of(x) if isinstance(op, onnx.Dropout7) else ElementType.BOOLEAN
    mask = c.broadcast(c.constant(0, element), c.shape_of(x))
    return [x, mask][: len(c.node.outputs)]


@imports(onnx.Dropout12)
def import_dropout12(
    c: Import,
    op: onnx.Dropout12,
    x: Value,
    ratio: Value | None = None,
    training: Value | None = None,
) -> Outputs:
    if training is not None:
        trains = c.constant_of(training)
        share = None if ratio is None else c.constant_of(ratio)
        if (trains is None or trains.any()) and (share is None or share.any()):
            raise c.refuse("Dropout in training mode is random", "export the model for inference")
    return [x, mask_of_ones(c, x, ElementType.BOOLEAN)][: len(c.node.outputs)]


def mask_of_ones(c: Import, like: Value, element: ElementType) -> Value:
    """A tensor of ones in the shape of `like`."""
    return c.broadcast(c.constant(1, element), c.shape_of(like))
