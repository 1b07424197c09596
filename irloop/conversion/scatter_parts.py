"""Scatters that combine duplicates, from operations that every opset has.

A table of which update meets which element is compared out; what does not meet it counts as
the number that the reduction does not change. The table has as many elements as updates times
the axis (times the data for coordinates).
"""

from __future__ import annotations

from irloop.conversion import openvino_forms as forms
from irloop.conversion.framework import Conversion
from irloop.conversion.inputs import needed_rank
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import Dim, ElementType

__all__ = ["import_by_comparing", "import_nd_by_comparing", "neutral"]

#: A table of this many elements is still worth having.
LARGEST_TABLE = 2**26

_KINDS = {"add": "Sum", "mul": "Prod", "min": "Min", "max": "Max"}


def neutral(reduction: str, element: ElementType) -> float:
    """The number that a reduction does not change."""
    import numpy as np

    if reduction in ("prod", "mul"):
        return 1
    if reduction in ("sum", "add", "mean"):
        return 0
    if element.is_integer:
        limits = np.iinfo(element.numpy())
        return int(limits.max if reduction == "min" else limits.min)
    return float("inf") if reduction == "min" else float("-inf")


def _combined(c: Conversion, reduction: str, left: Value, right: Value) -> Value:
    if reduction == "add":
        return forms.add(c, left, right)
    if reduction == "mul":
        return forms.multiply(c, left, right)
    return forms.minimum(c, left, right) if reduction == "min" else forms.maximum(c, left, right)


def import_by_comparing(
    c: Conversion, reduction: str, axis: int, data: Value, indices: Value, updates: Value
) -> Value:
    """ScatterElements with a reduction.

    Raises:
        RefusedError: where indices and data may differ in another axis than the scattered one.
    """
    rank = needed_rank(c, data)
    at = axis % rank
    _require_same_sides(c, data, indices, at)
    _require_small(c, shape_of(indices).count(), shape_of(data).dim(at))
    size = forms.size_of(c, data, at)
    where = forms.as_i64(c, forms.non_negative(c, indices, data, at))
    # [.., n, ..] -> [.., n, 1, ..] against 0, 1, ... in the new axis.
    positions = forms.range_(c, c.i64(0), size, c.i64(1))
    positions = forms.reshape(c, positions, [-1] + [1] * (rank - 1 - at))
    meets = forms.equal(c, forms.unsqueeze(c, where, [at + 1]), positions)
    blank = c.constant(neutral(reduction, element_of(data)), element_of(data))
    table = forms.select(c, meets, forms.unsqueeze(c, updates, [at + 1]), blank)
    found = forms.reduce(c, _KINDS[reduction], table, [at], keep=False)
    return _combined(c, reduction, data, found)


def _require_same_sides(c: Conversion, data: Value, indices: Value, axis: int) -> None:
    left, right = shape_of(data), shape_of(indices)
    for at in range(left.rank or 0):
        if at != axis and left.dim(at) != right.dim(at):
            raise c.refuse(
                "duplicates are combined and the indices may cover only a part of the data",
                "allow opset12, which has ScatterElementsUpdate with a reduction",
            )


def _require_small(c: Conversion, updates: Dim | None, places: Dim | None) -> None:
    if isinstance(updates, int) and isinstance(places, int) and updates * places > LARGEST_TABLE:
        raise c.refuse(
            f"combining duplicates would take a table of {updates} times {places} elements",
            "allow opset15, whose scatters have reductions",
        )


def import_nd_by_comparing(
    c: Conversion, reduction: str, data: Value, indices: Value, updates: Value
) -> Value:
    """ScatterND with a reduction: coordinates become places in the flat data."""
    depth = shape_of(indices).dim(-1) if shape_of(indices).rank else None
    if not isinstance(depth, int):
        raise c.refuse("the number of its coordinates is not known", "declare the input shapes")
    _require_small(c, shape_of(updates).count(), shape_of(data).count())
    dims = forms.shape_of(c, data)
    lead = forms.slice_(c, dims, [0], [depth], [0])
    places = _places(c, forms.as_i64(c, indices), lead, depth)
    count = forms.reduce(c, "Prod", lead, [0], keep=False)
    numbers = forms.unsqueeze(c, forms.range_(c, c.i64(0), count, c.i64(1)), [0])
    meets = forms.unsqueeze(c, forms.equal(c, places, numbers), [2])
    # [updates, 1, inner] against [updates, places, 1]; inner is 1 for whole coordinates.
    inner = forms.reduce(c, "Prod", forms.slice_(c, dims, [depth], [2**31 - 1], [0]), [0])
    rows = forms.reshape_to(
        c, updates, forms.concat(c, [c.i64([-1, 1]), inner], 0), special_zero=False
    )
    blank = c.constant(neutral(reduction, element_of(data)), element_of(data))
    table = forms.select(c, meets, rows, blank)
    found = forms.reduce(c, _KINDS[reduction], table, [0], keep=False)
    found = forms.reshape_to(c, found, dims, special_zero=False)
    return _combined(c, reduction, data, found)


def _places(c: Conversion, indices: Value, lead: Value, depth: int) -> Value:
    """Coordinates [.., depth] as places in the flat data, [updates, 1]."""
    flat = forms.reshape(c, indices, [-1, depth])
    negative = forms.less(c, flat, c.i64(0))
    flat = forms.select(c, negative, forms.add(c, flat, lead), flat)
    place = c.i64([[0]])
    for at in range(depth):
        size = forms.slice_(c, lead, [at], [at + 1], [0])
        step = forms.slice_(c, flat, [at], [at + 1], [1])
        place = forms.add(c, forms.multiply(c, place, size), step)
    return place
