"""Writes scatters with a reduction as operations that every opset of a dialect has.

These operations build a table with one entry for each pair of an update and an element: the update
if it goes to this element, otherwise a value that does not change the result. The table is then
reduced over the updates. Its size is the number of updates times the size of the axis (for
coordinates, times the size of the data).
"""

from __future__ import annotations

from collections.abc import Callable

from irloop.conversion.framework.translation import Conversion
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.writing.known_inputs import needed_rank
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import Dim, ElementType

__all__ = [
    "elements_by_comparing",
    "elements_table",
    "neutral",
    "rows_by_comparing",
    "rows_table",
]

#: Maximum number of elements of a table that compares each index with each position. A scatter that
#: needs a larger table is refused.
LARGEST_TABLE = 2**26

_KINDS = {"add": "Sum", "mul": "Prod", "min": "Min", "max": "Max"}


def _combined(c: Conversion, reduction: str, left: Value, right: Value) -> Value:
    """Combine two tensors elementwise by a scatter's `reduction`: add, mul, min or max."""
    verbs = {"add": c.add, "mul": c.multiply, "min": c.minimum, "max": c.maximum}
    return verbs[reduction](left, right)


def neutral(reduction: str, element: ElementType) -> float:
    """Return the neutral element of a reduction: 0 for a sum, 1 for a product, and so on.

    For a minimum or maximum it is the largest or the lowest value of the type `element`.
    """
    import numpy as np

    if reduction in ("prod", "mul"):
        return 1
    if reduction in ("sum", "add", "mean"):
        return 0
    if element.is_integer:
        limits = np.iinfo(element.numpy())
        return int(limits.max if reduction == "min" else limits.min)
    return float("inf") if reduction == "min" else float("-inf")


def elements_by_comparing(
    c: Conversion,
    reduction: str,
    axis: int,
    inputs: tuple[Value, Value, Value],
) -> Value:
    """Express ScatterElements with a reduction (add, mul, min, max) by comparisons of indices.

    `inputs` are data, indices and updates. Each index is compared with each position along `axis`;
    this needs a table with one element per pair of index and position.

    Raises:
        RefusedError: if it is not known whether indices and data have the same size along an axis
            other than `axis`, or the table would be too large.
    """
    data, indices, updates = inputs
    rank = needed_rank(c, data)
    place = axis % rank
    smaller = _smaller_sides(c, data, indices, place)
    if smaller:
        part = c.slice(data, [0] * len(smaller), list(smaller.values()), list(smaller))
        reduced = elements_by_comparing(c, reduction, place, (part, indices, updates))
        return _completed(c, reduced, data, smaller)
    _require_small(c, shape_of(indices).count(), shape_of(data).dim(place))
    size = c.size_of(data, place)
    where = c.from_the_end(c.as_i64(indices), size)
    # Compare indices [.., n, ..], as [.., n, 1, ..], with 0, 1, ... along the new axis.
    positions = c.numbers_below(size)
    positions = c.reshape(positions, [-1] + [1] * (rank - 1 - place))
    meets = c.equal(c.unsqueeze(where, [place + 1]), positions)
    blank = _blank(c, reduction, data, lambda: c.unsqueeze(data, [place]))
    table = c.select(meets, c.unsqueeze(updates, [place + 1]), blank)
    reduced = c.reduce(_KINDS[reduction], table, [place], keep=False)
    return _combined(c, reduction, data, reduced)


def _blank(c: Conversion, reduction: str, data: Value, own: Callable[[], Value]) -> Value:
    """Return the entry of the table for an update that does not go to an element.

    For a minimum or maximum it is the element itself, because OpenVINO reduces integers as f32, in
    which the largest i32 becomes the smallest. `own` emits the elements in a shape that broadcasts
    to the table. Otherwise the entry is the neutral element of the reduction.
    """
    if reduction in ("min", "max"):
        return own()
    return c.constant(neutral(reduction, element_of(data)), element_of(data))


def _smaller_sides(c: Conversion, data: Value, indices: Value, axis: int) -> dict[int, int]:
    """Return the sizes of the indices that differ from those of the data, keyed by axis.

    The indices must not be larger than the data. `axis` is left out.

    Raises:
        RefusedError: when it is not known whether two sizes are equal.
    """
    left, right = shape_of(data), shape_of(indices)
    smaller: dict[int, int] = {}
    for side in range(left.rank or 0):
        size, covered = left.dim(side), right.dim(side)
        if side == axis or size == covered:
            continue
        if not isinstance(size, int) or not isinstance(covered, int):
            raise c.refuse(
                "it combines duplicates, and the indices may cover only a part of the data",
                "write a newer opset, whose scatters have reductions",
            )
        smaller[side] = covered
    return smaller


