"""Keeps OpenVINO's CPU plugin from fusing divisions of integers with the operations before them."""

from __future__ import annotations

from irloop.dialects.openvino.elementwise import Divide
from irloop.graph.model import Node
from irloop.hazards.divisions import divided_inexactly
from irloop.passes.common.body_barriers import copy_of
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["DivideCopies", "is_divided_inexactly"]


class DivideCopies(MatcherPass):
    """Divides a copy of the result of a reduction or matrix product of integers.

    Given::

        s [2] i32 = ReduceSum(x, 1)    y = Divide(s, Const 4)

    Result::

        s [2] i32 = ReduceSum(x, 1)    c = Maximum(s, s)    y = Divide(c, Const 4)

    Hazard OVN145 is the reason: OpenVINO would round the quotient to nearest, so that 6 / 4 is 2.
    """

    name = "divide_copies"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Divide, where=producer_is(is_divided_inexactly))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        emitter = Emitter(rewriter, node, node.name)
        found = divided_inexactly(node)
        for position in found:
            value = node.inputs[position]
            assert value is not None
            rewriter.set_input(node, position, copy_of(value, emitter.emit))
        return bool(found)


def is_divided_inexactly(node: Node) -> bool:
    """True for an integer division that the pass `DivideCopies` changes."""
    return bool(divided_inexactly(node))
