"""Finds operations on integers that OpenVINO's CPU plugin computes in f32, which rounds them."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.dialects.openvino.activation import Clamp, ReLU
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
    Divide,
    FloorMod,
    Mod,
    Multiply,
    Power,
    Sign,
    Subtract,
)
from irloop.dialects.openvino.generate import Range, Range4
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.reduction import Reduction
from irloop.dialects.openvino.search import NonZero
from irloop.dialects.openvino.shape import Broadcast, Broadcast3, ShapeOf, ShapeOf3, Tile
from irloop.dialects.openvino.slicing import Concat
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant, Parameter
from irloop.hazards.patterns import is_view, number_of, owner_of
from irloop.hazards.sources import sources

__all__ = [
    "COMPARISONS",
    "LARGEST_SHORT_DIVISOR",
    "chooses_in_f32",
    "is_compared_in_f32",
    "is_computed_in_f32",
    "is_divided_in_f32",
    "is_reduced_in_f32",
    "largest_constant",
]

#: Comparisons of two numbers.
COMPARISONS = (Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual)

#: f32 holds every integer below this number.
_EXACT = 2**24

#: For divisors up to this number, the remainder of a rounded quotient is below 2^24.
LARGEST_SHORT_DIVISOR = 2**22

#: The elements of larger constants are not read.
_FEW = 2**16


def is_divided_in_f32(node: Node) -> bool:
    """True for a Divide, FloorMod or Mod of integers whose dividend may need more than 24 bits.

    For a FloorMod, the divisor counts, too. The result is False if the model corrects the rounded
    quotient by its remainder. Conversion writes divisions in such a form.
    """
    if not isinstance(node.op, Divide | FloorMod | Mod) or None in node.inputs:
        return False
    left, right = (value for value in node.inputs if value is not None)
    element = element_of(node.output)
    if not element.is_integer or element.bits < 32 or _is_remainder(left, right):
        return False
    if isinstance(node.op, Divide) and _is_corrected(node, left, right):
        return False
    # A small dividend has a quotient of 0 by a large divisor, but FloorMod adds the two.
    return _may_be_large(left) or (isinstance(node.op, FloorMod) and _may_be_large(right))


def is_compared_in_f32(node: Node) -> bool:
    """True for a comparison of integers that may both need more than 24 bits.

    If one of them needs at most 24 bits, rounding the other does not change the result.
    """
    if not isinstance(node.op, COMPARISONS) or None in node.inputs:
        return False
    return all(
        _has_many_bits(value) and _may_be_large(value) for value in node.inputs if value is not None
    )


def chooses_in_f32(node: Node) -> bool:
    """True for a Select that chooses between integers, but is computed in f32 with its condition.

    The condition is computed elementwise, and one of the integers may need more than 24 bits.
    """
    if not isinstance(node.op, Select) or None in node.inputs:
        return False
    condition, *choices = (value for value in node.inputs if value is not None)
    if not _has_many_bits(node.output) or not _is_computed_elementwise(condition):
        return False
    return any(_may_be_large(value) for value in choices)


def is_computed_in_f32(node: Node) -> bool:
    """True for a Clamp, MatMul, Power or ReLU of integers that may need more than 24 bits."""
    if not isinstance(node.op, Clamp | MatMul | Power | ReLU) or None in node.inputs:
        return False
    if isinstance(node.op, Clamp) and max(abs(node.op.min), abs(node.op.max)) < _EXACT:
        return False
    if not _has_many_bits(node.output):
        return False
    return any(_may_be_large(value) for value in node.inputs if value is not None)


def is_reduced_in_f32(node: Node) -> bool:
    """True for a reduction of integers that may need more than 24 bits."""
    data = node.inputs[0] if isinstance(node.op, Reduction) else None
    return data is not None and _has_many_bits(data) and _may_be_large(data)


def largest_constant(value: Value) -> int | None:
    """Return the largest absolute value in an integer constant.

    Return None if `value` is not constant, or if the constant is empty or has more than `_FEW`
    elements.
    """
    op = value.producer.op
    if not isinstance(op, Constant) or not 0 < op.tensor.count <= _FEW:
        return None
    numbers = op.tensor.numpy()
    return max(abs(int(numbers.min())), abs(int(numbers.max())))


def _has_many_bits(value: Value) -> bool:
    element = element_of(value)
    return element.is_integer and element.bits >= 32


def _is_computed_elementwise(condition: Value) -> bool:
    """True if an elementwise operation other than Convert computes a condition.

    Operations that only move or repeat elements may follow it.
    """
    first = next(
        node
        for node in sources([condition.producer], lambda node: node.inputs[:1])
        if isinstance(node.op, Convert) or not _repeats(node)
    )
    return first.op.elementwise and bool(first.inputs) and not isinstance(first.op, Convert)


def _repeats(node: Node) -> bool:
    return is_view(node) or isinstance(node.op, Broadcast | Broadcast3 | Tile)


def _may_be_large(value: Value) -> bool:
    """True if `value` may hold integers with more than 24 bits.

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
        return largest is not None and largest >= _EXACT
    return bool(node.bodies) or (not node.op.pure and not _is_small(node))


