"""Estimates how many steps of the budget a program step takes, from the sizes of its values.

This module charges a program step for the call of its kernel, and for the bytes that the kernel
reads and writes once. Kernels that do more work than one pass over their operands, such as
products, windows, sorting and strings, charge the rest themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType, TensorType, ValueType
from irloop.kernels.work import MADE, READ, bytes_of, factor_of, steps_of_values

__all__ = [
    "AN_ITERATION",
    "A_CHECK",
    "A_WATCHED_CALL",
    "call_work",
    "known_work",
    "viewed_work",
    "work_of",
]

#: The cost, in steps of the budget, of one iteration of a loop, of the checks before one step, and
#: of one traced or profiled call.
AN_ITERATION, A_CHECK, A_WATCHED_CALL = 0.2, 1.0, 5.0

#: The cost, in steps of the budget, of calling a kernel that makes one pass over its data, a few
#: passes, or many passes.
ONE_PASS, FEW_PASSES, MANY_PASSES = 0.2, 1.0, 40.0


def call_work(node: Node) -> float:
    """Return the fixed cost of one call of a node's kernel, in steps of the budget.

    The cost of reading the operands and making the results comes on top of it.
    """
    op = node.op
    if op.elementwise or op.reshapes or op.cost == "parts" or op.reads_shape_only:
        return ONE_PASS
    return FEW_PASSES if op.cost or node.bodies else MANY_PASSES


def work_of(node: Node, operands: Sequence[Any], results: Sequence[Any]) -> float:
    """Return the budget steps for reading a node's operands and writing its results.

    The fixed cost of calling the kernel is not included (see `call_work`). Results that are views
    of operands cost nothing to write.
    """
    return steps_of_values(operands, results, parts=node.op.cost == "parts")


def viewed_work(results: Sequence[Any]) -> float:
    """Return the budget steps that it would cost to compute all elements of `results`.

    The caller charges them. The elements of a view count, too, although they are not copied.
    """
    return sum(map(bytes_of, results)) / MADE


def known_work(node: Node, types: Mapping[Value, ValueType]) -> float:
    """Estimate how many steps of the budget one call of a node takes.

    The steps pay for the call, for the bytes that the node makes and, unless it only reshapes or
    moves elements, for the bytes that it reads. A value counts only if its size is known from its
    type.
    """
    made = sum(_bytes_of_type(types.get(value, value.type)) for value in node.outputs)
    call = call_work(node)
    if node.op.cost == "parts" or node.op.reshapes:
        return call + made / MADE
    operands = [value for value in node.read_inputs if value is not None]
    read = sum(_bytes_of_type(types.get(value, value.type)) for value in operands)
    return call + made / MADE + read / READ


def _bytes_of_type(type: ValueType) -> float:
    count = type.shape.count() if isinstance(type, TensorType) else None
    if count is None or not isinstance(type, TensorType) or type.element is ElementType.DYNAMIC:
        return 0.0
    dtype = type.element.numpy()
    return count * dtype.itemsize * factor_of(dtype)
