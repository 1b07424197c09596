"""Joins and splits axes in ONNX, whether or not their sizes are known before the model runs."""

from __future__ import annotations

from irloop.conversion.framework.directions import Export
from irloop.graph.builder import shape_of
from irloop.graph.model import Value
from irloop.graph.types import Dim, ElementType

__all__ = ["filled", "merge_axes", "split_axis"]

#: Constants with more elements than this are computed at run time.
STORED_LIMIT = 1024


def filled(c: Export, number: float, element: ElementType, shape: list[int]) -> Value:
    """A tensor of the given shape in which every element is `number`."""
    count = 1
    for dim in shape:
        count *= dim
    if count <= STORED_LIMIT:
        import numpy as np

        return c.constant(np.full(shape, number), element)
    return c.expand(c.constant(number, element), c.i64(shape))


def merge_axes(c: Export, value: Value, axis: int) -> Value:
    """Reshape [.., n, p, ..] to [.., n * p, ..], with n at `axis`."""
    shape = shape_of(value)
    if shape.dims is None:
        raise c.refuse("the rank of a concatenated output is not known")
    count, part = shape.dims[axis], shape.dims[axis + 1]
    joined = count * part if isinstance(count, int) and isinstance(part, int) else None
    return _reshaped(c, value, [*shape.dims[:axis], joined, *shape.dims[axis + 2 :]], axis, 2)


def split_axis(c: Export, value: Value, axis: int, part: int) -> Value:
    """Reshape [.., n * part, ..] to [.., n, part, ..], with n at `axis`."""
    shape = shape_of(value)
    if shape.dims is None:
        raise c.refuse("the rank of a sliced input is not known")
    size = shape.dims[axis]
    count = size // part if isinstance(size, int) else None
    dims = [*shape.dims[:axis], count, part, *shape.dims[axis + 1 :]]
    return _reshaped(c, value, dims, axis, 1, part)


def _reshaped(
    c: Export,
    value: Value,
    dims: list[Dim | None],
    axis: int,
    replaced: int,
    part: int | None = None,
) -> Value:
    known = [dim for dim in dims if isinstance(dim, int)]
    if len(known) == len(dims):
        return c.reshape_to(value, c.i64(known), special_zero=0 not in known)
    if len(known) == len(dims) - 1 and 0 not in known:
        # A single -1 is unambiguous because no other dimension is 0 here.
        return c.reshape(value, [dim if isinstance(dim, int) else -1 for dim in dims])
    pattern = _computed(c, value, axis, replaced, part)
    return c.reshape_to(value, pattern, special_zero=False)


def _computed(c: Export, value: Value, axis: int, replaced: int, part: int | None) -> Value:
    """Compute the target shape of a Reshape that splits or merges axes of `value`.

    If `part` is None, the axes `axis` and `axis` + 1 become one. Otherwise, the axis `axis` becomes
    two axes, of which the second has the size `part`. `replaced` is the number of axes that are
    replaced. The shape is computed when the model runs, so a size may also be 0.
    """
    shape = c.shape_of(value)
    rank = shape_of(value).rank
    assert rank is not None
    here = c.gather(shape, c.i64([axis]), 0)
    if part is None:
        middle = [c.multiply(here, c.gather(shape, c.i64([axis + 1]), 0))]
    else:
        middle = [c.divide(here, c.i64([part])), c.i64([part])]
    before, after = list(range(axis)), list(range(axis + replaced, rank))
    pieces = [c.gather(shape, c.i64(before), 0)] if before else []
    pieces += middle
    pieces += [c.gather(shape, c.i64(after), 0)] if after else []
    return c.concat(pieces, 0)
