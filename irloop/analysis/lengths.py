"""Recognises lengths of sequences that end where the axis of time ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from irloop.analysis.free_sizes import Place, size_given_by
from irloop.analysis.operands import integers_in, known
from irloop.analysis.patterns import same_shape_source
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.shape import Broadcast3, Reshape, Squeeze, Transpose, Unsqueeze
from irloop.graph.builder import shape_of
from irloop.graph.model import Value

if TYPE_CHECKING:
    import numpy as np

__all__ = ["reach_the_end"]

#: The operations that only repeat elements, or change their type or the shape.
_SAME_ELEMENTS = (Broadcast3, Convert, Reshape, Squeeze, Unsqueeze)


def reach_the_end(
    lengths: Value, data: Value, constant: Callable[[Value], np.ndarray[Any, Any] | None] = known
) -> bool:
    """Return whether the lengths of all items of `data` [batch, time, ...] are known to reach its
    end.

    `constant` returns the elements of a constant. Lengths that are the size of the time axis,
    broadcast to the items, are recognised, too.
    """
    steps = shape_of(data).dim(1)
    while isinstance(lengths.producer.op, _SAME_ELEMENTS):
        source = lengths.producer.inputs[0]
        assert source is not None, "a required input is connected"
        lengths = source
    numbers = constant(lengths)
    if numbers is not None:
        return isinstance(steps, int) and steps > 0 and bool((numbers >= steps).all())
    if shape_of(lengths).count() != 1:
        return False
    return any(_origin(*place) == _origin(data, 1) for place in size_given_by(lengths, 0) or ())


def _origin(value: Value, axis: int) -> Place:
    """The value, and its axis, that gives `value` its size at `axis`."""
    while True:
        source = same_shape_source(value)
        node = source.producer
        order = integers_in(node.inputs[1]) if isinstance(node.op, Transpose) else []
        if not order or node.inputs[0] is None:
            return source, axis
        value, axis = node.inputs[0], order[axis]
