"""Keeps each Abs that OpenVINO would remove because it assumes that the operand holds sizes."""

from __future__ import annotations

from irloop.conversion.tensors.abs_of_concats import write_in_two_dimensions
from irloop.dialects.openvino.elementwise import Abs
from irloop.hazards.sizes import leaves_out_abs
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["KeepAbsOfKnownValues"]


class KeepAbsOfKnownValues(MatcherPass):
    """Computes the Abs of a value of rank 1 in two dimensions.

    This applies if the value depends only on constants and sizes.

    Given::

        n [1] = ShapeOf(x)    d [1] = Subtract(n, Const 2)    y [1] = Abs(d)

    Result::

        n [1] = ShapeOf(x)    d [1] = Subtract(n, Const 2)
        u [1,1] = Unsqueeze(d, 0)    a [1,1] = Abs(u)    y [1] = Squeeze(a, 0)

    Hazard OVN146 is the reason.
    """

    name = "keep_abs_of_known_values"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Abs, where=producer_is(leaves_out_abs))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        write_in_two_dimensions(match.root, rewriter)
        return True
