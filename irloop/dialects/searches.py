"""Shape inference for TopK and for sizes that are inputs, shared by both dialects."""

from __future__ import annotations

from irloop.dialects import inference
from irloop.graph.arguments import Arguments
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, Dim, Shape

__all__ = ["best", "counted"]


def best(args: Arguments, shape: Shape, axis: int, k: Dim) -> Shape:
    """`shape` with `axis` reduced to the `k` best elements.

    Raises:
        InferenceError: when the axis is out of range or k exceeds its size.
    """
    position = inference.axis_in(args, axis, shape.rank)
    if position is None:
        return UNKNOWN_SHAPE
    dim = shape.dim(position)
    if isinstance(k, int) and k < 0:
        raise args.error("k is negative", "0 or more", str(k), kind="range")
    if isinstance(k, int) and isinstance(dim, int) and k > dim:
        raise args.error("k is larger than the axis", f"{dim} at most", str(k), kind="range")
    return shape.with_dim(position, k)


def counted(args: Arguments, position: int) -> Dim:
    """Return the value of an integer input as a dimension.

    `position` is the index of the input. The dimension is unknown if the value is not known before
    the model runs, or if the input does not have exactly one element.
    """
    dims = args.dims(position)
    return dims[0] if dims is not None and len(dims) == 1 else UNKNOWN_DIM
