"""Finds divisions of integers in the exact forms that OpenVINO needs (OVN155).

ONNX divides integers exactly, so each form is one operation.
"""

from __future__ import annotations

from irloop.analysis.operands import inputs_of, single_number
from irloop.analysis.ranges import is_never_negative
from irloop.dialects.onnx.elementwise import Add, Div, Min, Mod, Mul, Sign, Sub
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Op
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["FuseIntegerDivisions"]

#: The operation, the dividend and the divisor.
Division = tuple[Op, Value, Value]


class FuseIntegerDivisions(NodePass):
    """Writes Mod and Div of integers in place of forms that are exact in OpenVINO.

    Given::

        r = a - (a / b) * b    s = r - (r / b) * b    y = s - Min(Sign(s) * Sign(b), 0) * b

    Result::

        y = Mod(a, b)

    The pass knows the forms of Divide, Mod and FloorMod, also those with a small divisor.
    """

    name = "fuse_integer_divisions"
    dialects = frozenset({"onnx"})
    operations = (Add, Mod, Sub)

    def applies(self, node: Node) -> bool:
        return _found(node) is not None

    def rewrite(self, node: Node, w: NodeWriter) -> Value:
        found = _found(node)
        assert found is not None
        return w(*found)


def _found(node: Node) -> Division | None:
    if not element_of(node.output).is_integer:
        return None
    if isinstance(node.op, Mod):
        return _short_mod(node)
    first, second = node.inputs
    if first is None or second is None:
        return None
    if isinstance(node.op, Sub):
        return _remainder(first, second)
    return _quotient(first, second) or _short_quotient(first, second)


def _remainder(rest: Value, taken: Value) -> Division | None:
    """Match r - b * m or r - b * Sign(b) * Sign(x) * m, where r remains of x divided by b.

    With `m` = Min(Sign(r) * Sign(b), 0), the remainder has the sign of the divisor, with x in place
    of b that of the dividend.
    """
    reduced = _reduced(rest)
    divided = None if reduced is None else _reduced(reduced[0])
    if reduced is None or divided is None or reduced[1] is not divided[1]:
        return None
    dividend, divisor, _ = divided
    factors = _factors(taken, divisor)
    if divisor not in factors:
        return None
    factors.remove(divisor)
    if _are_opposite(factors[:1], rest, divisor) and len(factors) == 1:
        return Mod(), dividend, divisor
    for at, factor in enumerate(factors):
        others = factors[:at] + factors[at + 1 :]
        if _are_opposite([factor], rest, dividend) and _are_signs(others, [divisor, dividend]):
            return Mod(fmod=True), dividend, divisor
    return None


def _quotient(quotients: Value, step: Value) -> Division | None:
    """Match q + p + Min(Sign(r) * Sign(x), 0) * Sign(x) * Sign(b).

    The first quotient q is x / b, and the second that of what remains; r remains of this.
    """
    first, second = inputs_of(quotients, Add) or (None, None)
    dividend, divisor = (None, None) if first is None else inputs_of(first, Div) or (None, None)
    if dividend is None or divisor is None or second is None:
        return None
    again = inputs_of(second, Div)
    reduced = None if again is None else _reduced(again[0])
    if again is None or again[1] is not divisor or reduced != (dividend, divisor, first):
        return None
    factors = _factors(step)
    signs = inputs_of(factors[0], Min) if factors else None
    rest = _signed(signs[0]) if signs is not None else None
    if rest is None or _reduced(rest) != (again[0], divisor, second):
        return None
    is_opposite = _are_opposite(factors[:1], rest, dividend)
    same = is_opposite and _are_signs(factors[1:], [dividend, divisor])
    return (Div(), dividend, divisor) if same else None


def _short_quotient(quotient: Value, missing: Value) -> Division | None:
    """Match q + r / b, where q is the quotient of most of x by b, and r what remains of x.

    With that of x, it is a part of the form that `_quotient` matches.
    """
    rest, divisor = inputs_of(missing, Div) or (None, None)
    reduced = None if rest is None else _reduced(rest)
    if reduced is None or reduced[1:] != (divisor, quotient):
        return None
    is_part = quotient.producer.inputs[0] is reduced[0]
    return None if is_part else (Div(), reduced[0], reduced[1])


def _factors(value: Value, whole: Value | None = None) -> list[Value]:
    """The factors of a product, in order; `whole` is not taken apart."""
    factors = None if value is whole else inputs_of(value, Mul)
    if factors is None:
        return [value]
    return [item for factor in factors for item in _factors(factor, whole)]


def _signed(value: Value) -> Value | None:
    """The value whose sign is the first factor of a product."""
    sign = inputs_of(_factors(value)[0], Sign)
    return None if sign is None else sign[0]


def _are_opposite(given: list[Value], rest: Value, other: Value) -> bool:
    """Match a list of Min(Sign(r) * Sign(x), 0)."""
    signs, zero = (inputs_of(given[0], Min) if given else None) or (None, None)
    if signs is None or single_number(zero) != 0:
        return False
    first, *others = _factors(signs)
    return inputs_of(first, Sign) == (rest,) and _are_signs(others, [other])


def _are_signs(signs: list[Value], values: list[Value]) -> bool:
    """Return whether these are the signs of the values, in order.

    The sign of a number that is never negative may be missing.
    """
    left = list(signs)
    for value in values:
        if left and inputs_of(left[0], Sign) == (value,):
            left.pop(0)
        elif not is_never_negative(value):
            return False
    return not left


def _reduced(value: Value) -> tuple[Value, Value, Value] | None:
    """Match x - (x / b) * b; return x, b and the quotient, which may be that of most of x."""
    x, product = inputs_of(value, Sub) or (None, None)
    quotient, divisor = (None, None) if product is None else inputs_of(product, Mul) or (None, None)
    dividend, by = (None, None) if quotient is None else inputs_of(quotient, Div) or (None, None)
    if x is None or quotient is None or divisor is None or by is not divisor:
        return None
    return (x, divisor, quotient) if dividend is x or _larger_part(dividend) is x else None


def _larger_part(value: Value | None) -> Value | None:
    """Match x - x / n, where n is a positive constant; return x."""
    x, part = (None, None) if value is None else inputs_of(value, Sub) or (None, None)
    dividend, number = (None, None) if part is None else inputs_of(part, Div) or (None, None)
    return x if dividend is x and (single_number(number) or 0) > 0 else None


def _short_mod(node: Node) -> Division | None:
    """Match Mod(x - q * b, b), where q is x / b."""
    value, divisor = node.inputs
    reduced = None if value is None else _reduced(value)
    if reduced is None or reduced[1] is not divisor:
        return None
    return node.op, reduced[0], reduced[1]
