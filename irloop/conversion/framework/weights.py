"""Reshapes weights: a constant gets a new shape without a copy, other values get a Reshape."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irloop.conversion.framework.translation import Conversion
from irloop.graph.model import Value
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor, MappedTensor

__all__ = ["reshaped"]

Reshape = Callable[[Conversion, Value, Sequence[int]], Value]


def reshaped(c: Conversion, value: Value, dims: Sequence[int], reshape: Reshape) -> Value:
    """Reshape `value` to `dims`; a constant is reshaped without a Reshape node.

    The new constant keeps the bytes of the old one. Any other value gets the node `reshape`.
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
