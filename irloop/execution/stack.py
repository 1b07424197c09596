"""Collects the parts that iterations add to a concatenated output.

A part is the value of one body result in one iteration. All parts of an output are written into one
array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irloop.dialects.loops import normal_axis
from irloop.execution.failure import StepError
from irloop.execution.program import Context
from irloop.graph.loops import Concatenated, ScanOutput
from irloop.graph.model import Node
from irloop.graph.types import ElementType, TensorType, ValueType

__all__ = ["Stack", "empty_value", "join", "nothing_joined"]

Array = np.ndarray[Any, np.dtype[Any]]

#: The number of parts to allocate first if the total is unknown.
FIRST_ROOM = 16


class Stack:
    """Collects parts of equal shape in one array [n, ...]."""

    __slots__ = ("_buffer", "_context", "_exact", "_name", "_node", "_shape")

    def __init__(self, node: Node, name: str, context: Context, exact: int | None) -> None:
        """Make an empty stack for the parts of output `name` of `node`.

        `exact` is the number of parts that will be added. If it is None, the number is not known,
        and the array grows when needed. `context` accounts for the memory.
        """
        self._node = node
        self._name = name
        self._context = context
        self._exact = exact
        self._buffer: Array | None = None
        self._shape: tuple[int, ...] = ()

    def add(self, index: int, part: Any) -> None:
        """Write part `index`; the parts must be added in the order of their indices.

        Raises:
            StepError: when the part has another shape than the first part, or memory is short.
        """
        buffer = self._buffer
        if buffer is None:
            buffer = self._first(part)
        if part.shape != self._shape:
            raise StepError(
                self._node,
                f"output {self._name!r} joins parts of different shapes",
                expected=f"{list(self._shape)} as in the first iteration",
                found=f"{list(part.shape)} in iteration {index}",
            )
        if index == len(buffer):
            self._buffer = self._room(2 * len(buffer), buffer.dtype)
            self._buffer[: len(buffer)] = buffer
            self._context.live -= buffer.nbytes
            buffer = self._buffer
        buffer[index] = part

    @property
    def complete(self) -> Array | None:
        """The array that receives all parts, if the number of parts is known in advance.

        None before the first part is added. Also None if the number is not known, because the array
        may then have to grow.
        """
        return None if self._exact is None else self._buffer

    def parts(self, count: int) -> Array:
        """Return the first `count` parts as one array [count, ...].

        At least one part must have been added.
        """
        buffer = self._buffer
        assert buffer is not None
        return buffer if len(buffer) == count else buffer[:count].copy()

    def _first(self, part: Any) -> Array:
        if not isinstance(part, np.ndarray | np.generic):
            raise StepError(self._node, f"output {self._name!r} joins values that are not tensors")
        self._shape = part.shape
        self._buffer = self._room(FIRST_ROOM if self._exact is None else self._exact, part.dtype)
        return self._buffer

    def _room(self, count: int, dtype: np.dtype[Any]) -> Array:
        size = count * dtype.itemsize
        for dim in self._shape:
            size *= dim
        self._context.check_memory(self._node, size)
        self._context.live += size
        try:
            return np.empty((count, *self._shape), dtype)
        except (MemoryError, ValueError) as error:
            raise StepError(
                self._node,
                f"no room for output {self._name!r}",
                found=f"{count} parts of {list(self._shape)}",
                limit=True,
            ) from error


def join(parts: Array, port: Concatenated | ScanOutput) -> Array:
    """Make an output of a loop from `parts` [n, ...], the values of its iterations.

    A `ScanOutput` stacks them along a new axis, a `Concatenated` joins them along an existing one.

    Raises:
        ValueError: when there is no such axis.
    """
    if isinstance(port, ScanOutput):
        ordered = parts[::-1] if port.reverse else parts
        return np.moveaxis(ordered, 0, _axis(port, parts.ndim))
    ordered = parts[::-1] if port.stride < 0 else parts
    if parts.ndim == 1:
        return ordered
    axis = _axis(port, parts.ndim - 1)
    shape = list(parts.shape[1:])
    shape[axis] *= parts.shape[0]
    return np.moveaxis(ordered, 0, axis).reshape(shape)


def nothing_joined(port: Concatenated | ScanOutput, type: ValueType) -> Array:
    """The output of a loop that ran zero times; unknown dimensions are 0.

    Raises:
        ValueError: when the output has no axis `port.axis`.
    """
    if not isinstance(type, TensorType) or type.shape.dims is None:
        return np.zeros((0,), _dtype(type))
    dims = [dim if isinstance(dim, int) else 0 for dim in type.shape.dims]
    if isinstance(port, ScanOutput):
        dims.insert(_axis(port, len(dims) + 1), 0)
    elif dims:
        dims[_axis(port, len(dims))] = 0
    else:
        dims = [0]
    return np.zeros(dims, _dtype(type))


def _axis(port: Concatenated | ScanOutput, rank: int) -> int:
    """The non-negative axis along which the parts of an output of this rank are concatenated."""
    axis = normal_axis(port.axis, rank)
    if not 0 <= axis < rank:
        raise ValueError(
            f"output {port.external} joins its parts along axis {port.axis}, "
            f"but it has only {rank} dimensions"
        )
    return axis


def empty_value(type: ValueType) -> Array:
    """Zeros of a declared shape; unknown dimensions are 0."""
    dims = type.shape.dims if isinstance(type, TensorType) else None
    known = (0,) if dims is None else dims
    return np.zeros([dim if isinstance(dim, int) else 0 for dim in known], _dtype(type))


def _dtype(type: ValueType) -> np.dtype[Any]:
    known = isinstance(type, TensorType) and type.element is not ElementType.DYNAMIC
    return type.element.numpy() if known and isinstance(type, TensorType) else np.dtype(np.float32)
