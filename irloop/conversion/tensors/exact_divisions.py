"""Divides large integers exactly in OpenVINO, whose CPU plugin computes quotients in f32."""

from __future__ import annotations

from irloop.dialects.openvino.elementwise import (
    Add,
    Divide,
    FloorMod,
    Minimum,
    Mod,
    Multiply,
    Sign,
    Subtract,
)
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType
from irloop.hazards.large_integers import (
    LARGEST_SHORT_DIVISOR,
    is_divided_in_f32,
    largest_constant,
)
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["DivideExactly", "is_divided_by_rounding"]


class DivideExactly(MatcherPass):
    """Corrects quotients and remainders of large integers.

    Given::

        m = FloorMod(a, Const 1000)

    Result::

        q = Divide(a, Const 1000)    r = Subtract(a, Multiply(q, Const 1000))
        m = FloorMod(r, Const 1000)

    OpenVINO rounds q to 24 bits (hazard OVN155), but computes sums and products exactly, so r has
    the right remainder, and is small enough to divide. For divisors above 2^22 and divisors that
    are not constant, r is divided by the divisor again, and the divisor is added or subtracted
    where the remainder has the wrong sign or is too large. The pass uses signs and minima instead
    of comparisons and Select, which the plugin may compute in f32. Divisors of -2^31 are not
    supported, nor are unsigned integers: from 2^31 on, OpenVINO takes them for negative.
    """

    name = "divide_exactly"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type((Divide, FloorMod, Mod), where=producer_is(is_divided_by_rounding))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        left, right = (value for value in node.inputs if value is not None)
        emitter = Emitter(rewriter, node, node.name)
        parts = _Parts(emitter, left, right, element_of(node.output))
        result = parts.floor_mod()
        if isinstance(node.op, Mod | Divide):
            result = parts.truncated(result)
        if isinstance(node.op, Divide):
            result = parts.quotient(result)
        rewriter.replace_node(node, [result])
        return True


def is_divided_by_rounding(node: Node) -> bool:
    """True for a node that the pass `DivideExactly` changes."""
    if not isinstance(node.op, Divide | FloorMod | Mod) or node.op.auto_broadcast != "numpy":
        return False
    return element_of(node.output) in (ElementType.I32, ElementType.I64) and is_divided_in_f32(node)


class _Parts:
    """Emits remainders and quotients of two integers."""

    def __init__(self, emitter: Emitter, left: Value, right: Value, element: ElementType) -> None:
        self.emit = emitter.emit
        self.left, self.right = left, right
        self.zero = emitter.constant(0, element)

    def floor_mod(self) -> Value:
        """The remainder with the sign of the divisor."""
        rest = self._reduced(self.left)
        largest = largest_constant(self.right)
        if largest is not None and largest <= LARGEST_SHORT_DIVISOR:
            return self.emit(FloorMod(), rest, self.right)
        rest = self._reduced(rest)
        sign = self.emit(Sign(), self.right)
        # The rest may be beyond the divisor by a few, because f32 rounds the divisor, too.
        for _ in range(2):
            rest = self._raised(rest, sign)
        return self._raised(self.emit(Subtract(), rest, self.right), sign)

    def truncated(self, remainder: Value) -> Value:
        """Convert a remainder with the sign of the divisor to one with the sign of the dividend."""
        signs = (self.emit(Sign(), value) for value in (self.left, remainder))
        opposite = self.emit(Minimum(), self.emit(Multiply(), *signs), self.zero)
        return self.emit(Add(), remainder, self.emit(Multiply(), self.right, opposite))

    def quotient(self, remainder: Value) -> Value:
        """The quotient, rounded towards zero; `remainder` has the sign of the dividend."""
        whole = self.emit(Subtract(), self.left, remainder)
        quotient = self.emit(Divide(m_pythondiv=False), whole, self.right)
        rest = self.emit(Subtract(), whole, self.emit(Multiply(), quotient, self.right))
        missing = self.emit(Divide(m_pythondiv=False), rest, self.right)
        return self.emit(Add(), quotient, missing)

    def _reduced(self, value: Value) -> Value:
        """Emit `value` - q * divisor, where q is the integer quotient `value` / divisor.

        OpenVINO divides in f32, which may round q. The result is then off by a multiple of the
        divisor.
        """
        quotient = self.emit(Divide(m_pythondiv=False), value, self.right)
        return self.emit(Subtract(), value, self.emit(Multiply(), quotient, self.right))

    def _raised(self, value: Value, sign: Value) -> Value:
        """Add the divisor to `value` where their signs are opposite.

        `sign` is the sign of the divisor.
        """
        signs = self.emit(Multiply(), self.emit(Sign(), value), sign)
        opposite = self.emit(Minimum(), signs, self.zero)
        return self.emit(Subtract(), value, self.emit(Multiply(), self.right, opposite))
