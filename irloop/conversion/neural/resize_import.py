"""Converts Resize and Upsample to OpenVINO: to Interpolate, or to Gathers and weighted sums."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import imports
from irloop.conversion.neural.resize import SHARED, moving, with_matrices
from irloop.conversion.neural.resize_computed import Request, resized
from irloop.dialects.onnx import resize as onnx
from irloop.dialects.openvino import matmul as ov_matmul
from irloop.dialects.openvino import resize as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.kernels.resize import Axis, Resampling

__all__: list[str] = []

#: The element types that Interpolate does not support, each with the type that replaces it.
STAND_INS = {
    ElementType.I16: ElementType.I32,
    ElementType.U16: ElementType.I32,
    ElementType.U32: ElementType.I64,
    ElementType.BOOLEAN: ElementType.U8,
}


def _product(c: Import, left: Value, right: Value) -> Value:
    return c(ov_matmul.MatMul(), left, right)


@imports(onnx.Upsample, onnx.Upsample1)
def import_upsample(c: Import, op: onnx.Upsample | onnx.Upsample1, data: Value) -> Value:
    """Upsample -> Interpolate."""
    numbers = (
        op.scales
        if isinstance(op, onnx.Upsample)
        else (
            1.0,
            1.0,
            op.height_scale,
            op.width_scale,
        )
    )
    scales = c.constant(list(numbers), ElementType.F32)
    return _in_known_type(c, op.how(), data, scales, None, [], "stretch", None)


@imports(onnx.Upsample9, onnx.Resize10)
def import_scaled(
    c: Import, op: onnx.Upsample9 | onnx.Resize10, data: Value, scales: Value
) -> Value:
    """Upsample, Resize -> Interpolate."""
    return _in_known_type(c, op.how(), data, scales, None, [], "stretch", None)


@imports(onnx.Resize, onnx.Resize11, onnx.Resize13)
def import_resize(
    c: Import,
    op: onnx.Resize11,
    data: Value,
    roi: Value | None = None,
    scales: Value | None = None,
    sizes: Value | None = None,
) -> Value:
    """Write Resize as Interpolate, or as a Gather or weighted sum along each axis."""
    if scales is not None and shape_of(scales).count() == 0:
        scales = None
    if sizes is not None and shape_of(sizes).count() == 0:
        sizes = None
    if op.coordinate_transformation_mode == "tf_crop_and_resize" and roi is None:
        raise c.refuse("its region is missing", "validate the model first")
    region = roi if op.coordinate_transformation_mode == "tf_crop_and_resize" else None
    return _in_known_type(
        c, op.how(), data, scales, sizes, list(op.chosen_axes()), op.policy(), region
    )


def _in_known_type(c: Import, how: Resampling, data: Value, *others: Any) -> Value:
    """Resize `data` in a type that the operation supports, and convert the result back.

    If elements are weighted, integers are computed as floats and truncated, as ONNX runtimes do.
    `others` are the remaining arguments of `_imported`.
    """
    element = element_of(data)
    weighted = how.mode != "nearest" and not element.is_float
    chosen = ElementType.F32 if weighted else STAND_INS.get(element, element)
    found = _imported(c, how, c.convert(data, chosen), *others)
    return c.convert(found, element)


def _imported(
    c: Import,
    how: Resampling,
    data: Value,
    scales: Value | None,
    sizes: Value | None,
    chosen: list[int],
    policy: str,
    region: Value | None,
) -> Value:
    rank = c.rank_of(data)
    axes = [axis % rank for axis in chosen] or list(range(rank))
    request = Request(axes, scales, sizes, policy, region)
    plans = _onnx_plans(c, how, data, request)
    sayable = how.coordinates in SHARED or how.coordinates == "tf_half_pixel_for_nn"
    # OpenVINO leaves an axis unchanged if its size does not change, whatever the scale is.
    exact = plans is None or all(
        plan.span(how) == plan.count - 1 and plan.count != plan.size for plan in plans
    )
    plain = not how.antialias and not how.exclude_outside and policy == "stretch"
    if plans is None and how.is_fractional and sizes is None:
        # OpenVINO rounds the new size before it aligns the corners, so the result is not exact.
        exact = False
    runs = plans is None or _interpolates(how.mode, [plan.axis for plan in plans], rank)
    if c.opset >= 4 and sayable and exact and plain and runs:
        return _interpolated(c, how, data, scales, sizes, axes, plans)
    if plans is None:
        return resized(c, how, data, request)
    result = with_matrices(c, data, plans, how, partial(_product, c))
    return _filled(c, result, plans, how)


def _interpolates(mode: str, axes: list[int], rank: int) -> bool:
    """Return whether OpenVINO's CPU plugin can resize these axes and, in cubic mode, does so
    correctly.
    """
    if rank <= 2 or (rank == 3 and mode != "cubic"):
        return True
    return rank > 3 and min(axes, default=2) >= 2 and (mode != "cubic" or len(axes) < 3)


def _filled(c: Import, result: Value, plans: Sequence[Axis], how: Resampling) -> Value:
    """Set the result elements that lie outside the data to the extrapolation value."""
    from irloop.kernels import resize as kernel

    for plan in plans:
        outside = kernel.outside(plan, how)
        if outside is not None:
            shape = [1] * (shape_of(result).rank or 0)
            shape[plan.axis] = plan.count
            mask = c.constant(outside.reshape(shape), ElementType.BOOLEAN)
            value = c.scalar(how.extrapolation, result)
            result = c.select(mask, value, result)
    return result


def _onnx_plans(c: Import, how: Resampling, data: Value, request: Request) -> list[Axis] | None:
    """Return how an ONNX Resize changes each axis: sizes, scale and region.

    An axis that keeps its size is left out. The result is None if the scales, sizes or region are
    known only at run time.
    """
    from irloop.kernels import resize as kernel

    axes, sizes = request.axes, request.sizes
    region: list[float] = []
    if request.region is not None:
        bounds_known = c.constant_of(request.region)
        if bounds_known is None:
            return None
        region = [float(bound) for bound in bounds_known.reshape(-1)]
    dims = shape_of(data).dims
    given = sizes if sizes is not None else request.scales
    numbers = None if given is None else c.constant_of(given)
    if dims is None or numbers is None:
        return None
    flat = numbers.reshape(-1)
    kept = moving(dims, axes, None if sizes is not None else [float(item) for item in flat])
    if kept is None:
        return None
    known = [dim if isinstance(dim, int) else 0 for dim in dims]
    wanted = None if sizes is None else [int(flat[at]) for at in kept]
    bounds = [*kept, *(len(axes) + at for at in kept)] if region else []
    plans = kernel.onnx_plans(
        known,
        [axes[at] for at in kept],
        flat[kept] if wanted is None else None,
        wanted,
        request.policy,
        [region[at] for at in bounds],
    )
    return kernel.needed(plans, how)


def _interpolated(
    c: Import,
    how: Resampling,
    data: Value,
    scales: Value | None,
    sizes: Value | None,
    axes: list[int],
    plans: list[Axis] | None,
) -> Value:
    """Emit Interpolate-4 over the axes that change or, if they are not known, over all `axes`."""
    attributes: dict[str, Any] = {
        "mode": "linear_onnx" if how.mode == "linear" else how.mode,
        "coordinate_transformation_mode": how.coordinates,
        "nearest_mode": how.nearest,
        "cube_coeff": how.cubic,
        "shape_calculation_mode": "sizes" if sizes is not None else "scales",
    }
    if plans is not None:
        moving = [plan.axis for plan in plans]
        if not moving:
            return data
        counts = c.i64([plan.count for plan in plans])
        factors = c.constant([plan.scale for plan in plans], ElementType.F32)
        moved = {"mode": _linear_name(how, len(moving))}
        return c(ov.Interpolate(**attributes | moved), data, counts, factors, c.i64(moving))
    every = c.i64(axes)
    if sizes is not None:
        wanted = c.convert(sizes, ElementType.I64)
        ones = c.constant([1.0] * len(axes), ElementType.F32)
        moved = {"mode": _linear_name(how, len(axes))}
        return c(ov.Interpolate(**attributes | moved), data, wanted, ones, every)
    assert scales is not None, "sizes or scales are given"
    factors = c.convert(scales, ElementType.F32)
    counts = c.i64([1] * len(axes))
    moved = {"mode": _linear_name(how, len(axes))}
    return c(ov.Interpolate(**attributes | moved), data, counts, factors, every)


def _linear_name(how: Resampling, axes: int) -> str:
    """Return OpenVINO's name of the interpolation mode.

    A linear mode is linear_onnx for up to three axes, otherwise linear; the results are equal.
    """
    if how.mode != "linear":
        return how.mode
    return "linear_onnx" if axes <= 3 else "linear"
