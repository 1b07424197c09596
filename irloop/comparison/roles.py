"""Finds the roles of a model's inputs: plain values, indices, trip counts, conditions.

The role of an input follows from the operations that read it. It determines which values can be
generated for the input, so that the model runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields

from irloop.analysis.operands import axes_of
from irloop.comparison.matching import input_positions
from irloop.dialects.classes import classes_of
from irloop.graph.loops import Carried, Invariant
from irloop.graph.meanings import (
    Axes,
    Condition,
    Ends,
    Indices,
    Lengths,
    NewShape,
    Parts,
    Portion,
    Resized,
    Sizes,
    Starts,
    TripCount,
)
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Op
from irloop.graph.types import LARGEST_RANK, TensorType

__all__ = ["Role", "roles"]

#: Operations that preserve the meaning of a value.
_TRANSPARENT = classes_of(
    "Cast",
    "Concat",
    "Convert",
    "Expand",
    "Flatten",
    "Identity",
    "Maximum",
    "Max",
    "Reshape",
    "Select",
    "Slice",
    "Squeeze",
    "StridedSlice",
    "Tile",
    "Transpose",
    "Unsqueeze",
    "Where",
)

#: Operations that compute one trip count or condition from another.
_COUNTING = classes_of(
    "Add",
    "And",
    "Div",
    "Divide",
    "Gather",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "Min",
    "Minimum",
    "Mul",
    "Multiply",
    "Not",
    "Or",
    "ReduceMax",
    "ReduceMin",
    "ReduceSum",
    "Sub",
    "Subtract",
)


@dataclass(slots=True)
class Role:
    """What a model uses one input for, such as a trip count, a condition, an index or a size.

    All values of the input must be less than `bound`; None means that no bound is known. `mask` is
    true if the name of the input contains "mask". The name is the only clue, because models compute
    with a mask as with any other input.
    """

    trip: bool = False
    condition: bool = False
    index: bool = False
    length: bool = False
    size: bool = False
    parts: bool = False
    mask: bool = False
    portion: bool = False
    start: bool = False
    end: bool = False
    new_shape: bool = False
    #: The numbers of the axes from which an input may choose; None unless it holds axes.
    axes: tuple[int, ...] | None = None
    #: The sizes of the image that the input resizes; None unless it holds sizes or factors.
    image: tuple[int | None, ...] | None = None
    bound: int | None = None

    def joined(self, other: Role) -> Role:
        """Make the role of an input that two models use: both restrict its values."""
        bounds = [item.bound for item in (self, other) if item.bound is not None]
        return Role(
            **{
                item.name: getattr(self, item.name) or getattr(other, item.name)
                for item in fields(Role)
                if item.name != "bound"
            },
            bound=min(bounds, default=None),
        )

    def limit(self, size: object) -> None:
        """Limit the values of the input to less than `size`, if `size` is known."""
        if isinstance(size, int):
            self.bound = size if self.bound is None else min(self.bound, size)


def roles(model: Model, twin: Model | None = None) -> list[Role]:
    """The roles of the inputs of a model, in order.

    `twin` is a model with the same inputs; what it uses them for counts, too.
    """
    found = [_role(value) for value in model.graph.inputs]
    if twin is None:
        return found
    others = [_role(value) for value in twin.graph.inputs]
    places = input_positions(model.graph, twin.graph)
    return [
        role if at is None else role.joined(others[at])
        for role, at in zip(found, places, strict=True)
    ]


def _role(value: Value) -> Role:
    role = Role()
    for node, position in _readers(value, _TRANSPARENT):
        _mark_loop_roles(role, node, position)
        _classify(role, value, node, position)
    if role == Role():
        # An input without another role is a trip count if the model computes a trip count from it.
        for node, position in _readers(value, (*_TRANSPARENT, *_COUNTING)):
            _mark_loop_roles(role, node, position)
        if not isinstance(value.type, TensorType) or not value.type.element.is_integer:
            role.trip = False
    names = (value.producer.name if value.producer else "", *value.names)
    role.mask = any("mask" in name.lower() for name in names)
    return role


def _mark_loop_roles(role: Role, node: Node, position: int) -> None:
    role.trip |= TripCount(position) in node.op.meanings
    role.condition |= Condition(position) in node.op.meanings


def _classify(role: Role, value: Value, node: Node, position: int) -> None:
    for meaning in node.op.meanings:
        if meaning.position != position:
            continue
        match meaning:
            case Indices(_, data):
                role.index = True
                role.limit(_axis_size(node, data))
            case Lengths(_, data, axis):
                role.length = True
                role.limit(_size(node.inputs[data], axis))
            case Parts():
                role.parts = True
                role.limit(_axis_size(node, 0))
            case Sizes():
                role.size = True
            case Portion():
                role.portion = True
            case Starts(_, data):
                role.start = True
                role.limit(_axis_size(node, data))
            case Ends(_, data):
                role.end = True
                role.limit(_axis_size(node, data))
            case NewShape():
                # A part of a shape is a size.
                is_whole = _dims(node.inputs[position]) == _dims(value)
                role.new_shape |= is_whole
                role.size |= not is_whole
            case Axes(_, data):
                role.axes = _axes(node, meaning)
            case Resized(_, data):
                role.image = _dims(node.inputs[data])


def _axes(node: Node, meaning: Axes) -> tuple[int, ...]:
    """The numbers of the axes that an input of a node may name."""
    dims = _dims(node.inputs[meaning.data])
    if meaning.single:
        return tuple(axis for axis, dim in enumerate(dims) if dim == 1) or (0,)
    own = node.inputs[meaning.position]
    count = math.prod(dim or 1 for dim in _dims(own)) if meaning.new else 0
    return tuple(range(max(1, min(len(dims) + count, LARGEST_RANK))))


def _axis_size(node: Node, data: int) -> int | None:
    """Return the number of elements on the axis that the indices of `node` refer to.

    `data` is the position of the input that is indexed. If there are several axes, or if they are
    not known, the result is the smallest known size. None means that no size is known.
    """
    value = node.inputs[data]
    axis = getattr(node.op, "axis", None)
    if isinstance(axis, int):
        return _size(value, axis)
    dims = _dims(value)
    axes = axes_of(node)
    known = [dims[axis] for axis in axes or range(len(dims)) if -len(dims) <= axis < len(dims)]
    return min((dim for dim in known if dim is not None), default=None)


def _size(value: Value | None, axis: int) -> int | None:
    dims = _dims(value)
    return dims[axis] if -len(dims) <= axis < len(dims) else None


def _dims(value: Value | None) -> tuple[int | None, ...]:
    """The sizes of a tensor, None where a size is unknown; empty if the rank is unknown."""
    dims = value.type.shape.dims if value and isinstance(value.type, TensorType) else None
    return tuple(dim if isinstance(dim, int) else None for dim in dims or ())


def _readers(value: Value, through: tuple[type[Op], ...]) -> Iterator[tuple[Node, int]]:
    """Yield each node that reads a value, with the position of the input that reads it.

    Nodes that read the value through operations of the types `through` are included, and so are
    nodes in bodies.
    """
    pending, seen = [value], {value}
    while pending:
        for node, position in pending.pop().uses:
            yield node, position
            for next_value in _onward(node, position, through):
                if next_value not in seen:
                    seen.add(next_value)
                    pending.append(next_value)


def _onward(node: Node, position: int, through: tuple[type[Op], ...]) -> Iterator[Value]:
    if isinstance(node.op, through):
        yield from node.outputs
    for body in node.bodies:
        for port in body.ports.inputs:
            if port.external == position and isinstance(port, Invariant | Carried):
                yield body.graph.parameters[port.parameter].outputs[0]
