"""Tells which values, constants and types of operations of two models correspond."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np

from irloop.comparison import weights
from irloop.comparison.measure import Tolerance
from irloop.comparison.pairing import agree
from irloop.dialects.classes import classes_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, UnknownOp

__all__ = [
    "apart",
    "attribute_changes",
    "constants_agree",
    "content",
    "handed_on",
    "may_correspond",
    "origin",
]

#: Operations that only change shape, order or element type of their first input.
_HANDED_ON = classes_of("Cast", "Convert", "Identity", "Reshape", "Squeeze", "Unsqueeze")
_MAXIMUM = classes_of("Max", "Maximum")

#: Types of the two formats that compute the same but have different names.
_ALIASES = {
    "add": "sum",
    "mul": "multiply",
    "sub": "subtract",
    "div": "divide",
    "pow": "power",
    "max": "maximum",
    "min": "minimum",
    "cast": "convert",
    "and": "logicaland",
    "or": "logicalor",
    "not": "logicalnot",
    "xor": "logicalxor",
    "greaterorequal": "greaterequal",
    "lessorequal": "lessequal",
    "neg": "negative",
    "where": "select",
}

#: Types that have the same name in both formats, so that two different ones compute different
#: things.
_SHARED = frozenset(
    {
        "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceiling", "cos", "cosh", "elu",
        "equal", "erf", "exp", "floor", "greater", "hardsigmoid", "less", "log", "matmul", "mish",
        "relu", "selu", "sigmoid", "sign", "sin", "sinh", "softmax", "softplus", "softsign",
        "sqrt", "tan", "tanh", "reducemax", "reducemin", "reducesum", "reducemean", "reduceprod",
    }
)  # fmt: skip


def may_correspond(first: str, second: str) -> bool:
    """False where the types of two formats are known to compute different things."""
    left, right = (_ALIASES.get(name.lower(), name.lower()) for name in (first, second))
    known = _SHARED | set(_ALIASES.values())
    return left == right or not (left in known and right in known)


def origin(value: Value) -> Value:
    """The value from which operations of data movement produced this value."""
    while (source := handed_on(value)) is not None:
        value = source
    return value


def handed_on(value: Value) -> Value | None:
    """The operand whose elements an operation passes on; None if it computes new elements."""
    inputs, op = value.producer.inputs, value.producer.op
    # The maximum of a value and itself avoids a fault of OpenVINO (body_barriers).
    is_barrier = isinstance(op, _MAXIMUM) and len(inputs) > 1 and inputs[0] is inputs[1]
    return inputs[0] if inputs and (isinstance(op, _HANDED_ON) or is_barrier) else None


def constants_agree(first: Constant, second: Constant, tolerance: Tolerance) -> bool:
    left, right = first.tensor, second.tensor
    if left.type == right.type:
        return weights.digest(left) == weights.digest(right) or agree(
            left.numpy(), right.numpy(), tolerance
        )
    return agree(left.numpy(), right.numpy(), tolerance)


def apart(first: Constant, second: Constant) -> str:
    left, right = first.tensor.numpy(), second.tensor.numpy()
    if left.size == right.size == 1:
        return f"{right.reshape(-1)[0]}, not {left.reshape(-1)[0]}"
    if left.dtype != right.dtype or left.size != right.size:
        return f"{second.tensor.type}, not {first.tensor.type}"
    left, right = left.reshape(-1), right.reshape(-1)
    unequal = np.flatnonzero(left != right)
    if not unequal.size:
        return "in bits only"
    worst = int(unequal[0])
    return (
        f"{unequal.size} of {left.size} elements differ, the first is {right[worst]}, "
        f"not {left[worst]}"
    )


def content(value: Value | None) -> str:
    if value is None:
        return "absent"
    if isinstance(value.producer.op, Constant) and value.producer.op.tensor.count == 1:
        return str(value.producer.op.tensor.numpy().reshape(-1)[0])
    return f"`{value.name}`"


def attribute_changes(first: Node, second: Node) -> Iterator[tuple[str, Any, Any]]:
    """The attributes in which two operations of one class differ, with both values."""
    if isinstance(first.op, UnknownOp) or type(first.op) is not type(second.op):
        return
    op: Any = first.op
    for item in fields(op):
        before, after = getattr(first.op, item.name), getattr(second.op, item.name)
        if before != after:
            yield item.metadata.get("name") or item.name, before, after
