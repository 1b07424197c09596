"""Resizing along some of the axes (Interpolate, Resize, Upsample).

Every mode works axis by axis: an output element is a weighted sum of a few input elements of that
axis, its taps. Positions are computed in f32, as in the runtimes, because the precision decides how
positions halfway between two elements are rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.matmul import widened
from irloop.kernels.sampling import cubic_weights
from irloop.kernels.work import spend_each

__all__ = [
    "Array",
    "Axis",
    "Function",
    "Resampling",
    "counts_of_openvino",
    "counts_of_scales",
    "needed",
    "onnx_plans",
    "onnx_resize",
    "openvino_plans",
    "openvino_resize",
    "outside",
    "resize",
    "taps",
    "weight_matrix",
]

#: The coefficient of Pillow's cubic filter; the operation's own coefficient is not used.
PILLOW_CUBIC = -0.5

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Resampling:
    """How input elements are chosen and weighted.

    `mode` is nearest, linear, cubic, bilinear_pillow or bicubic_pillow; `nearest` is a rounding
    mode (floor, ceil, round_prefer_floor, round_prefer_ceil, simple). With `triangle`, antialiasing
    in mode linear ignores elements outside the data; without it, the border element is repeated.
    """

    mode: str
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False
    triangle: bool = False
    extrapolation: float = 0.0

    @property
    def is_fractional(self) -> bool:
        """Return whether coordinates are computed from the exact new size, such as 7.5 instead of
        7.

        This is the case for align_corners with any mode except nearest, as ONNX's tests with scales
        expect. Otherwise, coordinates are computed from the rounded size. ONNX Runtime always uses
        the rounded size.
        """
        return self.coordinates == "align_corners" and self.mode != "nearest"


@dataclass(frozen=True, slots=True)
class Axis:
    """One resized axis: from `size` elements to `count`, by the factor `scale`.

    `length` is the new size before it is rounded; 0 means `count`. `start` and `end` are the region
    of tf_crop_and_resize.
    """

    axis: int
    size: int
    count: int
    scale: float
    start: float = 0.0
    end: float = 1.0
    length: float = 0.0

    def span(self, how: Resampling) -> float:
        """The distance from the first to the last output element, in output elements."""
        length = self.length if how.is_fractional else 0.0
        return (length or float(self.count)) - 1.0


def _places(plan: Axis, how: Resampling) -> Array:
    """The position (f32) on the input axis of each output element."""
    one = np.float32
    out = np.arange(plan.count, dtype=np.float32)
    scale, size, count, span = map(one, (plan.scale, plan.size, plan.count, plan.span(how)))
    half = one(0.5)
    match how.coordinates:
        case "asymmetric":
            return out / scale
        case "align_corners":
            return out * (size - one(1)) / span if span else out * one(0)
        case "tf_half_pixel_for_nn":
            return (out + half) / scale
        case "pytorch_half_pixel":
            return (out + half) / scale - half if plan.count > 1 else out * one(0)
        case "half_pixel_symmetric":
            offset = size / one(2) * (one(1) - count / (scale * size))
            return offset + (out + half) / scale - half
        case "tf_crop_and_resize":
            first, last = one(plan.start), one(plan.end)
            if span == 0:
                return np.array([half * (first + last) * (size - one(1))], np.float32)
            step = (last - first) * (size - one(1)) / span
            return first * (size - one(1)) + out * step
    return (out + half) / scale - half


def _rounded(place: Array, rounding: str, scale: float) -> Array:
    if rounding == "simple":
        rounding = "ceil" if scale < 1 else "floor"
    half = np.float32(0.5)
    match rounding:
        case "floor":
            return np.floor(place)
        case "ceil":
            return np.ceil(place)
        case "round_prefer_ceil":
            return np.floor(place + half)
    return np.ceil(place - half)


def _cubic(distance: Array, a: float) -> Array:
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    weights: Array = np.where(x <= 1, near, np.where(x < 2, far, 0.0))
    return weights


def _pillow(plan: Axis, how: Resampling) -> tuple[Array, Array]:
    """Compute the indices and weights of a resize that works as in the Pillow library.

    If the axis becomes shorter, the filter is wider. Elements outside of the input have weight 0.
    """
    ratio = plan.size / plan.count
    spread = max(ratio, 1.0)
    reach = (1.0 if how.mode == "bilinear_pillow" else 2.0) * spread
    centre = (np.arange(plan.count) + 0.5) * ratio
    first = np.maximum((centre - reach + 0.5).astype(np.int64), 0)
    end = np.minimum((centre + reach + 0.5).astype(np.int64), plan.size)
    index = first[:, None] + np.arange(int((end - first).max()))
    distance = (index - centre[:, None] + 0.5) / spread
    linear = how.mode == "bilinear_pillow"
    weights = np.clip(1 - np.abs(distance), 0, 1) if linear else _cubic(distance, PILLOW_CUBIC)
    weights = np.where(index < end[:, None], weights, 0.0)
    return index, weights / weights.sum(axis=1, keepdims=True)


def _antialiased(place: Array, plan: Axis, how: Resampling) -> tuple[Array, Array]:
    """Return the indices and weights of the elements that an antialiasing filter reads.

    There is one row for each position. The filter is wider if the axis becomes shorter.
    """
    scale = min(plan.scale, 1.0)
    reach = 1.0 if how.mode == "linear" else 2.0
    start = math.floor(-reach / scale) + 1
    offsets = np.arange(start, 2 - start)
    # A position exactly on an element belongs to the cell before it.
    first = np.ceil(place.astype(np.float64)) - 1
    ratio = place - first
    distance = (offsets - ratio[:, None]) * scale
    linear = how.mode == "linear"
    weights = np.clip(1 - np.abs(distance), 0, 1) if linear else _cubic(distance, how.cubic)
    return first[:, None].astype(np.int64) + offsets, weights


def taps(plan: Axis, how: Resampling) -> tuple[Array, Array | None]:
    """The input indices [count, taps] of each output element, and their weights.

    The weights are None if there is one tap for each output element, with weight 1.
    """
    # Where filters are widened, the number of all taps grows with the input or the output,
    # whichever is longer; elsewhere it grows with the output.
    wider = (
        max(plan.size, plan.count) if how.antialias or how.mode.endswith("_pillow") else plan.count
    )
    budget.reserve(200 * wider, "the taps of a resized axis")
    spend_each(wider, 300, "the taps of a resized axis")
    if how.mode.endswith("_pillow"):
        index, weights = _pillow(plan, how)
        return np.clip(index, 0, plan.size - 1), weights
    place = _places(plan, how)
    if how.mode == "nearest":
        index = _rounded(place, how.nearest, plan.scale)[:, None]
        return np.clip(index, 0, plan.size - 1).astype(np.int64), None
    if how.antialias and plan.scale < 1:
        index, weights = _antialiased(place, plan, how)
    else:
        first = np.floor(place)
        fraction = (place - first).astype(np.float64)
        cubic = how.mode == "cubic"
        parts = cubic_weights(fraction, how.cubic) if cubic else [1 - fraction, fraction]
        weights = np.stack(parts, axis=1)
        index = first[:, None].astype(np.int64) + np.arange(len(parts)) - (1 if cubic else 0)
    inside = (index >= 0) & (index < plan.size)
    if how.exclude_outside or how.triangle:
        weights = np.where(inside, weights, 0.0)
    total = weights.sum(axis=1, keepdims=True)
    if how.exclude_outside or how.triangle or how.antialias:
        weights = weights / np.where(total == 0, 1, total)
    return np.clip(index, 0, plan.size - 1), weights


def outside(plan: Axis, how: Resampling) -> Array | None:
    """A mask of the positions that tf_crop_and_resize fills with the extrapolation value.

    The result is None if there are no such positions.
    """
    if how.coordinates != "tf_crop_and_resize":
        return None
    place = _places(plan, how)
    beyond: Array = (place < 0) | (place > plan.size - 1)
    return beyond if beyond.any() else None


def weight_matrix(plan: Axis, how: Resampling) -> Array:
    """Return the weight of each input element in each output element, as a matrix [size, count].

    The axis has `plan.size` input elements (rows) and `plan.count` output elements (columns).
    """
    index, weights = taps(plan, how)
    budget.reserve(16 * plan.size * plan.count, "the weights of a resized axis")
    matrix = np.zeros((plan.size, plan.count))
    columns = np.broadcast_to(np.arange(plan.count)[:, None], index.shape)
    np.add.at(matrix, (index, columns), 1.0 if weights is None else weights)
    return matrix


def _along(x: Array, plan: Axis, how: Resampling) -> Array:
    index, weights = taps(plan, how)
    if weights is None:
        times = plan.count // max(plan.size, 1)
        repeats = np.arange(plan.size * times) // max(times, 1)
        if plan.axis == x.ndim - 1 and np.array_equal(index[:, 0], repeats):
            return _repeated(x, times)
        return x.take(index[:, 0], axis=plan.axis)
    shape = [1] * x.ndim
    shape[plan.axis] = plan.count
    points = x.size // max(plan.size, 1) * plan.count
    budget.reserve(2 * x.itemsize * points + (0 if x.flags.c_contiguous else x.nbytes), "resizing")
    spend_each(points * index.shape[1], 4, "resizing")
    # `take` would copy a view, such as the result of a Broadcast, once for each tap.
    x = np.ascontiguousarray(x)
    total: Array | None = None
    for tap in range(index.shape[1]):
        weight = weights[:, tap].astype(x.dtype).reshape(shape)
        part = x.take(index[:, tap], axis=plan.axis)
        np.multiply(part, weight, out=part)
        total = part if total is None else np.add(total, part, out=total)
        # Otherwise `part` would still be in memory while the next one is computed.
        del part
    assert total is not None, "a resized element has a tap"
    return total


def _repeated(x: Array, times: int) -> Array:
    """Repeat each element `times` times along the last axis: [a, b] becomes [a, a, b, b].

    This takes half as long as numpy.take.
    """
    made = np.empty((*x.shape, times), x.dtype)
    for at in range(times):
        made[..., at] = x
    return made.reshape(*x.shape[:-1], -1)


def resize(x: Array, plans: Sequence[Axis], how: Resampling, *, rounded: bool = False) -> Any:
    """Resize the axes of `x` for which `plans` holds a plan.

    The result has the element type of `x`. If this is an integer type, interpolated elements are
    truncated or, with `rounded`, rounded to the nearest integer.
    """
    with np.errstate(all="ignore"):
        exact = how.mode == "nearest"
        is_integer = x.dtype.kind in "iu"
        result = x if exact else x.astype(np.float32) if is_integer else widened(x)
        # Elements are only copied by `nearest`: the later axes first, because copying whole rows
        # takes less time than copying elements, so the rows may be more.
        for plan in reversed(plans) if exact else plans:
            result = _along(result, plan, how)
        for plan in plans:
            beyond = outside(plan, how)
            if beyond is not None:
                shape = [1] * x.ndim
                shape[plan.axis] = plan.count
                value = np.asarray(how.extrapolation, dtype=result.dtype)
                result = np.where(beyond.reshape(shape), value, result)
        if is_integer and not exact and plans:
            limits = np.iinfo(x.dtype)
            result = np.clip(np.rint(result) if rounded else result, limits.min, limits.max)
        return result.astype(x.dtype, copy=False)


def counts_of_scales(sizes: Sequence[int], scales: Array) -> list[int]:
    """Return floor(size * scale) for each axis, computed in the data type of the scales.

    Near whole numbers the type decides the result: a size of 10 times an f32 scale of 0.7 is 7 in
    f32, but 6.9999999 in f64, which would give 6.
    """
    kind = scales.dtype.type
    return [
        math.floor(float(kind(size) * scale)) for size, scale in zip(sizes, scales, strict=True)
    ]


def onnx_plans(
    sizes: Sequence[int],
    axes: Sequence[int],
    scales: Array | None,
    wanted: Sequence[int] | None,
    policy: str,
    roi: Sequence[float],
) -> list[Axis]:
    """Plan the resize of each axis in `axes` by the rules of ONNX Resize.

    The new sizes are `wanted`, adapted by `policy`; if `wanted` is None, they follow from `scales`.
    """
    inner = [sizes[axis] for axis in axes]
    if wanted is None:
        assert scales is not None, "there are scales where no sizes are"
        factors = [float(scale) for scale in scales]
        counts = counts_of_scales(inner, scales)
        lengths = [size * factor for size, factor in zip(inner, factors, strict=True)]
    elif policy == "stretch":
        counts = list(wanted)
        factors = [count / size if size else 1.0 for count, size in zip(counts, inner, strict=True)]
    else:
        choose = min if policy == "not_larger" else max
        factor = choose(count / size for count, size in zip(wanted, inner, strict=True))
        factors = [factor] * len(inner)
        counts = [math.floor(factor * size + 0.5) for size in inner]
    if wanted is not None:
        lengths = [float(count) for count in counts]
    bounds = list(roi) if len(roi) else [0.0] * len(inner) + [1.0] * len(inner)
    return [
        Axis(axis, size, count, factor, start, end, length)
        for axis, size, count, factor, start, end, length in zip(
            axes,
            inner,
            counts,
            factors,
            bounds[: len(inner)],
            bounds[len(inner) :],
            lengths,
            strict=True,
        )
    ]


def needed(plans: Sequence[Axis], how: Resampling) -> list[Axis]:
    """Return the plans of the axes that change; with tf_crop_and_resize, return all plans.

    An axis that keeps its size with a scale of 1 does not change. The formula of
    tf_half_pixel_for_nn would shift even such an axis by half an element, which would mix batch
    items and channels. No runtime shifts it.
    """
    if how.coordinates == "tf_crop_and_resize":
        return list(plans)
    return [plan for plan in plans if plan.count != plan.size or plan.scale != 1.0]


def onnx_resize(how: Resampling, axes: Sequence[int], policy: str) -> Function:
    """Return a function that resizes data along `axes`; if `axes` is empty, along all axes.

    The function takes the data, the region for tf_crop_and_resize, and either scales or sizes.
    `how` tells how input elements are chosen and weighted; `policy` is the
    keep_aspect_ratio_policy of ONNX.
    """

    def apply(
        x: Array,
        roi: Array | None = None,
        scales: Array | None = None,
        sizes: Array | None = None,
    ) -> Any:
        chosen = [axis % x.ndim for axis in axes] if axes else list(range(x.ndim))
        wanted = None if sizes is None or not sizes.size else [int(size) for size in sizes]
        region = [] if roi is None or not roi.size else [float(bound) for bound in roi]
        plans = onnx_plans(x.shape, chosen, scales, wanted, policy, region)
        return resize(x, needed(plans, how), how)

    return apply


def openvino_resize(
    how: Resampling, pads_begin: Sequence[int], pads_end: Sequence[int], *, by_scales: bool
) -> Function:
    """Return a function that pads data with zeros and then resizes it.

    It takes data, sizes, scales and axes; without axes, all axes are resized. With `by_scales`, the
    sizes are ignored and the scales determine the result.
    """

    def apply(
        x: Array, sizes: Array | None, scales: Array | None = None, axes: Array | None = None
    ) -> Any:
        chosen = (
            list(range(x.ndim)) if axes is None else [int(a) % x.ndim for a in axes.reshape(-1)]
        )
        low = [*pads_begin, *(0,) * (x.ndim - len(pads_begin))]
        high = [*pads_end, *(0,) * (x.ndim - len(pads_end))]
        if any((*low, *high)):
            x = np.pad(x, list(zip(low, high, strict=True)))
        wanted = None if by_scales or sizes is None else [int(size) for size in sizes.reshape(-1)]
        factors = [] if scales is None else [float(scale) for scale in scales.reshape(-1)]
        plans = openvino_plans(x.shape, chosen, factors, wanted)
        return resize(x, plans, how, rounded=True)

    return apply


def openvino_plans(
    shape: Sequence[int], axes: Sequence[int], scales: Sequence[float], sizes: Sequence[int] | None
) -> list[Axis]:
    """Plan how Interpolate resizes each of `axes` whose size changes.

    The new sizes are `sizes` or, if that is None, follow from `scales`. An axis that keeps its size
    gets no plan, whatever its scale.
    """
    inner = [shape[axis] for axis in axes]
    if sizes is None:
        counts, factors = counts_of_openvino(inner, scales), list(scales)
    else:
        counts = list(sizes)
        factors = [count / size if size else 1.0 for count, size in zip(counts, inner, strict=True)]
    return [
        Axis(axis, size, count, factor)
        for axis, size, count, factor in zip(axes, inner, counts, factors, strict=True)
        if count != size
    ]


def counts_of_openvino(sizes: Sequence[int], scales: Sequence[float]) -> list[int]:
    """floor(size * scale), with OpenVINO's tolerance for results just below a whole number."""
    return [math.floor(size * (scale + 1e-6)) for size, scale in zip(sizes, scales, strict=True)]
