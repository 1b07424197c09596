"""Tells what is known about numbers that a model computes, in both dialects."""

from __future__ import annotations

from irloop.dialects.classes import classes_of
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.op import Constant

__all__ = ["MOVES", "is_never_negative"]

#: At most so many operations are looked through.
MOST = 16
#: The elements of larger constants are not read.
FEW = 1024

#: Counts and positions.
_COUNTS = classes_of("ArgMax", "ArgMin", "NonZero", "Shape", "ShapeOf", "Size")
_CONVERSIONS = classes_of("Cast", "Convert")
#: Operations whose results are elements of their first input.
MOVES = classes_of("Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze")
#: Operations that are never negative if no operand is.
_KEEPING = classes_of("Concat", "Min", "Minimum")
#: Operations that choose among their last two operands.
_CHOICES = classes_of("Select", "Where")
_RANGES = classes_of("Range")
#: Searches whose first result has elements of their first input.
_SEARCHES = classes_of("ReduceMin", "TopK")
#: Operations that are never negative if one operand is not.
_RAISING = classes_of("Max", "Maximum")


def is_never_negative(value: Value | None, depth: int = MOST) -> bool:
    """Return whether integers are 0 or more in every run. False if this is not known."""
    if value is None or not depth or not element_of(value).is_integer:
        return False
    node = value.producer
    if isinstance(node.op, Constant):
        tensor = node.op.tensor
        return tensor.count <= FEW and bool((tensor.numpy() >= 0).all())
    if isinstance(node.op, _COUNTS):
        return True
    first = node.inputs[0] if node.inputs else None
    if isinstance(node.op, _CONVERSIONS):
        # A narrower type may make another number of it.
        widens = first is not None and element_of(first).bits <= element_of(value).bits
        return widens and is_never_negative(first, depth - 1)
    if isinstance(node.op, _SEARCHES) and value is not node.outputs[0]:
        return True
    if isinstance(node.op, MOVES + _SEARCHES):
        return is_never_negative(first, depth - 1)
    operands = node.inputs
    if isinstance(node.op, _CHOICES):
        operands = node.inputs[1:]
    elif isinstance(node.op, _RANGES):
        operands = node.inputs[::2]  # the first number and the step
    each = (is_never_negative(operand, depth // 2) for operand in operands)
    if isinstance(node.op, _RAISING):
        return any(each)
    keeps = isinstance(node.op, _KEEPING + _CHOICES + _RANGES)
    return keeps and bool(operands) and all(each)
