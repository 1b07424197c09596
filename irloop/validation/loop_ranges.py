"""The trip count of a TensorIterator, which OpenVINO computes in two different ways.

Shape inference and the CPU plugin use different formulas. `executed` is the number of iterations
that really run; the declared shapes follow `inferred_*`.
"""

from __future__ import annotations

from irloop.formats.openvino.port_map_reader import Entry, Wiring
from irloop.validation.context import Context

__all__ = [
    "axis_size",
    "bounds",
    "executed",
    "has_agreeing_form",
    "has_wrong_direction",
    "inferred_output",
    "is_full",
    "is_sound",
    "iterations",
    "output_size",
]


def is_sound(entry: Entry) -> bool:
    """Return whether the axis, stride and part size of a range are valid."""
    return entry.axis is not None and entry.stride != 0 and entry.part_size > 0


def axis_size(context: Context, wiring: Wiring, entry: Entry) -> int | None:
    """The size of the axis along which an outer input is sliced, or None if it is unknown."""
    dims = context.external(wiring, entry.position).dims
    if dims is None or entry.axis is None or not -len(dims) <= entry.axis < len(dims):
        return None
    return dims[entry.axis]


def bounds(entry: Entry, size: int) -> tuple[int, int]:
    """The half-open range [low, high) of an entry on an axis of this size.

    A negative start or end counts from the end: -1 means `size`.
    """
    start = entry.start if entry.start >= 0 else size + 1 + entry.start
    end = entry.end if entry.end >= 0 else size + 1 + entry.end
    return (end, start) if entry.reverse else (start, end)


def executed(entry: Entry, size: int) -> int | None:
    """Return the trip count that the range of an entry yields on an axis of `size` elements.

    This is the length of the range divided by the stride: 3 for the range from 0 to 6 with stride
    2. None means that the range is invalid: it is empty, leaves the axis, or is no multiple of the
    stride.
    """
    low, high = bounds(entry, size)
    step = abs(entry.stride)
    if not 0 <= low < high <= size or (high - low) % step:
        return None
    return (high - low) // step


def inferred_output(entry: Entry) -> int:
    """Return the trip count that OpenVINO's shape inference derives from a concatenated output.

    It is the length of the output's range divided by the part size: 3 for the range from 0 to 6
    with parts of 2. Shape inference uses this trip count only if the loop has no sliced input.
    """
    return abs(entry.end - entry.start) // entry.part_size


def has_wrong_direction(entry: Entry) -> bool:
    """Return whether an entry has a negative stride but a range that runs forward.

    The range runs forward if start >= 0 and end < 0. The defaults (0 and -1) are such a range.
    """
    return entry.reverse and entry.start >= 0 and entry.end < 0


def has_agreeing_form(entry: Entry) -> bool:
    """Return whether two parts of OpenVINO agree on the trip count that an entry leads to.

    The two are shape inference and the CPU plugin. They agree for every size of the axis if the
    entry slices forwards with start >= 0 and end < 0, or backwards with start < 0 and end >= 0.
    """
    if entry.reverse:
        return entry.start < 0 <= entry.end
    return entry.end < 0 <= entry.start


def is_full(entry: Entry, size: int | None) -> bool:
    """Return whether the range of an entry covers the whole axis, which has `size` elements.

    If the size is unknown (None), only the range 0 to -1 (with a negative stride: -1 to 0) is known
    to cover the whole axis.
    """
    if size is not None:
        return bounds(entry, size) == (0, size)
    return (entry.start, entry.end) == ((-1, 0) if entry.reverse else (0, -1))


def output_size(context: Context, wiring: Wiring, entry: Entry) -> int | None:
    """Compute the size of a concatenated output's axis from the trip count of the loop.

    The trip count comes from the sliced inputs or, if there are none, from the range of the output
    itself. Returns None if it is not known.
    """
    sliced = [item for item in wiring.sliced if is_sound(item)]
    if not wiring.sliced:
        return inferred_output(entry) * entry.part_size
    for item in sliced:
        size = axis_size(context, wiring, item)
        count = None if size is None else executed(item, size)
        if count is not None:
            return count * entry.part_size
    return None


def iterations(context: Context, wiring: Wiring) -> list[tuple[Entry, int]]:
    """Return the sliced and concatenated entries of a TensorIterator with their trip counts.

    The trip count of an entry follows from its range. Entries with an unknown trip count are left
    out.
    """
    counts = []
    for entry in wiring.sliced:
        size = axis_size(context, wiring, entry) if is_sound(entry) else None
        count = None if size is None else executed(entry, size)
        if count is not None:
            counts.append((entry, count))
    for entry in wiring.concatenated:
        size = output_size(context, wiring, entry) if is_sound(entry) else None
        count = None if size is None else executed(entry, size)
        if count is not None:
            counts.append((entry, count))
    return counts
