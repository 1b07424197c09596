"""Represents an optional that may be empty: a value, and a boolean that tells whether it counts."""

from __future__ import annotations

import numpy as np

from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import Converted
from irloop.conversion.framework.virtual_values import Maybe
from irloop.conversion.loops.varying_items import made_from
from irloop.dialects.onnx import sequence
from irloop.dialects.wire_ends import Entering
from irloop.dialects.wires import Wires
from irloop.graph.model import Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import (
    UNKNOWN_TYPE,
    ElementType,
    OptionalType,
    TensorType,
    ValueType,
    widen_types,
)

__all__ = ["contents", "with_flag"]


def contents(source: Wires, state: Entering) -> tuple[ValueType, bool]:
    """What the body of a loop makes of an optional state.

    Returns the type of the values with which it may fill the optional, and whether it may empty it.
    """
    pending, seen = [state.following], set[Value]()
    filling: ValueType | None = None
    empties = False
    while pending:
        value = pending.pop()
        if value in seen or not isinstance(value.type, OptionalType):
            continue
        seen.add(value)
        behind = made_from(value.producer, value, source)
        if isinstance(value.producer.op, sequence.Optional):
            empties = empties or not behind
            for content in behind:
                filling = content.type if filling is None else widen_types(filling, content.type)
        pending += behind
    return (UNKNOWN_TYPE if filling is None else filling), empties


def with_flag(
    c: Import, value: Converted, type: ValueType, *, otherwise: Value | None = None
) -> Maybe | None:
    """Return an optional tensor, or a tensor, as a value and a boolean.

    An empty optional gets the value `otherwise`, or zeros of its `type`, in which unknown sizes are
    0. The result is None if it holds no tensor, or if not enough is known of its type.
    """
    held, filled = (value.item, value.filled) if isinstance(value, Maybe) else (value, None)
    if held is None and otherwise is None:
        otherwise = _zeros(c, type)
    held = otherwise if held is None else held
    if not isinstance(held, Value):
        return None
    if filled is None:
        is_empty = isinstance(value, Maybe) and value.item is None
        filled = c.constant(not is_empty, ElementType.BOOLEAN)
    return Maybe(held, filled)


def _zeros(c: Import, type: ValueType) -> Value | None:
    if not isinstance(type, TensorType) or type.shape.dims is None:
        return None
    if type.element in (ElementType.DYNAMIC, ElementType.STRING):
        return None
    dims = [dim if isinstance(dim, int) else 0 for dim in type.shape.dims]
    return c.tensor(ArrayTensor(np.zeros(dims, type.element.numpy()), type.element))
