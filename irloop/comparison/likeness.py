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
    "unchanged",
]

#: Operations that only change shape, order or element type of their first input.
_HANDED_ON = classes_of("Cast", "Convert", "Identity", "Reshape", "Squeeze", "Unsqueeze")
_IDENTITIES = classes_of("Identity")
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
        "notequal", "relu", "selu", "sigmoid", "sign", "sin", "sinh", "softmax", "softplus",
        "softsign", "sqrt", "tan", "tanh",
        "reducemax", "reducemin", "reducesum", "reducemean", "reduceprod",
    }
)  # fmt: skip


def may_correspond(first: str, second: str) -> bool:
    """False where the types of two formats are known to compute different things."""
    left, right = (_ALIASES.get(name.lower(), name.lower()) for name in (first, second))
    known = _SHARED | set(_ALIASES.values())
    if {left, right} == {"notequal", "logicalnot"}:
        # ONNX has no NotEqual: it is Equal, then Not.
        return True
    return left == right or not (left in known and right in known)


def origin(value: Value) -> Value:
    """The value from which operations of data movement produced this value."""
    while (source := handed_on(value)) is not None:
        value = source
    return value


def handed_on(value: Value) -> Value | None:
    """The operand whose elements an operation passes on; None if it computes new elements."""
    inputs, op = value.producer.inputs, value.producer.op
    if not inputs or not (isinstance(op, _HANDED_ON) or _is_barrier(value)):
        return None
    return inputs[0]


def unchanged(value: Value) -> Value:
    """The value that a value is a copy of, in the same shape and type."""
    inputs = value.producer.inputs
    while isinstance(value.producer.op, _IDENTITIES) or _is_barrier(value):
        if inputs[0] is None:
            break
        value = inputs[0]
        inputs = value.producer.inputs
    return value


def _is_barrier(value: Value) -> bool:
    """True for the maximum of a value and itself, which avoids a fault of OpenVINO."""
    inputs = value.producer.inputs
    is_maximum = isinstance(value.producer.op, _MAXIMUM) and len(inputs) > 1
    return is_maximum and inputs[0] is inputs[1]


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
