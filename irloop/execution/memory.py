"""Predicts the memory that an operation will allocate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from irloop import budget
from irloop.errors import IrloopError
from irloop.graph.cost import is_known
from irloop.graph.inference import FOLD_LIMIT, Inference, NodeArguments
from irloop.graph.model import Node, Value
from irloop.graph.op import UnknownOp
from irloop.graph.types import (
    UNKNOWN_TYPE,
    Dim,
    ElementType,
    SequenceType,
    Shape,
    TensorType,
    ValueType,
    element_type_of,
)
from irloop.kernels.work import MADE, OBJECTS

__all__ = [
    "expands",
    "owned_bytes",
    "room_needed",
    "static_bytes",
    "temporaries",
    "type_of",
    "value_bytes",
]

Array = np.ndarray[Any, np.dtype[Any]]

#: No element of an output takes more bytes than this.
_WIDEST = 16

#: The bytes of an element of an array of strings, without the string itself.
_A_STRING = 8

#: Temporaries of fewer bytes are not counted.
_FEW_BYTES = 32 << 20


def expands(node: Node) -> bool:
    """Return whether the size of the output is not bounded by the sizes of the inputs."""
    return node.op.expands or not is_known(node)


def owned_bytes(value: Any) -> int:
    """The number of bytes that a value owns; 0 for a view of another array."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            return value.nbytes + sum(len(item) for item in value.flat if isinstance(item, str))
        return value.nbytes if value.base is None else 0
    if isinstance(value, list):
        return sum(owned_bytes(item) for item in value)
    return 0


def static_bytes(types: list[ValueType]) -> int | None:
    """The bytes that values of these types take; None if the size of one is not known."""
    total = 0
    for tensor in types:
        count = tensor.shape.count() if isinstance(tensor, TensorType) else None
        if count is None or not isinstance(tensor, TensorType) or tensor.element.bits == 0:
            return None
        total += count * max(1, tensor.element.bits // 8)
    return total


def type_of(value: Any) -> ValueType:
    """The type of an existing value."""
    if value is None:
        return UNKNOWN_TYPE
    if isinstance(value, list):
        return SequenceType(type_of(value[0]) if value else UNKNOWN_TYPE)
    return TensorType(element_type_of(value.dtype), Shape(tuple(map(int, value.shape))))


def room_needed(node: Node, values: list[Any], allowed: int | None) -> int:
    """Return the bytes that the outputs of `node` will take, or 0 if no check is needed.

    `values` are the inputs of the node. `allowed` is the memory limit in bytes, or None for no
    limit. No check is needed if there is no limit, if the outputs are certainly small compared to
    it, or if the node has bodies or an unknown operation.
    """
    if allowed is None or node.bodies or isinstance(node.op, UnknownOp):
        return 0
    if not expands(node) and _product(values) * _WIDEST <= allowed // 16:
        return 0
    return _inferred(node, values)


def temporaries(node: Node, values: list[Any], size: int) -> int:
    """An estimate of the temporary bytes that a kernel takes besides its outputs of `size` bytes.

    The result is 0 if the bytes are few. Most kernels hold one temporary array that is as large as
    their largest operand or output. Kernels that only move elements, and elementwise kernels of two
    operands, hold none.
    """
    op = node.op
    if op.cost == "parts" or op.reshapes or node.bodies or (op.elementwise and len(values) > 1):
        return 0
    for value in values:
        if isinstance(value, np.ndarray) and value.nbytes > size:
            size = value.nbytes
    return size if size > _FEW_BYTES else 0


def _product(values: list[Any]) -> int:
    total = 1
    for value in values:
        if isinstance(value, np.ndarray):
            total *= max(1, value.size)
    return total


def _inferred(node: Node, values: list[Any]) -> int:
    try:
        types = node.op.infer(_Given(node, values))
    except (IrloopError, ValueError):
        # The kernel reports the error, in more detail than this estimate could.
        return 0
    strings = sum(map(_strings_of, types))
    if strings:
        budget.current().afford(strings * _A_STRING * OBJECTS // MADE, "running the model")
    return static_bytes(types) or strings * _A_STRING


def _strings_of(type: ValueType) -> int:
    """Return the number of elements of a string tensor.

    Returns 0 if its shape is not known, and for all types other than string tensors.
    """
    if not isinstance(type, TensorType) or type.element is not ElementType.STRING:
        return 0
    return type.shape.count() or 0


class _Given(NodeArguments):
    """Arguments for type inference of a node whose input values are all known.

    The types and constants are those of the values.
    """

    __slots__ = ("_values",)

    def __init__(self, node: Node, values: list[Any]) -> None:
        super().__init__(node, Inference())
        self._values = values
        self.types = tuple(None if value is None else type_of(value) for value in values)

    def constant(self, position: int) -> Array | None:
        value = self._values[position] if position < len(self._values) else None
        if not isinstance(value, np.ndarray | np.generic) or value.size > FOLD_LIMIT:
            return None
        return np.asarray(value)

    def dims(self, position: int) -> tuple[Dim, ...] | None:
        array = self.constant(position)
        if array is None or array.dtype.kind not in "iu" or array.ndim > 1:
            return None
        return tuple(int(item) for item in array.reshape(-1))


def value_bytes(types: Mapping[Value, ValueType], values: tuple[Value, ...]) -> int | None:
    """The bytes that the outputs of a node take in total; None if inference does not know them."""
    return static_bytes([types.get(value, value.type) for value in values])
