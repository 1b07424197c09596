"""Shape inference for gather and scatter operations, shared by both dialects."""

from __future__ import annotations

from irloop.dialects import inference
from irloop.graph.arguments import Arguments
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, Dim, ElementType, Shape

__all__ = [
    "gathered",
    "gathered_elements",
    "gathered_list",
    "gathered_nd",
    "integers",
    "require_coordinates",
    "scattered_elements",
    "scattered_nd",
]


def integers(args: Arguments, *positions: int) -> None:
    """Refuse operands at `positions` whose elements, used as indices, are not integers.

    Raises:
        InferenceError: when an operand has the wrong element type.
    """
    for position in positions:
        element = args.element(position)
        if not element.is_integer and element is not ElementType.DYNAMIC:
            raise args.error(f"operand {position} is not an integer", "i32 or i64", str(element))


def gathered(
    args: Arguments, data: Shape, indices: Shape, axis: int | None, batch_dims: int = 0
) -> Shape:
    """The shape of `data`, with `axis` replaced by the dimensions of `indices`.

    `axis` is None if it is unknown. A negative `batch_dims` counts from the end of the axes of the
    indices.

    Raises:
        InferenceError: when the axis or `batch_dims` is out of range, or batch dimensions differ.
    """
    if data.dims is None or indices.dims is None:
        return UNKNOWN_SHAPE
    batch = batch_dims + len(indices.dims) if batch_dims < 0 else batch_dims
    rank = len(data.dims)
    if not 0 <= batch <= min(rank, len(indices.dims)):
        raise args.error(
            "batch_dims is out of range", f"{data} and {indices}", str(batch_dims), kind="range"
        )
    if axis is None:
        return Shape.of_rank(rank - 1 + len(indices.dims) - batch)
    position = inference.axis_in(args, axis, rank)
    assert position is not None
    if position < batch:
        raise args.error(
            "axis is one of the batch axes", f"{batch} or more", str(axis), kind="range"
        )
    lead = Shape(data.dims[:batch]).refine(Shape(indices.dims[:batch]))
    if lead is None or lead.dims is None:
        raise args.error("batches differ", str(data), str(indices))
    before, after = data.dims[batch:position], data.dims[position + 1 :]
    return Shape((*lead.dims, *before, *indices.dims[batch:], *after))


def gathered_list(args: Arguments, axis: int | None) -> tuple[Dim, ...] | None:
    """The elements of input 0, a vector, at the constant indices in input 1.

    `axis` must be 0 or -1, as a vector has one axis. The result is None for any other `axis`, if
    the elements or the indices are unknown, if an index is out of range, if input 0 is not a
    vector, or if input 1 has more than one axis.
    """
    dims, indices = args.dims(0), args.ints(1)
    rank = args.rank(1)
    if dims is None or indices is None or args.rank(0) != 1 or rank is None or rank > 1:
        return None
    if axis not in (0, -1) or not all(-len(dims) <= at < len(dims) for at in indices):
        return None
    return tuple(dims[at] for at in indices)


def gathered_elements(args: Arguments, axis: int) -> Shape:
    """The shape of the indices, which must have the rank of the data.

    Raises:
        InferenceError: when ranks differ or the axis is out of range.
    """
    data, indices = args.shape(0), args.shape(1)
    if data.rank is not None and indices.rank is not None and data.rank != indices.rank:
        raise args.error("ranks differ", str(data), str(indices))
    rank = data.rank if indices.rank is None else indices.rank
    inference.axis_in(args, axis, rank)
    _require_inside(args, data, indices, axis)
    if indices.dims is None and rank is not None:
        return Shape.of_rank(rank)
    return indices


