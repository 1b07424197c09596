"""Converts interpolation.

A mode that the other format lacks is decomposed if the sizes are known: nearest as a Gather, any
other mode as a product with a weight matrix along each axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import Conversion, exports
from irloop.dialects.onnx import elementwise
from irloop.dialects.onnx import matmul as onnx_matmul
from irloop.dialects.onnx import resize as onnx
from irloop.dialects.openvino import resize as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import Dim, ElementType

if TYPE_CHECKING:
    from irloop.kernels.resize import Axis, Resampling

__all__ = ["SHARED", "moving", "with_matrices"]

#: Coordinate modes that Resize has under the same name in every opset.
SHARED = frozenset({"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"})

#: The element types that ONNX Runtime resizes.
RUNS_IN = frozenset(
    {ElementType.F32, ElementType.F16, ElementType.I32, ElementType.I8, ElementType.U8}
)

Product = Callable[[Value, Value], Value]


def with_matrices(
    c: Conversion,
    data: Value,
    plans: Sequence[Axis],
    how: Resampling,
    product: Product,
) -> Value:
    """Resize `data` axis by axis, each axis with a Gather or a matrix product.

    A Gather suffices if each element of the result is a copy of one element of the axis. Otherwise
    the axis is multiplied by a constant matrix of weights.

    `plans` holds the axes to resize, and `how` the mode and its options. `product` emits a
    matrix product in the target format.
    """
    from irloop.kernels import resize as kernel

    result = data
    rank = shape_of(data).rank or 0
    for plan in plans:
        index, weights = kernel.taps(plan, how)
        if weights is None:
            result = c.gather(result, c.i64(index[:, 0]), plan.axis)
            continue
        matrix = c.constant(kernel.weight_matrix(plan, how), element_of(data))
        resized = product(c.moved(result, plan.axis, rank - 1, rank), matrix)
        result = c.moved(resized, rank - 1, plan.axis, rank)
    return result


def _onnx_product(c: Export, left: Value, right: Value) -> Value:
    return c.numeric(onnx_matmul.MatMul(), left, right, small=None)


@exports(ov.Interpolate, ov.Interpolate1, ov.Interpolate11)
def export_interpolate(c: Export, op: ov.Interpolation, *inputs: Value | None) -> Value:
    """Interpolate -> Resize."""
    data = inputs[0]
    assert data is not None
    sizes, scales, axes = _inputs(c, op, inputs)
    low, high = op.pads()
    if any((*low, *high)):
        rank = shape_of(data).rank or len(low)
        widths = [*low, *(0,) * (rank - len(low)), *high, *(0,) * (rank - len(high))]
        data = c.pad(data, c.i64(widths), c.scalar(0.0, data))
    if not element_of(data).is_float and op.how().mode != "nearest":
        return _of_integers(c, op, data, sizes, scales, axes)
    return _exported(c, op, data, sizes, scales, axes)


def _of_integers(
    c: Export,
    op: ov.Interpolation,
    data: Value,
    sizes: Value | None,
    scales: Value | None,
    axes: Value | list[int] | None,
) -> Value:
    """Interpolate integers as floats, round them, and clip them to their type."""
    element = element_of(data)
    wide = c.convert(data, ElementType.F32)
    rounded = c(elementwise.Round(), _exported(c, op, wide, sizes, scales, axes))
    if element.bits < 32:
        signed = element.value.startswith("i")
        low = -(2 ** (element.bits - 1)) if signed else 0
        rounded = c.clip(rounded, low, low + 2**element.bits - 1)
    return c.convert(rounded, element)


def _exported(
    c: Export,
    op: ov.Interpolation,
    data: Value,
    sizes: Value | None,
    scales: Value | None,
    axes: Value | list[int] | None,
) -> Value:
    how = op.how()
    plans = _openvino_plans(c, data, sizes, scales, axes)
    name = _nearest_name(c, how, plans, scales)
    if plans == []:
        return data
    if name is not None and _expressible(c, how, plans, scales, data):
        attributes = _resize_attributes(how, name)
        if plans is not None:
            axes = [plan.axis for plan in plans]
            sizes = c.i64([plan.count for plan in plans])
            if scales is not None and how.coordinates != "align_corners":
                sizes, scales = None, c.constant([plan.scale for plan in plans], ElementType.F32)
        order = _order_that_runs(c, how.mode, data, axes) if plans is None else None
        if order is None:
            return _emit_resize(c, attributes, data, sizes, scales, axes)
        last = list(range(len(order)))[-len(_axes_list(c, axes, len(order))) :]
        turned = _emit_resize(c, attributes, c.transpose(data, order), sizes, scales, last)
        return c.transpose(turned, [order.index(axis) for axis in range(len(order))])
    if plans is None and how.coordinates == "asymmetric" and name is None and sizes is not None:
        return _nearest_at_run_time(c, data, sizes, axes)
    if plans is None:
        raise c.refuse(
            f"mode {how.mode} with {how.coordinates} needs known sizes",
            "give the input a static shape and constant sizes",
        )
    return with_matrices(c, data, plans, how, partial(_onnx_product, c))


def _expressible(
    c: Export, how: Resampling, plans: list[Axis] | None, scales: Value | None, like: Value
) -> bool:
    """Return whether a Resize that ONNX Runtime supports can replace an Interpolate.

    `how` describes the Interpolate. `plans` holds its resized axes; None means that their sizes are
    unknown. `scales` is None if the Interpolate is given by sizes. `like` is the tensor to resize;
    only its rank is used.
    """
    if c.opset < onnx.Resize11.since:
        return _enlarges(c, how, scales, shape_of(like).rank)
    old_nearest = how.coordinates == "tf_half_pixel_for_nn" and how.mode == "nearest"
    if how.coordinates not in SHARED and not (old_nearest and c.opset < 13):
        return False
    if how.mode not in ("nearest", "linear", "cubic") or how.antialias:
        return False
    if plans is None:
        return True
    if scales is not None and how.coordinates != "align_corners":
        from irloop.kernels import resize as kernel

        factors = c.constant_of(c.constant([plan.scale for plan in plans], ElementType.F32))
        assert factors is not None, "a constant always has a value"
        counts = kernel.counts_of_scales([plan.size for plan in plans], factors)
        if counts != [plan.count for plan in plans]:
            return False
    return how.mode == "nearest" or _runs(how.mode, [p.axis for p in plans], shape_of(like).rank)


def _enlarges(c: Export, how: Resampling, scales: Value | None, rank: int | None) -> bool:
    """Return whether Upsample, or Resize-10, can replace an Interpolate by these scales."""
    factors = None if scales is None else c.constant_of(scales)
    if factors is None or how.coordinates != "asymmetric" or how.antialias:
        return False
    if how.mode == "nearest":
        kept = how.nearest in ("floor", "simple")
    else:
        moved = [float(item) for item in factors.reshape(-1) if item != 1]
        kept = how.mode == "linear" and (rank == 2 or (rank == 4 and len(moved) <= 2))
    return kept and bool((factors >= 1).all())


def _order_that_runs(
    c: Export, mode: str, data: Value, axes: Value | list[int] | None
) -> list[int] | None:
    """The order of axes, those to resize at the end, in which ONNX Runtime resizes `data`.

    The result is None if it needs no other order, or runs none.
    """
    rank = shape_of(data).rank
    if mode == "nearest" or rank is None or axes is None:
        return None
    if isinstance(axes, Value) and c.constant_of(axes) is None:
        return None
    resized = _axes_list(c, axes, rank)
    if _runs(mode, resized, rank) or not _runs(mode, list(range(rank))[-len(resized) :], rank):
        return None
    return [*(axis for axis in range(rank) if axis not in resized), *resized]


def _runs(mode: str, axes: list[int], rank: int | None) -> bool:
    """Return whether ONNX Runtime can resize the axes in `mode` for data of this rank."""
    if rank == 2 or (rank == 3 and mode == "linear"):
        return True
    allowed = {4: ({2, 3}, {1, 2}), 5: ({2, 3, 4},)} if mode == "linear" else {4: ({2, 3},)}
    return any(set(axes) <= inner for inner in allowed.get(rank or 0, ()))


def _nearest_at_run_time(
    c: Export, data: Value, sizes: Value, axes: Value | list[int] | None
) -> Value:
    """Resize to the nearest elements by a Gather for each axis.

    Positions are rounded up when an axis shrinks, else down.
    """
    rank = c.rank_of(data)
    shape, result = c.shape_of(data), data
    wanted = c.convert(sizes, ElementType.I64)
    for at, axis in enumerate(_axes_list(c, axes, rank)):
        count = c.gather(wanted, c.i64(at), 0)
        size = c.gather(shape, c.i64(axis), 0)
        step = c.numbers_below(count)
        number, have, want = (c.convert(value, ElementType.F32) for value in (step, size, count))
        place = c.divide(number, c.divide(want, have))
        up, down = c(elementwise.Ceil(), place), c(elementwise.Floor(), place)
        rounded = c.select(c.less(want, have), up, down)
        last = c.subtract(have, c.scalar(1.0, have))
        index = c.convert(c.minimum(rounded, last), ElementType.I64)
        result = c.gather(result, index, axis)
    return result


def _inputs(
    c: Export, op: ov.Interpolation, inputs: tuple[Value | None, ...]
) -> tuple[Value | None, Value | None, Value | list[int] | None]:
    """The sizes, the scales and the axes of a resize.

    Either the sizes or the scales are None, because the operation uses only one of them. If the
    axes are None, all axes are resized.
    """
    if isinstance(op, ov.Interpolate1):
        return inputs[1], None, list(op.axes)
    if isinstance(op, ov.Interpolate11):
        axes = inputs[2] if len(inputs) > 2 else None
        if op.by_scales():
            return None, inputs[1], axes
        return inputs[1], None, axes
    axes = inputs[3] if len(inputs) > 3 else None
    return (None, inputs[2], axes) if op.by_scales() else (inputs[1], None, axes)


def _axes_list(c: Export, axes: Value | list[int] | None, rank: int) -> list[int]:
    if isinstance(axes, list):
        return [axis % rank for axis in axes]
    if axes is None:
        return list(range(rank))
    known = c.constant_of(axes)
    if known is None:
        raise c.refuse("the axes to resize are not constant")
    return [int(axis) % rank for axis in known.reshape(-1)]


def _openvino_plans(
    c: Export,
    data: Value,
    sizes: Value | None,
    scales: Value | None,
    axes: Value | list[int] | None,
) -> list[Axis] | None:
    """The plan for each axis that is resized; None if the plans need a value that is unknown.

    The plans need the rank of `data`, the sizes or scales, and some dimensions.
    """
    from irloop.kernels import resize as kernel

    dims = shape_of(data).dims
    given = sizes if sizes is not None else scales
    numbers = None if given is None else c.constant_of(given)
    if dims is None or numbers is None:
        return None
    chosen, flat = _axes_list(c, axes, len(dims)), numbers.reshape(-1)
    kept = moving(dims, chosen, None if sizes is not None else [float(item) for item in flat])
    if kept is None:
        return None
    wanted = None if sizes is None else [int(flat[at]) for at in kept]
    known = [dim if isinstance(dim, int) else 0 for dim in dims]
    return kernel.openvino_plans(
        known, [chosen[at] for at in kept], [float(flat[at]) for at in kept], wanted
    )


def moving(
    dims: Sequence[Dim], axes: Sequence[int], scales: Sequence[float] | None
) -> list[int] | None:
    """Return the positions in the list `axes` of those axes whose size in `dims` is known.

    For example, the result [0, 2] means axes[0] and axes[2]. An axis of unknown size is left out if
    its scale is known to be 1. If there is any other axis of unknown size, the result is None.
    `scales` is None if the scales are not known.
    """
    kept = []
    for index, axis in enumerate(axes):
        if isinstance(dims[axis], int):
            kept.append(index)
        elif scales is None or scales[index] != 1.0:
            return None
    return kept


def _nearest_name(
    c: Export, how: Resampling, plans: list[Axis] | None, scales: Value | None
) -> str | None:
    """Return the `nearest_mode` with which ONNX's Resize rounds as `how` requires.

    OpenVINO's mode "simple" has no direct counterpart: it becomes "ceil" if the axes shrink, and
    "floor" if they do not. For this mode, the result is None if some axes shrink and others do not,
    or if the scales are not known.
    """
    if how.mode != "nearest" or how.nearest != "simple":
        return how.nearest
    factors = [] if plans is None else [plan.scale for plan in plans]
    if plans is None:
        known = None if scales is None else c.constant_of(scales)
        if known is None:
            return None
        factors = [float(factor) for factor in known.reshape(-1)]
    names = {"ceil" if factor < 1 else "floor" for factor in factors}
    return names.pop() if len(names) == 1 else ("floor" if not names else None)


def _resize_attributes(how: Resampling, nearest: str) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "mode": how.mode,
        "coordinate_transformation_mode": how.coordinates,
    }
    if how.mode == "nearest":
        attributes["nearest_mode"] = nearest
    if how.mode == "cubic":
        attributes["cubic_coeff_a"] = how.cubic
    return attributes


def _emit_resize(
    c: Export,
    attributes: dict[str, Any],
    data: Value,
    sizes: Value | None,
    scales: Value | None,
    axes: Value | list[int] | None,
) -> Value:
    rank = c.rank_of(data)
    chosen = _axes_list(c, axes, rank)
    element = element_of(data)
    empty = c.constant([], ElementType.F32)
    roi = empty if c.opset < 13 else None
    if sizes is not None:
        whole = _all_sizes(c, data, c.convert(sizes, ElementType.I64), chosen, rank)
        operands: tuple[Value | None, ...] = (roi, empty if c.opset < 13 else None, whole)
    else:
        assert scales is not None, "sizes or scales are given"
        operands = (roi, _all_scales(c, c.convert(scales, ElementType.F32), chosen, rank))
    if c.opset < onnx.Resize11.since:
        return _emit_upsample(c, attributes["mode"], data, operands[1])
    op = onnx.resize_since(c.opset)(**attributes)
    if element not in RUNS_IN:
        return c.computed_in(ElementType.F32, lambda x: c(op, x, *operands), data)
    return c(op, data, *operands)


def _emit_upsample(c: Export, mode: str, data: Value, scales: Value | None) -> Value:
    """Emit the form of Resize before opset 11, which takes constant scales for all axes."""
    factors = None if scales is None else c.constant_of(scales)
    assert scales is not None, "the scales are given"
    assert factors is not None, "the scales are known"
    if c.opset < onnx.Upsample9.since:
        return c(onnx.Upsample(tuple(map(float, factors)), mode), data)
    op = onnx.Resize10(mode) if c.opset >= onnx.Resize10.since else onnx.Upsample9(mode)
    return c(op, data, scales)


def _all_sizes(c: Export, data: Value, sizes: Value, axes: list[int], rank: int) -> Value:
    """Return the new shape of `data`: `sizes` for `axes`, and the old size for every other axis."""
    if axes == list(range(rank)):
        return sizes
    known, dims = c.constant_of(sizes), shape_of(data).dims
    if known is not None and dims is not None:
        extended: list[Any] = list(dims)
        for axis, size in zip(axes, known.reshape(-1), strict=True):
            extended[axis] = int(size)
        if all(isinstance(size, int) for size in extended):
            return c.i64(extended)
    shape = c.shape_of(data)
    every = c.concat([shape, sizes], 0)
    order = [rank + axes.index(axis) if axis in axes else axis for axis in range(rank)]
    return c.gather(every, c.i64(order), 0)


def _all_scales(c: Export, scales: Value, axes: list[int], rank: int) -> Value:
    """Extend `scales`, which belong to `axes`, by a scale of 1 for every other axis of the data."""
    if axes == list(range(rank)):
        return scales
    known = c.constant_of(scales)
    if known is not None:
        extended = [1.0] * rank
        for axis, scale in zip(axes, known.reshape(-1), strict=True):
            extended[axis] = float(scale)
        return c.constant(extended, ElementType.F32)
    every = c.concat([c.constant([1.0], ElementType.F32), scales], 0)
    order = [1 + axes.index(axis) if axis in axes else 0 for axis in range(rank)]
    return c.gather(every, c.i64(order), 0)
