"""Keeps the sign of sizes out of distances where OpenVINO would remove the Abs."""

from __future__ import annotations

from irloop.conversion.tensors.abs_of_concats import write_abs_out
from irloop.dialects.openvino.elementwise import Abs
from irloop.hazards.sizes import loses_its_sign
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["WriteDistancesOut"]


class WriteDistancesOut(MatcherPass):
    """Replaces Abs of a number that is computed from sizes alone.

    Given::

        n = ShapeOf(x)    d = Subtract(n, Const 2)    y = Abs(d)

    Result::

        n = ShapeOf(x)    d = Subtract(n, Const 2)    y = Maximum(d, Negative(d))

    Hazard OVN146 is the reason.
    """

    name = "write_distances_out"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Abs, where=producer_is(loses_its_sign))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        write_abs_out(match.root, rewriter)
        return True
