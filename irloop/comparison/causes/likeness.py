"""Tells which values, constants and types of operations of two models correspond."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np

from irloop.comparison.agreement import agree
from irloop.comparison.causes import weights
from irloop.comparison.causes.copies import is_copy
from irloop.comparison.measure import Tolerance
from irloop.dialects.classes import classes_of
from irloop.dialects.onnx import ONNX
from irloop.dialects.onnx import reduction as onnx_reduction
from irloop.dialects.openvino import OPENVINO
from irloop.dialects.openvino import reduction as openvino_reduction
from irloop.dialects.openvino.slicing import Slice
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Op, UnknownOp

__all__ = [
    "apart",
    "attribute_changes",
    "constants_agree",
    "content",
    "handed_on",
    "may_correspond",
    "operands",
    "origin",
]

#: Operations that only change the shape or element type of their first input.
_HANDED_ON = classes_of("Cast", "Convert", "Identity", "Reshape", "Squeeze", "Unsqueeze")
_NEGATIONS = classes_of("Not", "LogicalNot", "NotEqual")
_REDUCTIONS = (onnx_reduction.Reduction, openvino_reduction.Reduction)


def may_correspond(first: Op, second: Op) -> bool:
    """Return whether two operations of different formats may compute the same function."""
    left, right = _computed_by(type(first)), _computed_by(type(second))
    if left == right or first.type.lower() == second.type.lower():
        return True
    if isinstance(first, _NEGATIONS) and isinstance(second, _NEGATIONS):
        # ONNX has no NotEqual; conversion writes Equal and then Not.
        return True
    return not {left, right} <= _computed_by_both()


def _computed_by(kind: type[Op]) -> str:
    """Return the name of the function that an elementwise operation or a reduction computes.

    The name is an empty string for other classes.
    """
    if issubclass(kind, _REDUCTIONS) or (kind.elementwise and not getattr(kind, "function", "")):
        return kind.type.lower()
    return getattr(kind, "function", "")


@cache
def _computed_by_both() -> frozenset[str]:
    """The names of the elementwise functions and reductions that exist in both formats.

    A function counts if an old operation of each format computes it (up to opset 9 of ONNX and
    opset5 of OpenVINO), because conversion may decompose newer operations.
    """
    onnx = {_computed_by(kind) for kind in ONNX.all() if kind.since <= 9}
    openvino = {_computed_by(kind) for kind in OPENVINO.all() if kind.since <= 5}
    return frozenset((onnx & openvino) - {""})


def origin(value: Value) -> Value:
    """Follow casts, reshapes and copies back from `value`, and return the value at their start.

    If `value` is the result of none of these operations, `value` itself is returned.
    """
    while (source := handed_on(value)) is not None:
        value = source
    return value


def handed_on(value: Value) -> Value | None:
    """Return the operand whose elements `value` holds, possibly in another type or shape.

    Returns None if the producer of `value` computes new elements.
    """
    inputs, op = value.producer.inputs, value.producer.op
    if not inputs or not (isinstance(op, _HANDED_ON) or is_copy(value)):
        return None
    return inputs[0]


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


def operands(node: Node) -> Sequence[Value | None]:
    """Return the inputs of an operation in an order that is the same for both formats.

    Only the inputs of OpenVINO's Slice change their order: the step comes last, after the axes. If
    the axes are omitted, None is in their place.
    """
    if not isinstance(node.op, Slice):
        return node.inputs
    data, start, stop, step, *axes = node.inputs
    return [data, start, stop, *(axes or [None]), step]


def attribute_changes(first: Node, second: Node) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name and both values of each attribute that differs in two operations.

    Nothing is yielded if the operations have different classes, or are unknown to irloop.
    """
    if isinstance(first.op, UnknownOp) or type(first.op) is not type(second.op):
        return
    op: Any = first.op
    for field in fields(op):
        before, after = getattr(first.op, field.name), getattr(second.op, field.name)
        if before != after:
            yield field.metadata.get("name") or field.name, before, after
