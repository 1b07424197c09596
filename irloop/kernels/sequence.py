"""Sequences and optionals of ONNX: a sequence is a list of arrays, an empty optional is None.

No list is ever changed: every kernel that adds or removes an item returns a new list.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irloop import budget

Array = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "at",
    "concat",
    "construct",
    "empty",
    "erase",
    "get_element",
    "has_element",
    "insert",
    "length",
    "optional",
    "split",
]


def construct(*items: Array) -> list[Any]:
    """A sequence with these items."""
    return list(items)


def empty() -> list[Any]:
    """An empty sequence."""
    return []


def length(sequence: list[Any]) -> Array:
    """The number of items, as an i64 scalar."""
    return np.array(len(sequence), dtype=np.int64)


def at(sequence: list[Any], position: Array) -> Any:
    """The item at `position`; a negative position counts from the end.

    Raises:
        ValueError: when there is no such item.
    """
    return sequence[_position(position, len(sequence), len(sequence) - 1)]


def insert(sequence: list[Any], tensor: Any, position: Array | None = None) -> list[Any]:
    """Insert `tensor` before `position`, or at the end if `position` is missing.

    Raises:
        ValueError: when `position` is not in -n..n.
    """
    count = len(sequence)
    place = count if position is None else _position(position, count, count)
    return [*sequence[:place], tensor, *sequence[place:]]


def erase(sequence: list[Any], position: Array | None = None) -> list[Any]:
    """Remove the item at `position`, or the last item if `position` is missing.

    Raises:
        ValueError: when there is no such item.
    """
    count = len(sequence)
    place = _position(np.array(-1) if position is None else position, count, count - 1)
    return [*sequence[:place], *sequence[place + 1 :]]


def _position(position: Array, count: int, last: int) -> int:
    place = int(position.reshape(-1)[0])
    if not -count <= place <= last:
        raise ValueError(f"position {place} of a sequence of {count}: expected {-count}..{last}")
    return place + count if place < 0 else place


def split(
    data: Array, parts: Array | None = None, *, axis: int = 0, keepdims: bool = True
) -> list[Any]:
    """Split `data` along `axis` into a sequence.

    `parts` is a scalar (the size of each part; the last one may be smaller) or a list of sizes.
    Without it every part has size 1, and loses the axis unless `keepdims`.

    Raises:
        ValueError: when the sizes do not add up to the size of the axis.
    """
    total = data.shape[axis]
    if parts is None or parts.ndim == 0:
        size = 1 if parts is None else max(1, int(parts))
        budget.spend(total // size // 2, "splitting into a sequence")
    if parts is None:
        first = np.moveaxis(data, axis, 0)
        if keepdims:
            first = np.expand_dims(first, axis % data.ndim + 1)
        return [first[index, ...] for index in range(total)]
    if parts.ndim == 0:
        size = int(parts)
        if size < 1:
            raise ValueError(f"parts of size {size} do not add up to an axis of {total}")
        return np.split(data, range(size, total, size), axis=axis) if total else []
    if bool((parts < 0).any()) or int(parts.sum()) != total:
        raise ValueError(f"parts of {parts.tolist()} do not add up to an axis of {total}")
    return np.split(data, np.cumsum(parts)[:-1], axis=axis) if len(parts) else []


def concat(sequence: list[Array], *, axis: int, new_axis: bool) -> Array:
    """Concatenate all items along an existing axis, or stack them along a new one.

    Raises:
        ValueError: when the sequence is empty, because the result would have no type.
    """
    if not sequence:
        raise ValueError("the items of an empty sequence cannot be joined")
    return np.stack(sequence, axis=axis) if new_axis else np.concatenate(sequence, axis=axis)


def optional(value: Any = None) -> Any:
    """Return `value` as an optional: the value itself, or None for an empty optional."""
    return value


def has_element(value: Any = None) -> Array:
    """Return whether an optional holds a value; an empty optional is None.

    Any other argument, including a value that is not an optional, gives true. The result is a
    boolean array without axes.
    """
    return np.array(value is not None)


def get_element(value: Any) -> Any:
    """The value in an optional; a value that is not an optional is returned unchanged.

    Raises:
        ValueError: when the optional is empty.
    """
    if value is None:
        raise ValueError("the optional is empty")
    return value
