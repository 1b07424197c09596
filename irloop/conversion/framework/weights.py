"""Reshapes weights: a constant gets a new shape without a copy, other values get a Reshape."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from irloop.conversion.framework.translation import Conversion
from irloop.dialects.classes import classes_of
from irloop.graph.builder import shape_of
from irloop.graph.model import Value
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor, ReshapedTensor, Tensor

__all__ = ["reshaped"]

#: The operations that compute weights from their codes.
_DECOMPRESSING = classes_of("Cast", "Convert", "Mul", "Multiply", "Sub", "Subtract")


def reshaped(c: Conversion, value: Value, dims: Sequence[int]) -> Value:
    """Reshape `value` to `dims`; a constant is reshaped without a Reshape node.

    The new constant keeps the bytes of the old one. If the first axes of compressed weights are
    merged, the constants from which they are computed are reshaped, so that they stay compressed.
    Any other value gets a Reshape.
    """
    op = value.producer.op
    if isinstance(op, Constant):
        return c.tensor(ReshapedTensor(op.tensor, tuple(dims)), f"{value.producer.name}/reshaped")
    before = shape_of(value).static()
    if before is not None and _is_decompressed(value):
        merged = len(before) - len(dims) + 1
        if merged > 1 and (math.prod(before[:merged]), *before[merged:]) == tuple(dims):
            return _merged(c, value, before, merged)
    return c.reshape(value, list(dims))


def _is_decompressed(value: Value) -> bool:
    """Return whether a value is computed from constants by decompression."""
    node = value.producer
    if isinstance(node.op, Constant):
        return True
    return isinstance(node.op, _DECOMPRESSING) and all(
        item is not None and _is_decompressed(item) for item in node.inputs
    )


def _merged(c: Conversion, value: Value, shape: tuple[int, ...], axes: int) -> Value:
    """Merge the first axes of the constants that broadcast to the shape `shape` of the weights."""
    node = value.producer
    if isinstance(node.op, Constant):
        return c.tensor(_merged_tensor(node.op.tensor, shape, axes), f"{node.name}/reshaped")
    return c(node.op, *(_merged(c, item, shape, axes) for item in node.inputs if item is not None))


def _merged_tensor(tensor: Tensor, shape: tuple[int, ...], axes: int) -> Tensor:
    dims = (*(1,) * (len(shape) - len(tensor.shape)), *tensor.shape)
    first, rest = dims[:axes], dims[axes:]
    if first not in (shape[:axes], (1,) * axes):
        wide = np.broadcast_to(tensor.numpy().reshape(dims), (*shape[:axes], *rest))
        tensor, first = ArrayTensor(np.ascontiguousarray(wide), tensor.element), shape[:axes]
    return ReshapedTensor(tensor, (math.prod(first), *rest))
