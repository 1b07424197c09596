"""The bounds of the results of operations, by those of their operands, in both dialects."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from irloop.analysis.bounds import (
    ANYTHING,
    COUNTS,
    Bounds,
    counting,
    divided,
    joined,
    of_corners,
    of_type,
    only,
    remainder,
)
from irloop.dialects.classes import classes_of
from irloop.dialects.onnx.comparison import BitShift
from irloop.dialects.onnx.elementwise import Mod as OnnxMod
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType

__all__ = ["MOVES", "deciding", "of_result"]

#: Operations whose results are elements of their first input.
MOVES = classes_of("Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze")

_FIRST = slice(1)


Bounding = Callable[[Value, list[Bounds]], Bounds]


class Rule(NamedTuple):
    """How the bounds of a result are computed from those of the inputs `reads`."""

    bounds: Bounding
    reads: slice
    #: Whether the rule holds for results that are integers only.
    integers: bool


_RULES: dict[type[Op], Rule] = {}


def deciding(value: Value) -> Sequence[Value | None]:
    """The inputs of its operation of which the bounds of a result may depend."""
    node, element = value.producer, element_of(value)
    rule = _RULES.get(type(node.op))
    if rule is not None:
        return node.inputs[rule.reads]
    if element is not ElementType.BOOLEAN:
        return node.inputs if node.op.pure and not _counts(value) else ()
    first = node.inputs[0] if type(node.op).comparator is not None else None
    return node.inputs if first is not None and element_of(first).is_integer else ()


def of_result(value: Value, operands: list[Bounds]) -> Bounds:
    """The bounds of a result of an operation without bodies.

    `operands` are the bounds of the inputs that `deciding` returns.
    """
    node, element = value.producer, element_of(value)
    rule = _RULES.get(type(node.op))
    if rule is not None and (not rule.integers or _are_integers(element, operands)):
        return rule.bounds(value, operands)
    if element is ElementType.BOOLEAN:
        return _compared(value, *operands) if operands else of_type(element)
    if not element.is_integer:
        return Bounds(*ANYTHING[:2], bool(operands) and all(each.is_small for each in operands))
    return Bounds(*ANYTHING[:2], _counts(value) or counting(operands))


def _are_integers(element: ElementType, operands: list[Bounds]) -> bool:
    """Return whether an operation has integers of known types, and computes integers."""
    return element.is_integer and all(each.is_finite for each in operands)


def _counts(value: Value) -> bool:
    """Return whether an operation makes integers of other elements.

    They are positions or numbers of elements.
    """
    first = value.producer.inputs[0] if value.producer.inputs else None
    if first is None or not element_of(value).is_integer or not value.producer.op.pure:
        return False
    return not element_of(first).is_integer


def _compared(value: Value, left: Bounds, right: Bounds) -> Bounds:
    """The bounds of a comparison of integers, which is known if those of its operands are apart."""
    comparator = type(value.producer.op).comparator
    assert comparator is not None, "the operation compares"
    corners = {comparator(*pair) for pair in product(left[:2], right[:2])}
    apart = left.high < right.low or right.high < left.low
    if len(corners) > 1 or (comparator in (operator.eq, operator.ne) and not apart):
        return of_type(ElementType.BOOLEAN)
    return only(int(corners.pop()))


def _rules(
    *types: str, integers: bool = False, reads: slice = slice(None)
) -> Callable[[Bounding], Bounding]:
    """Register how the bounds of these operations are computed, in all versions of them."""

    def register(bounds: Bounding) -> Bounding:
        _RULES.update(dict.fromkeys(classes_of(*types), Rule(bounds, reads, integers)))
        return bounds

    return register


@_rules("Broadcast", "Compress", "DepthToSpace", "Expand", "Flatten", "Gather", reads=_FIRST)
@_rules("GatherElements", "GatherND", "Identity", "ReduceMean", "Reshape", reads=_FIRST)
@_rules("Reverse", "ReverseSequence", "Roll", "Slice", "Split", "Squeeze", reads=_FIRST)
@_rules("StridedSlice", "Tile", "Transpose", "Unsqueeze", "VariadicSplit", reads=_FIRST)
def _first(_: Value, operands: list[Bounds]) -> Bounds:
    return operands[0]


@_rules("TopK", "Unique", reads=_FIRST)
def _first_and_positions(value: Value, operands: list[Bounds]) -> Bounds:
    return operands[0] if value is value.producer.outputs[0] else COUNTS


@_rules("ArgMax", "ArgMin", "NonZero", "Size", reads=slice(0))
def _positions(_: Value, operands: list[Bounds]) -> Bounds:
    return COUNTS


@_rules("Concat")
@_rules("Select", "Where", reads=slice(1, None))
@_rules("OneHot", reads=slice(2, None))
def _each(_: Value, operands: list[Bounds]) -> Bounds:
    return joined(operands)


@_rules("Pad")
def _padded(_: Value, operands: list[Bounds]) -> Bounds:
    # The value is input 2 in ONNX, and input 3 in OpenVINO, whose input 2 is joined for nothing.
    return joined([operands[0], only(0), *operands[2:]])


@_rules(
    "ScatterElementsUpdate",
    "ScatterNDUpdate",
    "ScatterUpdate",
    "ScatterElements",
    "ScatterND",
    reads=slice(0, 3, 2),
)
def _scattered(value: Value, operands: list[Bounds]) -> Bounds:
    reduction = getattr(value.producer.op, "reduction", "none")
    return joined(operands) if reduction == "none" else ANYTHING


@_rules("Cast", "CastLike", "Convert", "ConvertLike", reads=_FIRST)
def _converted(value: Value, operands: list[Bounds]) -> Bounds:
    low, high, counts = operands[0]
    if not element_of(value).is_integer or not operands[0].is_finite:
        return operands[0]
    return Bounds(math.trunc(low), math.trunc(high), counts)


@_rules("Clamp", "Clip")
def _clamped(value: Value, operands: list[Bounds]) -> Bounds:
    data = operands[0]
    least = _limit(value, operands, "min", -math.inf)
    most = _limit(value, operands, "max", math.inf)
    low = min(max(data.low, least.low), most.low)
    high = min(max(data.high, least.high), most.high)
    if element_of(value).is_integer:
        low, high = math.floor(low), math.ceil(high)
    return Bounds(low, high, counting(operands))


def _limit(value: Value, operands: list[Bounds], name: str, absent: float) -> Bounds:
    """The bounds of a limit, which is an attribute or an input."""
    node, position = value.producer, ("min", "max").index(name) + 1
    number = getattr(node.op, name, None)
    if number is None and position < len(operands) and node.inputs[position] is not None:
        return operands[position]
    return only(absent if number is None else number)


@_rules("Min", "Minimum")
def _least(_: Value, operands: list[Bounds]) -> Bounds:
    low, high = min(each.low for each in operands), min(each.high for each in operands)
    return Bounds(low, high, counting(operands))


@_rules("Max", "Maximum")
def _greatest(_: Value, operands: list[Bounds]) -> Bounds:
    low, high = max(each.low for each in operands), max(each.high for each in operands)
    return Bounds(low, high, counting(operands))


@_rules("ReduceMax", "ReduceMin", reads=_FIRST)
def _extreme(value: Value, operands: list[Bounds]) -> Bounds:
    data, bounds = value.producer.inputs[0], operands[0]
    if data is not None and shape_of(data).count():
        return bounds
    # Of no elements, the maximum is the least number of the type, and the minimum the greatest.
    widest = of_type(element_of(value))
    if value.producer.op.type == "ReduceMax":
        return bounds._replace(low=widest.low)
    return bounds._replace(high=widest.high)


@_rules("ReLU", "Relu")
def _positive(_: Value, operands: list[Bounds]) -> Bounds:
    low, high, counts = operands[0]
    return Bounds(max(low, 0), max(high, 0), counts)


@_rules("Abs")
def _absolute(value: Value, operands: list[Bounds]) -> Bounds:
    (each,) = operands
    low = 0 if each.low <= 0 <= each.high else min(abs(each.low), abs(each.high))
    # The least number of a type has no absolute value, and does not occur.
    return Bounds(low, min(each.magnitude, of_type(element_of(value)).high), each.counts)


@_rules("Sign")
def _sign(_: Value, operands: list[Bounds]) -> Bounds:
    low, high = operands[0][:2]
    return Bounds((low > 0) - (low < 0), (high > 0) - (high < 0))


@_rules("Neg", "Negative")
def _negated(_: Value, operands: list[Bounds]) -> Bounds:
    low, high, counts = operands[0]
    return Bounds(-high, -low, counts)


@_rules("Add", integers=True)
def _sum(_: Value, operands: list[Bounds]) -> Bounds:
    return of_corners(operator.add, *operands)


@_rules("Sub", "Subtract", integers=True)
def _difference(value: Value, operands: list[Bounds]) -> Bounds:
    left, right = value.producer.inputs
    # What is x - x has the shape of x.
    return only(0) if left is right else of_corners(operator.sub, *operands)


@_rules("Mul", "Multiply", integers=True)
def _product(_: Value, operands: list[Bounds]) -> Bounds:
    return of_corners(operator.mul, *operands)


@_rules("Div", "Divide", integers=True)
def _quotient(_: Value, operands: list[Bounds]) -> Bounds:
    return divided(*operands)


@_rules("FloorMod", "Mod", integers=True)
def _remainder(value: Value, operands: list[Bounds]) -> Bounds:
    op = value.producer.op
    truncated = op.fmod if isinstance(op, OnnxMod) else op.type == "Mod"
    return remainder(*operands, truncated=truncated)


@_rules("Range", integers=True)
def _numbers(_: Value, operands: list[Bounds]) -> Bounds:
    start, stop, step = operands
    bounds = ANYTHING
    if step.low > 0:
        bounds = Bounds(start.low, max(start.high, stop.high - 1))
    elif step.high < 0:
        bounds = Bounds(min(start.low, stop.low + 1), start.high)
    # A list whose end is not known is taken to be short: a longer one would not fit into memory.
    counts = stop.counts or not bounds.is_small
    return bounds._replace(counts=counts and start.is_small and step.is_small)


@_rules("CumSum", "ReduceSum", integers=True, reads=_FIRST)
def _total(value: Value, operands: list[Bounds]) -> Bounds:
    """The bounds of sums of elements; there are no more of them than the data have."""
    low, high, counts = operands[0]
    data = value.producer.inputs[0]
    count = None if data is None else shape_of(data).count()
    if count is None:
        return Bounds(0 if low >= 0 else -math.inf, math.inf, operands[0].is_small)
    return Bounds(min(low, low * count, 0), max(high, high * count, 0), counts)


@_rules("ReduceProd", integers=True, reads=_FIRST)
def _product_of_all(_: Value, operands: list[Bounds]) -> Bounds:
    return Bounds(0 if operands[0].low >= 0 else -math.inf, math.inf, operands[0].is_small)


@_rules("BitwiseAnd", integers=True)
def _common_bits(_: Value, operands: list[Bounds]) -> Bounds:
    limits = [each.high for each in operands if each.low >= 0]
    return Bounds(0, min(limits)) if limits else ANYTHING


@_rules("BitwiseOr", "BitwiseXor", integers=True)
def _bits_of_either(_: Value, operands: list[Bounds]) -> Bounds:
    if min(each.low for each in operands) < 0:
        return ANYTHING
    bits = int(max(each.high for each in operands)).bit_length()
    return Bounds(0, 2**bits - 1, counting(operands))


@_rules("BitShift", "BitwiseRightShift", integers=True, reads=_FIRST)
def _shifted(value: Value, operands: list[Bounds]) -> Bounds:
    op, shifted = value.producer.op, operands[0]
    if shifted.low < 0 or (isinstance(op, BitShift) and op.is_left):
        return ANYTHING
    return Bounds(0, shifted.high, shifted.counts)
