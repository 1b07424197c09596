"""Shape inference for padding, shared by both dialects."""

from __future__ import annotations

import math
from collections.abc import Sequence

from irloop.dialects import inference, shapes
from irloop.graph.arguments import Arguments
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, Dim, Shape

__all__ = ["padded", "padded_axes", "require_source"]


def padded(
    args: Arguments, shape: Shape, begins: tuple[Dim, ...] | None, ends: tuple[Dim, ...] | None
) -> Shape:
    """`shape` padded at both ends of each axis; `begins` or `ends` is None if it is unknown.

    Raises:
        InferenceError: when there is not one number per axis, or a size becomes negative.
    """
    if shape.dims is None:
        known = begins if begins is not None else ends
        return UNKNOWN_SHAPE if known is None else Shape.of_rank(len(known))
    for pads in (begins, ends):
        if pads is not None and len(pads) != len(shape.dims):
            raise args.error(
                "there must be one begin and one end per axis",
                str(len(shape.dims)),
                str(len(pads)),
            )
    if begins is None or ends is None:
        return Shape.of_rank(len(shape.dims))
    return Shape(tuple(_padded(args, *item) for item in zip(shape.dims, begins, ends, strict=True)))


def _padded(args: Arguments, dim: Dim, begin: Dim, end: Dim) -> Dim:
    result = shapes.total((dim, begin, end))
    if isinstance(result, int) and result < 0:
        raise args.error(
            "negative padding removes more than the axis has",
            f"{dim} at most",
            f"{begin} and {end}",
        )
    return result


def require_source(
    args: Arguments, shape: Shape, pads: Sequence[Dim], axes: Sequence[int], mode: str
) -> None:
    """Refuse pads that need more elements than the data has; `mode` tells what the pads hold.

    `pads` holds the begins of all axes, then the ends. A reflection does not repeat the element at
    the border, so that it has at most as many elements as the rest of the axis.

    Raises:
        InferenceError: when an axis is too short.
    """
    if shape.dims is None or mode == "constant" or len(pads) != 2 * len(axes):
        return
    for axis, begin, end in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        size = shape.dims[axis]
        if not isinstance(size, int) or not isinstance(begin, int) or not isinstance(end, int):
            continue
        left = size + min(begin, 0) + min(end, 0)
        most = left - 1 if mode == "reflect" else math.inf if left > 0 else 0
        if max(begin, end) > max(most, 0):
            raise args.error(
                f"mode {mode} has too few elements on axis {axis}",
                f"pads of at most {max(most, 0)}",
                f"{begin} and {end}",
            )


def padded_axes(
    args: Arguments, shape: Shape, pads: tuple[Dim, ...] | None, axes: tuple[int, ...] | None
) -> Shape:
    """`shape` padded along `axes`; `pads` holds the begins of all axes, then the ends.

    `pads` and `axes` are None if they are unknown.

    Raises:
        InferenceError: when there are not two pads per axis, or an axis is out of range.
    """
    if shape.dims is None or axes is None:
        return shape if shape.dims is None else Shape.of_rank(len(shape.dims))
    if pads is not None and len(pads) != 2 * len(axes):
        raise args.error("there must be two pads per axis", str(2 * len(axes)), str(len(pads)))
    rank = len(shape.dims)
    begins: list[Dim] = [0] * rank
    ends: list[Dim] = [0] * rank
    for index, axis in enumerate(axes):
        position = inference.axis_in(args, axis, rank)
        assert position is not None
        begins[position] = UNKNOWN_DIM if pads is None else pads[index]
        ends[position] = UNKNOWN_DIM if pads is None else pads[len(axes) + index]
    return padded(args, shape, tuple(begins), tuple(ends))
