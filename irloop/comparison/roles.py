"""Finds the roles of a model's inputs: plain values, indices, trip counts, conditions.

The role of an input follows from the operations that read it. It determines which values can be
generated for the input, so that the model runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from irloop.dialects.classes import classes_of
from irloop.graph.loops import Carried, Invariant
from irloop.graph.meanings import Condition, Indices, Lengths, Parts, Sizes, TripCount
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Op
from irloop.graph.types import TensorType

__all__ = ["Role", "roles"]

_GATHERS = classes_of("Gather")

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
    bound: int | None = None

    def limit(self, size: object) -> None:
        """Limit the values of the input to less than `size`, if `size` is known."""
        if isinstance(size, int):
            self.bound = size if self.bound is None else min(self.bound, size)


def roles(model: Model) -> list[Role]:
    """The roles of the inputs of a model, in order."""
    return [_role(value) for value in model.graph.inputs]


def _role(value: Value) -> Role:
    role = Role()
    for node, position in _readers(value, _TRANSPARENT):
        _mark_loop_roles(role, node, position)
        _classify(role, node, position)
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


def _classify(role: Role, node: Node, position: int) -> None:
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


def _axis_size(node: Node, data: int) -> int | None:
    """Return the number of elements on the axis that the indices of `node` refer to.

    `data` is the position of the input that is indexed. If the axis is not known, the result is the
    smallest known size of any axis. None means that the size is not known.
    """
    axis = getattr(node.op, "axis", None)
    if not isinstance(axis, int) and len(node.inputs) > 2 and isinstance(node.op, _GATHERS):
        producer = node.inputs[2].producer if node.inputs[2] is not None else None
        tensor = getattr(producer.op, "tensor", None) if producer is not None else None
        axis = int(tensor.numpy().reshape(-1)[0]) if tensor is not None else None
    value = node.inputs[data]
    if isinstance(axis, int):
        return _size(value, axis)
    dims = value.type.shape.dims if value and isinstance(value.type, TensorType) else None
    known = [dim for dim in dims or () if isinstance(dim, int)]
    return min(known, default=None)


def _size(value: Value | None, axis: int) -> int | None:
    dims = value.type.shape.dims if value and isinstance(value.type, TensorType) else None
    if dims is None or not -len(dims) <= axis < len(dims):
        return None
    dim = dims[axis]
    return dim if isinstance(dim, int) else None


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
