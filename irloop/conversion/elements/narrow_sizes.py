"""Converts copies of sizes to narrow types where OpenVINO would ignore the conversion."""

from __future__ import annotations

from irloop.dialects.openvino.convert import Convert
from irloop.hazards.sizes import narrows_a_size
from irloop.passes.common.body_barriers import copy_of
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["NarrowCopiesOfSizes"]


class NarrowCopiesOfSizes(MatcherPass):
    """Copies a size before its Convert to boolean or a narrow type, if another Convert reads it.

    Given::

        n = Gather(ShapeOf(x), 0, 0)    b = Convert(n, boolean)    y = Convert(b, i64)

    Result::

        n = Gather(ShapeOf(x), 0, 0)    c = Maximum(n, n)    b = Convert(c, boolean)
        y = Convert(b, i64)

    Hazard OVN144 is the reason.
    """

    name = "narrow_copies_of_sizes"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Convert, where=producer_is(narrows_a_size))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node, size = match.root, match.root.inputs[0]
        assert size is not None
        rewriter.set_input(node, 0, copy_of(size, Emitter(rewriter, node, node.name).emit))
        return True
