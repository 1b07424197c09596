"""Finds operations on integers that OpenVINO's CPU plugin computes in f32, which rounds them."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.analysis.patterns import loop_around
from irloop.analysis.sources import sources
from irloop.dialects.openvino.comparison import (
    Equal,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    NotEqual,
    Select,
)
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import (
    FloorMod,
    Mod,
    Sign,
)
from irloop.dialects.openvino.generate import Range, Range4
from irloop.dialects.openvino.search import NonZero
from irloop.dialects.openvino.shape import ShapeOf, ShapeOf3
from irloop.dialects.openvino.slicing import Concat
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Parameter

__all__ = [
    "COMPARISONS",
    "EXACT",
    "FEW",
    "has_many_bits",
    "is_compared_in_f32",
    "largest_constant",
    "may_be_large",
]

#: Comparisons of two numbers.
COMPARISONS = (Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual)

#: f32 holds every integer below this number.
EXACT = 2**24


#: The elements of larger constants are not read.
FEW = 2**16


def is_compared_in_f32(node: Node) -> bool:
    """Return whether `node` is a comparison of integers that may both need more than 24 bits.

    If one of them needs at most 24 bits, rounding the other does not change the result.
    """
    if not isinstance(node.op, COMPARISONS) or None in node.inputs:
        return False
    return all(
        has_many_bits(value) and may_be_large(value) for value in node.inputs if value is not None
    )


def largest_constant(value: Value) -> int | None:
    """Return the largest absolute value in an integer constant.

    Return None if `value` is not constant, or if the constant is empty or has more than `FEW`
    elements.
    """
    op = value.producer.op
    if not isinstance(op, Constant) or not 0 < op.tensor.count <= FEW:
        return None
    numbers = op.tensor.numpy()
    return max(abs(int(numbers.min())), abs(int(numbers.max())))


def has_many_bits(value: Value) -> bool:
    element = element_of(value)
    return element.is_integer and element.bits >= 32


def may_be_large(value: Value) -> bool:
    """Return whether `value` may hold integers with more than 24 bits.

    The search goes back from `value` to the nodes that it is computed from, and finds model inputs,
    large constants and loops, for example. Sizes and positions count as small, and so do the
    results of operations on them. The search visits a limited number of nodes; if none of them is
    such a source, the result is false.
    """
    return any(_is_large_source(node) for node in sources([value.producer], _deciding))


def _is_large_source(node: Node) -> bool:
    if isinstance(node.op, Parameter):
        return not _is_small(node) and not _counts_iterations(node)
    if isinstance(node.op, Constant):
        element = element_of(node.output)
        largest = largest_constant(node.output) if element.is_integer else None
        return largest is not None and largest >= EXACT
    return bool(node.bodies) or (not node.op.pure and not _is_small(node))


def _counts_iterations(node: Node) -> bool:
    """Return whether `node` is the body parameter that holds the iteration number."""
    loop = loop_around(node)
    if loop is None:
        return False
    position = loop[1].ports.iteration
    return position is not None and loop[1].graph.input(position) is node.output


def _is_small(node: Node) -> bool:
    """Return whether the result of an operation cannot hold a large integer.

    Its type is too narrow, or the operation produces small numbers, for example signs, remainders
    or positions.
    """
    if not node.outputs:
        return False
    element = element_of(node.outputs[0])
    if element.bits < 16 or (element.is_integer and element.bits < 32):
        return True
    if isinstance(node.op, Sign | Range | Range4):
        return True
    if isinstance(node.op, FloorMod | Mod) and node.inputs[1] is not None:
        largest = largest_constant(node.inputs[1]) if element.is_integer else None
        return largest is not None and largest < EXACT
    # Integers that other operations than Convert make from floats are positions or counts.
    data = node.inputs[1:] if isinstance(node.op, Select) else node.inputs
    first = data[0] if data else None
    if first is None or isinstance(node.op, Convert) or not element.is_integer:
        return False
    return not element_of(first).is_integer


def _deciding(node: Node) -> Sequence[Value | None]:
    """Return the inputs of a node on which the magnitude of its result depends.

    For example, these are all inputs of an Add, the two values of a Select, and the data of a
    Gather. There are none if the result is small anyway, such as a shape.
    """
    if isinstance(node.op, ShapeOf | ShapeOf3 | NonZero) or node.bodies or _is_small(node):
        return ()
    if isinstance(node.op, Select):
        return node.inputs[1:]
    if node.op.elementwise or isinstance(node.op, Concat):
        return node.inputs
    return node.inputs[:1]
