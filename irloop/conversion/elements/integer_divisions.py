"""Finds divisions of integers in the exact forms that OpenVINO needs (OVN155).

ONNX divides integers exactly, so each form is one operation.
"""

from __future__ import annotations

from irloop.analysis.operands import inputs_of, single_number
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

        up(x) = x - b * Min(Sign(x) * Sign(b), 0)
        r = a - (a / b) * b    s = r - (r / b) * b    y = up(up(up(s)) - b)

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
    if isinstance(node.op, Sub):
        return _floor_mod(node.output)
    if isinstance(node.op, Mod):
        return _short_mod(node)
    return _truncated(node.output) or _quotient(node.output)


def _floor_mod(value: Value) -> Division | None:
    """Match the remainder with the sign of the divisor."""
    last = _raised(value)
    less = None if last is None else inputs_of(last[0], Sub)
    if last is None or less is None or less[1] is not last[1]:
        return None
    rest, divisor = less
    for _ in range(2):
        before = _raised(rest)
        if before is None or before[1] is not divisor:
            return None
        rest = before[0]
    for _ in range(2):
        dividend = _reduced(rest, divisor)
        if dividend is None:
            return None
        rest = dividend
    return Mod(), rest, divisor


def _raised(value: Value) -> tuple[Value, Value] | None:
    """Match x - b * Min(Sign(x) * Sign(b), 0); return x and b."""
    x, product = inputs_of(value, Sub) or (None, None)
    divisor, opposite = (None, None) if product is None else inputs_of(product, Mul) or (None, None)
    if x is None or divisor is None or opposite is None:
        return None
    signs = _signs(opposite)
    return (x, divisor) if signs is not None and signs == (x, divisor) else None


def _signs(value: Value) -> tuple[Value, Value] | None:
    """Match Min(Sign(x) * Sign(y), 0); return x and y."""
    product, zero = inputs_of(value, Min) or (None, None)
    signs = None if product is None else inputs_of(product, Mul)
    if signs is None or single_number(zero) != 0:
        return None
    first, second = (inputs_of(sign, Sign) for sign in signs)
    return None if first is None or second is None else (first[0], second[0])


def _reduced(value: Value, divisor: Value) -> Value | None:
    """Match x - (x / b) * b for the divisor b; return x."""
    x, product = inputs_of(value, Sub) or (None, None)
    quotient, factor = (None, None) if product is None else inputs_of(product, Mul) or (None, None)
    if x is None or quotient is None or factor is not divisor:
        return None
    return x if inputs_of(quotient, Div) == (x, divisor) else None


def _short_mod(node: Node) -> Division | None:
    """Match Mod(x - (x / b) * b, b)."""
    value, divisor = node.inputs
    if value is None or divisor is None:
        return None
    dividend = _reduced(value, divisor)
    return None if dividend is None else (node.op, dividend, divisor)


def _truncated(value: Value) -> Division | None:
    """Match m + b * Min(Sign(x) * Sign(m), 0), where m = Mod(x, b)."""
    rest, product = inputs_of(value, Add) or (None, None)
    divisor, opposite = (None, None) if product is None else inputs_of(product, Mul) or (None, None)
    if rest is None or divisor is None or opposite is None:
        return None
    dividend, other = inputs_of(rest, Mod) or (None, None)
    op = rest.producer.op
    if dividend is None or other is not divisor or not isinstance(op, Mod) or op.fmod:
        return None
    return (Mod(fmod=True), dividend, divisor) if _signs(opposite) == (dividend, rest) else None


def _quotient(value: Value) -> Division | None:
    """Match w / b + (w - (w / b) * b) / b, where w = x - Mod(x, b) has no remainder."""
    quotient, missing = inputs_of(value, Add) or (None, None)
    whole, divisor = (None, None) if quotient is None else inputs_of(quotient, Div) or (None, None)
    rest, other = (None, None) if missing is None else inputs_of(missing, Div) or (None, None)
    if whole is None or divisor is None or rest is None or other is not divisor:
        return None
    dividend, remainder = inputs_of(whole, Sub) or (None, None)
    if dividend is None or remainder is None or _reduced(rest, divisor) is not whole:
        return None
    op = remainder.producer.op
    is_truncated = isinstance(op, Mod) and op.fmod
    if not is_truncated or inputs_of(remainder, Mod) != (dividend, divisor):
        return None
    return Div(), dividend, divisor
