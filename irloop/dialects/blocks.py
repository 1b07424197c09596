"""Shape inference for moving blocks between space, depth and batch, shared by both dialects."""

from __future__ import annotations

from irloop.dialects import shapes
from irloop.graph.arguments import Arguments
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, Dim, Shape

__all__ = ["column_image", "deeper", "divided", "spread"]


def divided(args: Arguments, dim: Dim, by: int, what: str) -> Dim:
    """Return `dim` divided by `by`, which must leave no remainder.

    `what` names the dimension in the error message. An unknown dimension has an unknown result,
    unless `by` is 1.

    Raises:
        InferenceError: when there is a remainder.
    """
    if not isinstance(dim, int):
        return dim if by == 1 else UNKNOWN_DIM
    if by < 1 or dim % by:
        raise args.error(f"{what} cannot be divided by the block", f"a multiple of {by}", str(dim))
    return dim // by


def spread(args: Arguments, shape: Shape, block: int) -> Shape:
    """The shape of DepthToSpace: [n, c, d...] -> [n, c / block^k, d * block...] for k spatial axes.

    Raises:
        InferenceError: when the channels are not divisible.
    """
    dims = _spatial(args, shape, block)
    if dims is None:
        return UNKNOWN_SHAPE
    depth = divided(args, dims[1], block ** (len(dims) - 2), "the channels")
    return Shape((dims[0], depth, *(shapes.multiplied((dim, block)) for dim in dims[2:])))


def deeper(args: Arguments, shape: Shape, block: int) -> Shape:
    """The shape of SpaceToDepth: [n, c, d...] -> [n, c * block^k, d / block...] for k spatial axes.

    Raises:
        InferenceError: when a spatial axis is not divisible.
    """
    dims = _spatial(args, shape, block)
    if dims is None:
        return UNKNOWN_SHAPE
    channels = shapes.multiplied((dims[1], block ** (len(dims) - 2)))
    sizes = (divided(args, dim, block, "a spatial axis") for dim in dims[2:])
    return Shape((dims[0], channels, *sizes))


def _spatial(args: Arguments, shape: Shape, block: int) -> tuple[Dim, ...] | None:
    if block < 1:
        raise args.error("the block size is not positive", "1 or more", str(block))
    if shape.dims is not None and len(shape.dims) < 3:
        raise args.error("there is no spatial axis", "rank 3 or more", str(shape))
    return shape.dims


def column_image(
    args: Arguments, image: tuple[Dim, ...] | None, block: tuple[int, ...] | None
) -> Shape:
    """The shape of Col2Im: [n, c * block, l] and an image size -> [n, c, *image].

    Raises:
        InferenceError: when the channels are not divisible by the block.
    """
    shape = args.shape(0)
    if shape.dims is None or image is None:
        return UNKNOWN_SHAPE
    if len(shape.dims) not in (2, 3):
        raise args.error("the input holds no columns", "rank 2 or 3", str(shape))
    batch, rows = shape.dims[:-2], shape.dims[-2]
    channels: Dim = UNKNOWN_DIM
    if block is not None:
        count = shapes.multiplied(block)
        assert isinstance(count, int)
        channels = divided(args, rows, count, "the rows")
    return Shape((*batch, channels, *image))
