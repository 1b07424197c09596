"""Finds the roles of a model's inputs: numbers, indices, trip counts, conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from irloop.dialects.classes import classes_of
from irloop.dialects.onnx import control_flow as onnx_flow
from irloop.dialects.openvino import control_flow as openvino_flow
from irloop.graph.loops import Carried, Invariant
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Op
from irloop.graph.types import TensorType

__all__ = ["Role", "roles"]

_LOOPS = (openvino_flow.Loop, onnx_flow.Loop)
_BRANCHES = (openvino_flow.If, onnx_flow.If)

_GATHERS = classes_of("Gather")

Place = TypeVar("Place")


def _by_class(places: Mapping[str, Place]) -> dict[type[Op], Place]:
    return {cls: place for name, place in places.items() for cls in classes_of(name)}


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

#: Position of the indices, position of the data they point into.
_INDEXING = _by_class(
    {
        "EmbeddingBagOffsetsSum": (1, 0),
        "EmbeddingBagPackedSum": (1, 0),
        "EmbeddingSegmentsSum": (1, 0),
        "Gather": (1, 0),
        "GatherElements": (1, 0),
        "GatherND": (1, 0),
        "Scatter": (1, 0),
        "ScatterElements": (1, 0),
        "ScatterElementsUpdate": (1, 0),
        "ScatterND": (1, 0),
        "ScatterNDUpdate": (1, 0),
        "ScatterUpdate": (1, 0),
    }
)

#: Inputs that hold sequence lengths: the operation, the input, and the axis of the longest.
_LENGTHS = _by_class(
    {
        "GRU": (4, 0, 0),
        "GRUSequence": (2, 0, 1),
        "LSTM": (4, 0, 0),
        "LSTMSequence": (3, 0, 1),
        "RNN": (4, 0, 0),
        "RNNSequence": (2, 0, 1),
        "ReverseSequence": (1, 0, 1),
    }
)
_LENGTHS[onnx_flow.Scan8] = (0, -1, 1)

#: Inputs for which small positive numbers always make sense.
_SIZES = _by_class(
    {
        "Broadcast": (1,),
        "ConstantOfShape": (0,),
        "Expand": (1,),
        "OneHot": (1,),
        "Pad": (1, 2),
        "Range": (0, 1, 2),
        "Tile": (1,),
        "TopK": (1,),
    }
)


#: Inputs that hold lengths that must add up to the size of an axis.
_PARTS = _by_class({"Split": 1, "SplitToSequence": 1, "VariadicSplit": 2})


@dataclass(slots=True)
class Role:
    """The role of one input. `bound` is the smallest axis that it indexes.

    A `mask` is known by its name alone: in a model it is computed with like any other number.
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
        """Bound the input below `size`, if that is known."""
        if isinstance(size, int):
            self.bound = size if self.bound is None else min(self.bound, size)


def roles(model: Model) -> list[Role]:
    """The roles of the inputs of a model, in order."""
    return [_role(value) for value in model.graph.inputs]


def _role(value: Value) -> Role:
    role = Role()
    for node, position in _readers(value, _TRANSPARENT):
        _steer(role, node, position)
        _classify(role, node, position)
    if role == Role():
        # An input without another role that a trip count is computed from is a trip count.
        for node, position in _readers(value, (*_TRANSPARENT, *_COUNTING)):
            _steer(role, node, position)
        if not isinstance(value.type, TensorType) or not value.type.element.is_integer:
            role.trip = False
    names = (value.producer.name if value.producer else "", *value.names)
    role.mask = any("mask" in name.lower() for name in names)
    return role


def _steer(role: Role, node: Node, position: int) -> None:
    if isinstance(node.op, _LOOPS):
        role.trip |= position == 0
        role.condition |= position == 1
    elif isinstance(node.op, _BRANCHES):
        role.condition |= position == 0


def _classify(role: Role, node: Node, position: int) -> None:
    cls = type(node.op)
    if cls in _INDEXING and _INDEXING[cls][0] == position:
        role.index = True
        role.limit(_axis_size(node, _INDEXING[cls][1]))
    if cls in _LENGTHS and _LENGTHS[cls][0] == position:
        _, data, axis = _LENGTHS[cls]
        role.length = True
        role.limit(_size(node.inputs[data], axis))
    if cls in _PARTS and position == _PARTS[cls]:
        role.parts = True
        role.limit(_axis_size(node, 0))
    if cls in _SIZES and position in _SIZES[cls]:
        role.size = True


def _axis_size(node: Node, data: int) -> int | None:
    """The size of the axis that indices refer to; the smallest one if that is unclear."""
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
    """The nodes that read a value, through operations of some types and into bodies."""
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