def _counts_iterations(node: Node) -> bool:
    """True for the body parameter that holds the iteration number."""
    found = owner_of(node)
    if found is None:
        return False
    position = found[1].ports.iteration
    return position is not None and found[1].graph.input(position) is node.output


def _is_small(node: Node) -> bool:
    """True if the result of an operation cannot hold a large integer.

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
        return largest is not None and largest < _EXACT
    # Integers that other operations than Convert make from floats are positions or counts.
    data = node.inputs[1:] if isinstance(node.op, Select) else node.inputs
    given = data[0] if data else None
    if given is None or isinstance(node.op, Convert) or not element.is_integer:
        return False
    return not element_of(given).is_integer


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


def _is_remainder(value: Value, divisor: Value) -> bool:
    """True for x - x / divisor * divisor."""
    node = value.producer
    if not isinstance(node.op, Subtract) or None in node.inputs:
        return False
    left, taken = (each for each in node.inputs if each is not None)
    product = taken.producer
    if not isinstance(product.op, Multiply):
        return False
    return any(
        quotient is not None
        and isinstance(quotient.producer.op, Divide)
        and quotient.producer.inputs[0] is left
        and _same(quotient.producer.inputs[1], divisor)
        and _same(other, divisor)
        for quotient, other in (product.inputs, product.inputs[::-1])
    )


def _same(left: Value | None, right: Value) -> bool:
    """True if both are the same value, or constants with equal elements."""
    if left is None or left is right:
        return left is right
    ops = left.producer.op, right.producer.op
    if not isinstance(ops[0], Constant) or not isinstance(ops[1], Constant):
        return False
    if ops[0].tensor.shape != ops[1].tensor.shape or ops[0].tensor.count > _FEW:
        return False
    return bool((ops[0].tensor.numpy() == ops[1].tensor.numpy()).all())


def _is_corrected(node: Node, left: Value, right: Value) -> bool:
    """True if the model corrects the quotient of `left` and `right` that `node` computes.

    To correct the quotient, the model computes the remainder left - quotient * right. It then
    compares the remainder with 0 and with `right`, or divides the remainder again.
    """
    for user, _ in node.output.uses:
        for reader, _ in user.output.uses if isinstance(user.op, Multiply) else ():
            if not reader.outputs or reader.inputs[0] is not left:
                continue
            if _is_remainder(reader.output, right) and _corrects(reader, right):
                return True
    return False


def _corrects(node: Node, divisor: Value) -> bool:
    """Return whether the readers of a remainder correct a rounded quotient with it.

    `node` computes the remainder of a division by `divisor`. The result is True in two cases: Less
    operations compare the remainder with 0 and with `divisor`; or each reader of the remainder is a
    Divide, FloorMod or Subtract, and at least one of them is not a Subtract.
    """
    readers = [user for user, _ in node.output.uses]
    bounds = [user.inputs[1] for user in readers if isinstance(user.op, Less)]
    if any(_same(bound, divisor) for bound in bounds) and any(number_of(b) == 0 for b in bounds):
        return True
    divides = [user for user in readers if isinstance(user.op, Divide | FloorMod)]
    return bool(divides) and all(
        isinstance(user.op, Divide | FloorMod | Subtract) for user in readers
    )
