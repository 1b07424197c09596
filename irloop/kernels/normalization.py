"""Normalisation. 16-bit floats are computed in f32 and rounded once at the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.blocks import BLOCK, OverStep, over_step, overwrite
from irloop.kernels.precision import floating, narrowed, scalar, widened
from irloop.kernels.work import spend_each
from irloop.kernels.writers import WIDE, new_result, with_activations

__all__ = [
    "batch_norm",
    "batch_norm_data_third",
    "batch_norm_saved",
    "batch_norm_training",
    "dropout",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "lp_norm",
    "lrn",
    "lrn_channels",
    "mvn",
    "mvn_by_input",
    "mvn_by_rank",
    "no_dropout",
    "normalize_l2",
    "rms_norm",
]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]
Axes = tuple[int, ...]


def _axes(axes: Array, rank: int) -> Axes:
    return tuple({int(axis) % rank for axis in axes.reshape(-1)}) if rank else ()


def _mean(x: Array, axes: Axes) -> Any:
    count = math.prod(x.shape[axis] for axis in axes)
    return np.add.reduce(x, axis=axes, keepdims=True) / scalar(count, x.dtype)


def _standardized(x: Array, axes: Axes, epsilon: float) -> tuple[Array, Array, Array]:
    """Scale x to mean 0 and variance 1 over `axes`.

    Returns the scaled x, the mean and 1 / sqrt(variance + epsilon).
    """
    centre = _mean(x, axes)
    shifted = x - centre
    inverse = scalar(1, x.dtype) / np.sqrt(
        _mean(shifted * shifted, axes) + scalar(epsilon, x.dtype)
    )
    return shifted * inverse, centre, inverse


def _channels(x: Array, rank: int) -> Array:
    return x.reshape(x.shape + (1,) * (rank - 1 - x.ndim))


def batch_norm(epsilon: float) -> Function:
    """Make a kernel for (x - mean) / sqrt(variance + epsilon) * scale + bias.

    The mean, variance, scale and bias usually have one value per channel (axis 1 of x). If they
    have more than one dimension, their axes are those of x without the batch axis.
    """

    @floating
    @new_result
    def apply(
        x: Array,
        scale: Array,
        bias: Array,
        mean: Array,
        variance: Array,
        then: OverStep | None = None,
    ) -> Any:
        rank = x.ndim
        factor = scale / np.sqrt(variance + scalar(epsilon, variance.dtype)).astype(scale.dtype)
        operands = (mean, factor, bias)
        plain = all(item.ndim == 1 and item.dtype == x.dtype for item in operands)
        if plain and rank > 2 and x.size > BLOCK:
            return _normalized(x, *operands, then)
        shifted = x - _channels(mean, rank).astype(x.dtype)
        made = (shifted * _channels(factor, rank) + _channels(bias, rank)).astype(x.dtype)
        if then is not None:
            overwrite(then, made)
        return made

    def activated(activation: Function) -> Function:
        then = over_step(activation)

        def both(x: Array, *others: Array) -> Any:
            if x.dtype not in WIDE or x.ndim == 0:
                return activation(apply(x, *others))
            return apply(x, *others, then)

        return both

    return with_activations(apply, activated)


def _normalized(
    x: Array, mean: Array, factor: Array, bias: Array, then: OverStep | None = None
) -> Array:
    """Compute (x - mean) * factor + bias for x [N, C, ...].

    The result is computed in blocks of channels that fit into the cache. If `then` is given, it is
    applied to each block.
    """
    made = np.empty(x.shape, x.dtype)
    each = max(1, BLOCK // math.prod(x.shape[2:]))
    operands = [item.reshape(-1, *(1,) * (x.ndim - 2)) for item in (mean, factor, bias)]
    budget.spend(len(x) * -(-x.shape[1] // each), "normalisation")
    for sample, target in zip(x, made, strict=True):
        for first in range(0, len(sample), each):
            own = slice(first, first + each)
            centre, scale, offset = (operand[own] for operand in operands)
            out = np.subtract(sample[own], centre, out=target[own])
            np.add(np.multiply(out, scale, out=out), offset, out=out)
            if then is not None:
                overwrite(then, out)
    return made


def batch_norm_data_third(epsilon: float) -> Function:
    """Make a kernel for batch normalisation with the operands scale, bias, x, mean and variance.

    This is the order of BatchNormInference in opset1 to opset4. The kernel of `batch_norm` takes x
    first.
    """
    inner = batch_norm(epsilon)

    def apply(scale: Array, bias: Array, x: Array, mean: Array, variance: Array) -> Any:
        return inner(x, scale, bias, mean, variance)

    return apply


def batch_norm_training(epsilon: float, momentum: float, n_outputs: int) -> Callable[..., Any]:
    """Make a kernel for batch normalisation in training, with the statistics of the batch.

    The kernel takes x, scale, bias, running mean and running variance. It returns the normalised
    tensor if `n_outputs` is 1. Otherwise it returns a tuple: this tensor, the new running mean and,
    if `n_outputs` is 3, the new running variance. A new running value is old * momentum + batch *
    (1 - momentum).
    """
    normalize = batch_norm(epsilon)

    def apply(x: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> Any:
        wide = widened(x)
        axes = (0, *range(2, x.ndim))
        with np.errstate(all="ignore"):
            centre = _mean(wide, axes)
            spread = _mean(np.square(wide - centre), axes)
            statistics = (centre.reshape(-1), spread.reshape(-1))
            result = normalize(wide, widened(scale), widened(bias), *statistics).astype(x.dtype)
            running = (
                (widened(old) * momentum + new * (1 - momentum)).astype(old.dtype)
                for old, new in zip((mean, variance), statistics, strict=True)
            )
            return (result, *running)[:n_outputs] if n_outputs > 1 else result

    return apply


def batch_norm_saved(epsilon: float, momentum: float, n_outputs: int) -> Callable[..., Any]:
    """Make a kernel for batch normalisation in training, with five outputs (ONNX before opset 14).

    Outputs 0 to 2 are those of `batch_norm_training`: the result and the running mean and variance.
    Outputs 3 and 4 are the mean and the variance of the batch.
    """
    train = batch_norm_training(epsilon, momentum, 3)

    def apply(x: Array, scale: Array, bias: Array, mean: Array, variance: Array) -> Any:
        result, running_mean, running_variance = train(x, scale, bias, mean, variance)
        wide = widened(x)
        axes = (0, *range(2, x.ndim))
        centre = _mean(wide, axes)
        spread = _mean(np.square(wide - centre), axes)
        saved = (item.reshape(-1).astype(x.dtype) for item in (centre, spread))
        return (result, running_mean, running_variance, *saved)[:n_outputs]

    return apply


def mvn(axes: Axes, *, scale_variance: bool, epsilon: float, inside: bool) -> Function:
    """Make a kernel that subtracts the mean over `axes`.

    With `scale_variance`, it also divides by the standard deviation. With `inside`, epsilon is
    added to the variance; without it, to the standard deviation.
    """
    by_input = mvn_by_input(scale_variance=scale_variance, epsilon=epsilon, inside=inside)
    listed = np.array(axes, dtype=np.int64)

    def apply(x: Array) -> Any:
        return by_input(x, listed)

    return apply


def mvn_by_rank(
    axes: Callable[[int], Axes], *, scale_variance: bool, epsilon: float
) -> Callable[[Array], Any]:
    """Make a kernel for mean-variance normalisation over axes that depend on the operand's rank.

    `axes(rank)` returns the axes. The kernel subtracts the mean over them. With `scale_variance`,
    it also divides by the standard deviation, after epsilon is added to the variance.
    """

    def apply(x: Array) -> Any:
        chosen = axes(x.ndim)
        return mvn(chosen, scale_variance=scale_variance, epsilon=epsilon, inside=True)(x)

    return apply


def mvn_by_input(*, scale_variance: bool, epsilon: float, inside: bool) -> Function:
    """Make the mean-variance normalisation kernel (data, axes), with the axes as second operand.

    The kernel subtracts the mean over the axes. With `scale_variance`, it also divides by the
    standard deviation. With `inside`, epsilon is added to the variance; without it, to the standard
    deviation.
    """

    def normalized(x: Array, axes: Axes) -> Array:
        shifted: Array = x - _mean(x, axes)
        if not scale_variance:
            return shifted
        small = scalar(epsilon, x.dtype)
        variance = _mean(shifted * shifted, axes)
        result: Array = shifted / (
            np.sqrt(variance + small) if inside else np.sqrt(variance) + small
        )
        return result

    def apply(x: Array, axes: Array) -> Any:
        with np.errstate(all="ignore"):
            return narrowed(normalized(widened(x), _axes(axes, x.ndim)), x.dtype)

    return apply


def lrn(
    alpha: float, beta: float, bias: float, size: int, *, before: int, after: int
) -> Callable[[Array, Array], Any]:
    """Make a kernel for local response normalisation along n axes, given by its second operand.

    It computes x / (bias + alpha / size^n * S)^beta, where S is the sum of squares in a window. The
    window reaches from `before` elements before each element to `after` elements after it.
    """

    def window(squares: Array, axis: int) -> Array:
        length = squares.shape[axis]
        # Elements beyond the ends of the axis add nothing, so a window reaches over at most
        # `length` - 1 elements on either side.
        less, more = (max(0, min(reach, length - 1)) for reach in (before, after))
        spend_each(less + more + 1, 5_000 + 3 * squares.size, "sums over windows")
        padding = [(0, 0)] * squares.ndim
        padding[axis] = (less, more)
        padded = np.pad(squares, padding)
        index = [slice(None)] * squares.ndim
        result: Array = np.zeros_like(squares)
        for shift in range(less + more + 1):
            index[axis] = slice(shift, shift + length)
            result = result + padded[tuple(index)]
        return result

    def apply(x: Array, axes: Array) -> Any:
        wide = widened(x)
        chosen = _axes(axes, x.ndim)
        with np.errstate(all="ignore"):
            sums = wide * wide
            for axis in chosen:
                sums = window(sums, axis)
            factor = scalar(alpha / size ** len(chosen), wide.dtype)
            base = scalar(bias, wide.dtype) + factor * sums
            return (wide / np.power(base, scalar(beta, wide.dtype))).astype(x.dtype)

    return apply


def lrn_channels(alpha: float, beta: float, bias: float, size: int) -> Callable[[Array], Any]:
    """Make a kernel for local response normalisation along axis 1, in windows of `size` channels.

    The formula is that of `lrn`. If `size` is even, the window has one more element after its
    centre than before it.
    """
    before = (size - 1) // 2
    inner = lrn(alpha, beta, bias, size, before=before, after=size - 1 - before)
    axes = np.array([1])

    def apply(x: Array) -> Any:
        return inner(x, axes)

    return apply


def normalize_l2(epsilon: float, *, maximum: bool) -> Callable[[Array, Array], Any]:
    """Make a kernel that divides x by its Euclidean norm over the axes in its second operand.

    The norm is the square root of the sum of squares. With `maximum`, a sum of squares
    below epsilon is replaced by epsilon; otherwise, epsilon is added to the sum.

    Without axes, each element is divided by itself and the result is 1, as OpenVINO defines it.
    """

    def apply(x: Array, axes: Array) -> Any:
        if axes.size == 0:
            return np.ones_like(x)
        wide = widened(x)
        with np.errstate(all="ignore"):
            sums = np.add.reduce(wide * wide, axis=_axes(axes, x.ndim), keepdims=True)
            small = scalar(epsilon, wide.dtype)
            sums = np.maximum(sums, small) if maximum else sums + small
            return (wide / np.sqrt(sums)).astype(x.dtype)

    return apply


def lp_norm(axis: int, p: int) -> Callable[[Array], Any]:
    """Make a kernel that divides x by its L1 or L2 norm along `axis`; 0 where the norm is 0."""

    @floating
    def apply(x: Array) -> Any:
        if p == 1:
            norm = np.add.reduce(np.abs(x), axis=axis, keepdims=True)
        else:
            norm = np.sqrt(np.add.reduce(x * x, axis=axis, keepdims=True))
        zero = scalar(0, x.dtype)
        return np.where(norm == zero, zero, x / norm)

    return apply


def layer_norm(axis: int, epsilon: float, n_outputs: int) -> Callable[..., Any]:
    """Make a kernel that normalises x over the dimensions from `axis` on.

    The kernel takes x, the scale and, optionally, the bias. It returns the result and, if
    `n_outputs` is more than 1, the mean and the inverse standard deviation.
    """

    def apply(x: Array, scale: Array, bias: Array | None = None) -> Any:
        wide = widened(x)
        axes = tuple(range(axis % x.ndim, x.ndim))
        with np.errstate(all="ignore"):
            unit, centre, inverse = _standardized(wide, axes, epsilon)
            result = unit.astype(x.dtype) * scale
            result = (result if bias is None else result + bias).astype(x.dtype)
        if n_outputs == 1:
            return result
        return (result, centre.astype(np.float32), inverse.astype(np.float32))[:n_outputs]

    return apply


def rms_norm(axis: int, epsilon: float) -> Callable[[Array, Array], Any]:
    """Make a kernel that divides x by its root mean square over the dimensions from `axis` on.

    The kernel takes x and the scale, by which it multiplies the quotient.
    """

    def apply(x: Array, scale: Array) -> Any:
        wide = widened(x)
        with np.errstate(all="ignore"):
            square = _mean(wide * wide, tuple(range(axis % x.ndim, x.ndim)))
            root = np.sqrt(square + scalar(epsilon, wide.dtype))
            return ((wide / root).astype(x.dtype) * scale).astype(scale.dtype)

    return apply


def instance_norm(epsilon: float) -> Callable[[Array, Array, Array], Any]:
    """Make a kernel that normalises each channel of each batch item, then applies scale and bias.

    The kernel takes x, the scale and the bias, with one element per channel.
    """

    @floating
    def apply(x: Array, scale: Array, bias: Array) -> Any:
        unit, _, _ = _standardized(x, tuple(range(2, x.ndim)), epsilon)
        return unit * _channels(scale, x.ndim) + _channels(bias, x.ndim)

    return apply


def group_norm(groups: int, epsilon: float) -> Callable[[Array, Array, Array], Any]:
    """Make a kernel that normalises groups of channels, then applies scale and bias.

    The kernel takes x, the scale and the bias, with one element per channel or per group.
    """

    @floating
    def apply(x: Array, scale: Array, bias: Array) -> Any:
        batch, channels = x.shape[:2]
        grouped = x.reshape(batch, groups, -1)
        unit = _standardized(grouped, (2,), epsilon)[0].reshape(x.shape)
        each = channels // groups if scale.size != channels else 1
        wide = (_channels(np.repeat(item, each), x.ndim) for item in (scale, bias))
        factor, offset = (item.astype(x.dtype, copy=False) for item in wide)
        return unit * factor + offset

    return apply


def dropout(seed: int | None, n_outputs: int) -> Callable[..., Any]:
    """Return a kernel that sets random elements to 0 in training, else returns its operand.

    In training, the other elements are divided by (1 - ratio). With more than one output, the
    kernel also returns the mask of the elements that were kept.
    """

    def masked(x: Array, ratio: Array | None, training: Array | None) -> tuple[Array, Array]:
        share = 0.5 if ratio is None else float(ratio.reshape(()))
        if training is None or not training.reshape(()) or share == 0:
            return x, np.ones(x.shape, dtype=np.bool_)
        generator = np.random.RandomState(seed)
        mask: Array = np.asarray(generator.uniform(0, 1, x.shape) >= share)
        return (mask * widened(x) / (1 - share)).astype(x.dtype), mask

    def apply(x: Array, ratio: Array | None = None, training: Array | None = None) -> Any:
        result = masked(x, ratio, training)
        return result if n_outputs > 1 else result[0]

    return apply


def no_dropout(n_outputs: int, *, mask: bool, boolean: bool) -> Callable[[Array], Any]:
    """Return the kernel of a Dropout that drops nothing.

    The kernel returns its operand and, if `n_outputs` is 2, an array of the same shape filled with
    `mask`. This array is boolean if `boolean` is set, and otherwise has the operand's type.
    """

    def apply(x: Array) -> Any:
        element = np.dtype(np.bool_) if boolean else x.dtype
        return x if n_outputs == 1 else (x, np.full(x.shape, mask, element))

    return apply