def gathered_nd(args: Arguments, batch_dims: int, *, merge: bool = False) -> Shape:
    """Return the shape of a GatherND result.

    It is the batch dimensions, then the dimensions of the indices between these and the last
    dimension, then the data dimensions that are not indexed. For data [2, 5, 7], indices [2, 3, 1]
    and `batch_dims` 1, the shape is [2, 3, 7]. With `merge`, the batch dimensions are multiplied
    into one.

    Raises:
        InferenceError: when there are more coordinates than axes, or batch dimensions differ.
    """
    data, indices = args.shape(0).dims, args.shape(1).dims
    if indices is None:
        return UNKNOWN_SHAPE
    if not indices or not 0 <= batch_dims < len(indices):
        raise args.error(
            "batch_dims is out of range", f"0 to {len(indices) - 1}", str(batch_dims), kind="range"
        )
    depth = indices[-1]
    if data is None or not isinstance(depth, int):
        return UNKNOWN_SHAPE
    if batch_dims + depth > len(data):
        text = f"{depth} after {batch_dims} batch axes"
        raise args.error("more coordinates than axes", f"{len(data)} at most", text)
    lead = Shape(data[:batch_dims]).refine(Shape(indices[:batch_dims]))
    if lead is None or lead.dims is None:
        raise args.error("batches differ", str(Shape(data)), str(Shape(indices)))
    batch = lead.dims
    if merge and batch_dims > 1:
        count = lead.count()
        batch = (UNKNOWN_DIM if count is None else count,)
    return Shape((*batch, *indices[batch_dims:-1], *data[batch_dims + depth :]))


def require_coordinates(args: Arguments, batch_dims: int) -> None:
    """Refuse coordinates (input 1) outside of the data, if they are constant.

    Raises:
        InferenceError: when there is such a coordinate.
    """
    data, indices, numbers = args.shape(0).dims, args.shape(1).dims, args.ints(1)
    depth = indices[-1] if indices else None
    if data is None or not numbers or not isinstance(depth, int):
        return
    sizes = data[batch_dims : batch_dims + depth]
    for at, number in enumerate(numbers):
        size = sizes[at % depth]
        if isinstance(size, int) and not -size <= number < size:
            expected = f"{-size} to {size - 1}"
            message = "a coordinate (input 1) is out of range"
            raise args.error(message, expected, str(number), kind="range")


def scattered_elements(args: Arguments, axis: int | None) -> Shape:
    """Return the shape of the data, after checking the inputs of ScatterElements.

    Indices and updates must have equal shapes, and their rank must be that of the data.

    Raises:
        InferenceError: when ranks, or the shapes of indices and updates, differ, or `axis` is not
            an axis.
    """
    data, indices, values = args.shape(0), args.shape(1), args.shape(2)
    if indices.refine(values) is None:
        raise args.error("indices and updates differ in shape", str(indices), str(values))
    if data.rank is not None and indices.rank is not None and data.rank != indices.rank:
        raise args.error("ranks differ", str(data), str(indices))
    if axis is not None:
        inference.axis_in(args, axis, data.rank)
        _require_inside(args, data, indices, axis)
    return data


def _require_inside(args: Arguments, data: Shape, indices: Shape, axis: int) -> None:
    """Refuse indices that are longer than the data on another axis than `axis`."""
    if data.dims is None or indices.dims is None:
        return
    for at, (size, count) in enumerate(zip(data.dims, indices.dims, strict=True)):
        if at == axis % len(data.dims) or not isinstance(size, int) or not isinstance(count, int):
            continue
        if count > size:
            raise args.error("the indices are longer than the data", str(data), str(indices))


def scattered_nd(args: Arguments) -> Shape:
    """The shape of the data; updates must match the data axes that the coordinates do not index.

    Raises:
        InferenceError: when there are more coordinates than axes, or the updates do not match.
    """
    data, indices = args.shape(0), args.shape(1).dims
    if data.dims is None or indices is None:
        return data
    if not indices:
        raise args.error("indices are a scalar", "rank 1 or more", "rank 0")
    depth = indices[-1]
    if not isinstance(depth, int):
        return data
    if depth > len(data.dims):
        raise args.error("more coordinates than data axes", f"{len(data.dims)} at most", str(depth))
    expected = Shape((*indices[:-1], *data.dims[depth:]))
    if expected.refine(args.shape(2)) is None:
        raise args.error("updates have the wrong shape", str(expected), str(args.shape(2)))
    return data
