"""Describes how a loop slices an input, in a representation that both formats share."""

from __future__ import annotations

from typing import NamedTuple

from irloop.analysis.operands import known
from irloop.comparison.causes.gathered import Gathered
from irloop.dialects.classes import classes_of
from irloop.dialects.loops import from_front, normal_axis
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.builder import integers_of, shape_of
from irloop.graph.loops import ScanInput, Sliced
from irloop.graph.model import Node, Value
from irloop.graph.types import Shape

__all__ = ["Way", "is_backwards", "turned_before", "way_of"]

_SLICES = classes_of("Slice", "StridedSlice")


class Way(NamedTuple):
    """How a loop slices a tensor along an axis, in a form that is the same for all formats.

    Each slice has `part` elements, and each starts `step` elements after the slice before it.
    `first` is the index where the first slice begins; a negative index counts from the end, and
    None means unknown. `range` holds the bounds from the port map, the lower bound first, or None
    if there are no bounds. `turned` is true if the tensor is reversed before the loop; `step` and
    `first` then refer to the tensor before the reversal.
    """

    axis: int
    step: int
    part: int
    first: int | None
    range: tuple[int, int] | None
    turned: bool = False

    @property
    def is_whole(self) -> bool:
        """Return whether the slices begin at one end of the axis and go on to the other end."""
        if self.range is not None:
            return self.range == (0, -1)
        return self.first == (0 if self.step > 0 else -self.part)

    def of_turned(self) -> Way:
        """Convert a way of slicing a reversed tensor to one of slicing the original tensor."""
        first = -self.part if self.step > 0 else 0
        return self._replace(step=-self.step, first=first, turned=True)

    def agrees(self, other: Way) -> bool:
        if (self.axis, self.step, self.part) != (other.axis, other.step, other.part):
            return False
        if self.range is not None and other.range is not None:
            return self.range == other.range
        return None in (self.first, other.first) or self.first == other.first

    def __str__(self) -> str:
        is_backwards = (self.step < 0) != self.turned
        words = f"along axis {self.axis}, " + ("backwards" if is_backwards else "forwards")
        words += f" in steps of {abs(self.step)}" if abs(self.step) != 1 else ""
        words += f" in parts of {self.part}" if self.part != 1 else ""
        if self.turned:
            return words + ", after it is reversed"
        if self.is_whole or (self.range is None and self.first is None):
            return words
        if self.range is not None:
            return words + f" from {self.range[0]} to {self.range[1]}"
        return words + f" from {self.first}"


def way_of(port: Sliced | ScanInput | Gathered, source: Value | None) -> Way:
    """Describe how a port takes slices of the outer value `source`."""
    shape = None if source is None else shape_of(source)
    if isinstance(port, Gathered):
        first = port.first
        if first is not None and port.stride < 0:
            first = _from_end(first, shape, port.axis)
        return Way(port.axis, port.stride, port.part_size, first, None)
    port = from_front(port, None if shape is None else shape.rank)
    if isinstance(port, ScanInput):
        return Way(port.axis, -1 if port.reverse else 1, 1, -1 if port.reverse else 0, (0, -1))
    if port.stride > 0:
        first = port.start if port.start >= 0 else None
        return Way(port.axis, port.stride, port.part_size, first, (port.start, port.end))
    first = port.start + port.stride + (1 if port.start < 0 else 0)
    first = _from_end(first, shape, port.axis)
    return Way(port.axis, port.stride, port.part_size, first, (port.end, port.start))


def _from_end(index: int, shape: Shape | None, axis: int) -> int | None:
    """Convert an index on `axis` to a negative one, which counts from the end.

    Returns None if this needs the size of the axis and the size is not known.
    """
    if index < 0:
        return index
    size = None if shape is None or shape.rank is None or axis >= shape.rank else shape.dim(axis)
    return index - size if isinstance(size, int) else None


def is_backwards(node: Node) -> bool:
    """Return whether a Slice has the constant step -1."""
    return _constant(node, 4 if isinstance(node.op, OnnxOp) else 3) == [-1]


def turned_before(value: Value, axis: int) -> Value | None:
    """If `value` is a Slice that reverses `axis`, return the input of this Slice, else None.

    Conversion adds such a Slice before a Loop that can only slice forwards, if the original loop
    slices the input backwards.
    """
    node = value.producer
    axes = 3 if isinstance(node.op, OnnxOp) else 4
    if not isinstance(node.op, _SLICES) or not is_backwards(node):
        return None
    given = _constant(node, axes)
    rank = shape_of(value).rank
    if given is None or [normal_axis(item, rank) for item in given] != [axis]:
        return None
    return node.inputs[0]


def _constant(node: Node, place: int) -> list[int] | None:
    """The numbers in input `place` of an operation; None if the input is not constant."""
    return integers_of(node.inputs[place] if place < len(node.inputs) else None, known)