def _completed(c: Conversion, part: Value, data: Value, sizes: dict[int, int]) -> Value:
    """Write `part` over the first elements of `data` on each axis, and keep the rest of `data`.

    `sizes` gives the size of the part on each axis on which it is smaller than `data`.
    """
    joined, open_axes = part, dict(sizes)
    for axis, size in sizes.items():
        del open_axes[axis]
        starts, ends = [size, *[0] * len(open_axes)], [TO_THE_END, *open_axes.values()]
        rest = c.slice(data, starts, ends, [axis, *open_axes])
        joined = c.concat([joined, rest], axis)
    return joined


def elements_table(data: Value, indices: Value, axis: int) -> tuple[Dim | None, ...]:
    """Return the dimensions of the table that `elements_by_comparing` builds for these inputs.

    They are the number of indices and the size of `axis`, as far as these are known. Callers decide
    by the size of the table whether to write an operation of a newer opset instead.
    """
    shape = shape_of(data)
    return shape_of(indices).count(), shape.dim(axis) if shape.rank else None


def rows_table(data: Value, indices: Value, updates: Value) -> tuple[Dim | None, ...]:
    """Return the dimensions of the table that `rows_by_comparing` builds for these inputs.

    They are the number of elements of `updates`, and the size of each axis of the data that the
    coordinates in `indices` address, as far as these are known.
    """
    shape, where = shape_of(data), shape_of(indices)
    depth = where.dim(-1) if where.rank else None
    places = shape.dims[:depth] if isinstance(depth, int) and shape.dims else (None,)
    return shape_of(updates).count(), *places


def _require_small(c: Conversion, updates: Dim | None, places: Dim | None) -> None:
    if isinstance(updates, int) and isinstance(places, int) and updates * places > LARGEST_TABLE:
        raise c.refuse(
            f"combining duplicates would take a table of {updates} times {places} elements",
            "write a newer opset, whose scatters have reductions",
        )


def rows_by_comparing(c: Conversion, reduction: str, inputs: tuple[Value, Value, Value]) -> Value:
    """Emit a ScatterND with a reduction; `inputs` are data, indices and updates.

    Coordinates become flat indices. The index of each update is then compared with each position in
    the data, which yields a table with one entry per pair of update and position.

    Raises:
        RefusedError: if the number of coordinates is not known, or the table would be too large.
    """
    data, indices, updates = inputs
    depth = shape_of(indices).dim(-1) if shape_of(indices).rank else None
    if not isinstance(depth, int):
        raise c.refuse("the number of its coordinates is not known", "declare the input shapes")
    _require_small(c, shape_of(updates).count(), shape_of(data).count())
    dims = c.shape_of(data)
    lead = c.slice(dims, [0], [depth], [0])
    places = _places(c, c.as_i64(indices), lead, depth)
    count = c.reduce("Prod", lead, [0], keep=False)
    numbers = c.unsqueeze(c.numbers_below(count), [0])
    meets = c.unsqueeze(c.equal(places, numbers), [2])
    # The rows are [updates, 1, inner] and the marks [updates, n, 1]; inner is 1 if the coordinates
    # name single elements.
    inner = c.reduce("Prod", c.slice(dims, [depth], [2**31 - 1], [0]), [0])
    rows = c.reshape_to(updates, c.concat([c.i64([-1, 1]), inner], 0))
    whole = c.concat([c.i64([1]), c.unsqueeze(count, [0]), inner], 0)
    blank = _blank(c, reduction, data, lambda: c.reshape_to(data, whole))
    table = c.select(meets, rows, blank)
    found = c.reduce(_KINDS[reduction], table, [0], keep=False)
    return _combined(c, reduction, data, c.reshape_to(found, dims))


def _places(c: Conversion, indices: Value, lead: Value, depth: int) -> Value:
    """Convert ScatterND coordinates [..., depth] to flat indices [updates, 1].

    `lead` holds the sizes of the first `depth` axes of the data; an index is a position in these
    axes when they are flattened. Negative coordinates count from the end of their axis.
    """
    flat = c.from_the_end(c.reshape(indices, [-1, depth]), lead)
    place = c.i64([[0]])
    for at in range(depth):
        size = c.slice(lead, [at], [at + 1], [0])
        step = c.slice(flat, [at], [at + 1], [1])
        place = c.add(c.multiply(place, size), step)
    return place
