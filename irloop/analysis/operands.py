"""Looks at the nodes that compute and read values of ONNX graphs, to match several nodes as one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from irloop.dialects.classes import classes_of
from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.onnx.gather import Gather
from irloop.graph.builder import element_of, integers_of
from irloop.graph.meanings import Axes
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Op
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

SHAPES = classes_of("Shape")

__all__ = [
    "axes_of",
    "inputs_of",
    "integers_in",
    "is_length_of",
    "known",
    "only_reader",
    "single_number",
]


def inputs_of(value: Value, op: type[Op]) -> tuple[Value, ...] | None:
    """The inputs of the node that computes `value`, if it is an `op` without omitted inputs.

    The result is None for any other node.
    """
    node = value.producer
    if not isinstance(node.op, op):
        return None
    found = tuple(item for item in node.inputs if item is not None)
    return found if len(found) == len(node.inputs) else None


def known(value: Value | None) -> Array | None:
    """Return the array that `value` holds if it is a constant, or None.

    A Cast of constant integers to f32 counts as a constant; its array is f32.
    """
    if value is None:
        return None
    if isinstance(value.producer.op, Constant):
        return value.producer.op.tensor.numpy()
    cast = inputs_of(value, Cast6)
    if cast is None or element_of(value) is not ElementType.F32:
        return None
    op = cast[0].producer.op
    if not isinstance(op, Constant) or not op.tensor.element.is_integer:
        return None
    return op.tensor.numpy().astype("float32")


def axes_of(node: Node, constant: Callable[[Value], Array | None] = known) -> list[int] | None:
    """The axes in an attribute or an input of a node; None if they are left out or computed.

    `constant` tells what it knows of an input.
    """
    named = getattr(node.op, "axes", None)
    if named is not None:
        return list(named)
    place = next((each.position for each in node.op.meanings if isinstance(each, Axes)), None)
    if place is None or place >= len(node.inputs):
        return None
    return integers_of(node.inputs[place], constant)


def single_number(value: Value | None) -> float | None:
    """The number in a one-element constant; None for other values."""
    array = known(value)
    return None if array is None or array.size != 1 else float(array.reshape(()))


def integers_in(value: Value | None) -> list[int]:
    """The integers in a constant; empty for other values."""
    return integers_of(value, known) or []


def is_length_of(count: Value, value: Value, axis: int) -> bool:
    """Return whether a number is computed as the size of a value along an axis."""
    gathered = inputs_of(count, Gather)
    if gathered is None or integers_in(gathered[1]) != [axis]:
        return False
    return isinstance(gathered[0].producer.op, SHAPES) and gathered[0].producer.inputs[0] is value


def only_reader(value: Value) -> Node | None:
    """The only reader of a value; None if there are several or none."""
    return value.uses[0][0] if len(value.uses) == 1 else None
