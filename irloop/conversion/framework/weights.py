"""Reshapes weights without copying constant ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irloop.conversion.framework.translation import Conversion
from irloop.graph.model import Value
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor, MappedTensor

__all__ = ["reshaped"]

Reshape = Callable[[Conversion, Value, Sequence[int]], Value]


def reshaped(c: Conversion, value: Value, dims: Sequence[int], reshape: Reshape) -> Value:
    """Reshape `value`: a constant keeps its bytes and gets a new shape, any other value gets a
    Reshape.
    """
    op = value.producer.op
    if not isinstance(op, Constant):
        return reshape(c, value, list(dims))
    tensor = op.tensor
    name = f"{value.producer.name}/reshaped"
    if isinstance(tensor, MappedTensor):
        window = MappedTensor(tensor.file, tensor.offset, tensor.element, tuple(dims))
        return c.tensor(window, name)
    return c.tensor(ArrayTensor(tensor.numpy().reshape(tuple(dims)), tensor.element), name)
