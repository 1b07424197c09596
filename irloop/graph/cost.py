"""Estimates the cost of folding an operation before it is folded.

Constants are folded while a model is read, inferred and converted, because shapes depend on them.
Folding a model of a hundred bytes may take terabytes, or never end because of a regular expression.
Therefore an operation is folded only if its cost can be estimated from the sizes of its inputs and
outputs, and if the estimate is low enough.
"""

from __future__ import annotations

from collections.abc import Iterable

from irloop.graph.model import Node
from irloop.graph.types import TensorType, ValueType

__all__ = ["bytes_to_fold", "is_known"]

#: A kernel has at most this many temporary arrays of the widest element type.
_TEMPORARIES = 3
_WIDEST = 16

#: A product that is folded takes at most this many steps, which is about a second.
_MOST_STEPS = 1 << 31


def is_known(node: Node) -> bool:
    """Return whether the cost of the operation follows from the sizes of its inputs and outputs."""
    return node.op.elementwise or bool(node.op.cost)


def bytes_to_fold(node: Node, inputs: Iterable[ValueType | None]) -> int | None:
    """The bytes that folding the node takes, temporaries included; None if that is unknown.

    `inputs` are the types of the inputs, all of known shape.
    """
    if not is_known(node):
        return None
    operands = [item for item in inputs if item is not None]
    sizes = [_count(item) for item in operands]
    made = [_count(value.type) for value in node.outputs]
    if None in sizes or None in made:
        return None
    read = sum(size for size in sizes if size is not None)
    total = sum(size for size in made if size is not None)
    moves_text = node.op.moves_text or node.op.cost == "parts"
    if any(_is_text(item) for item in operands) and not moves_text:
        return None
    if node.op.cost == "product" and total * _inner(operands[0]) > _MOST_STEPS:
        return None
    return (total + (0 if node.op.cost == "parts" else read)) * _TEMPORARIES * _WIDEST


def _count(type: ValueType) -> int | None:
    return type.shape.count() if isinstance(type, TensorType) else None


def _inner(type: ValueType) -> int:
    dims = type.shape.dims if isinstance(type, TensorType) else None
    return max((dim for dim in dims or () if isinstance(dim, int)), default=1)


def _is_text(type: ValueType) -> bool:
    return isinstance(type, TensorType) and str(type.element) == "string"
