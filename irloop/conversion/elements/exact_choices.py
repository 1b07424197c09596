"""Compares and selects large integers exactly in OpenVINO, whose CPU plugin does both in f32."""

from __future__ import annotations

from irloop.dialects.openvino.comparison import (
    Equal,
    Greater,
    GreaterEqual,
    Less,
    NotEqual,
    Select,
)
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Maximum, Subtract
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.graph.types import ElementType
from irloop.hazards.large_integers import COMPARISONS, chooses_in_f32, is_compared_in_f32
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["ChooseExactly", "CompareExactly", "is_compared_by_rounding"]


class CompareExactly(MatcherPass):
    """Compares large integers by their difference.

    Given::

        c = Less(a, b)

    Result::

        c = NotEqual(Subtract(Maximum(a, b), a), Const 0)

    OpenVINO compares in f32 (hazard OVN158), but computes maxima and differences exactly. A
    difference that overflows is still different from 0. Unsigned integers are not supported: from
    2^31 on, OpenVINO takes them for negative.
    """

    name = "compare_exactly"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(COMPARISONS, where=producer_is(is_compared_by_rounding))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        emitter = Emitter(rewriter, node, node.name)
        left, right = (value for value in node.inputs if value is not None)
        if isinstance(node.op, Equal | NotEqual):
            difference = emitter.emit(Subtract(), left, right)
        else:
            taken = left if isinstance(node.op, Less | GreaterEqual) else right
            difference = emitter.emit(Subtract(), emitter.emit(Maximum(), left, right), taken)
        differs = isinstance(node.op, NotEqual | Less | Greater)
        zero = emitter.constant(0, element_of(left))
        result = emitter.emit(NotEqual() if differs else Equal(), difference, zero)
        rewriter.replace_node(node, [result])
        return True


class ChooseExactly(MatcherPass):
    """Keeps OpenVINO from computing a Select of large integers together with its condition.

    Given::

        y = Select(Less(a, b), c, d)

    Result::

        y = Select(Convert(Convert(Less(a, b)) to i32) to boolean, c, d)

    OpenVINO would round the integers to 24 bits (hazard OVN157).
    """

    name = "choose_exactly"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Select, where=producer_is(chooses_in_f32))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        emitter = Emitter(rewriter, node, node.name)
        condition = node.inputs[0]
        assert condition is not None, "OpenVINO requires the condition of a Select"
        number = emitter.emit(Convert(ElementType.I32), condition)
        rewriter.set_input(node, 0, emitter.emit(Convert(ElementType.BOOLEAN), number))
        return True


def is_compared_by_rounding(node: Node) -> bool:
    """True for a comparison that the pass `CompareExactly` changes."""
    if not isinstance(node.op, COMPARISONS) or node.op.auto_broadcast != "numpy":
        return False
    operand = node.inputs[0]
    if operand is None or element_of(operand) not in (ElementType.I32, ElementType.I64):
        return False
    return is_compared_in_f32(node)
