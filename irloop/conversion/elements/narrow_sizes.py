"""Inserts a copy before a Convert that makes a size narrow.

A size is a value computed from a ShapeOf, and narrow types are boolean and integers of less
than 32 bits. Without the copy, OpenVINO would ignore or refuse some of these Converts.
"""

from __future__ import annotations

from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.search import CumSum
from irloop.dialects.openvino.shape import Squeeze, Unsqueeze
from irloop.graph.model import Node
from irloop.hazards.sizes import narrows_a_size, narrows_a_size_with_sign
from irloop.passes.common.body_barriers import copy_of
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["NarrowCopiesOfSizes", "is_narrow_size"]


class NarrowCopiesOfSizes(MatcherPass):
    """Copies a size before its Convert to boolean or a narrow type.

    Given::

        n = Gather(ShapeOf(x), 0, 0)    b = Convert(n, boolean)    y = Convert(b, i64)

    Result::

        n = Gather(ShapeOf(x), 0, 0)    c = Maximum(n, n)    b = Convert(c, boolean)
        y = Convert(b, i64)

    Hazard OVN144 is the reason. OpenVINO also computes the bounds of the copy, and refuses the
    model if the conversion to a signed type makes a bound negative (hazard OVN149). In that case
    the copy is a running sum of one element::

        n = Gather(ShapeOf(x), 0, 0)    c = Squeeze(CumSum(Unsqueeze(n, 0), 0), 0)
        b = Convert(c, i8)              y = Convert(b, i64)
    """

    name = "narrow_copies_of_sizes"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Convert, where=producer_is(is_narrow_size))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node, size = match.root, match.root.inputs[0]
        assert size is not None
        emitter = Emitter(rewriter, node, node.name)
        if narrows_a_size_with_sign(node):
            axis = emitter.constant([0])
            one = emitter.emit(Unsqueeze(), size, axis)
            copy = emitter.emit(CumSum(), one, emitter.constant(0))
            copy = emitter.emit(Squeeze(), copy, axis)
        else:
            copy = copy_of(size, emitter.emit)
        rewriter.set_input(node, 0, copy)
        return True


def is_narrow_size(node: Node) -> bool:
    """True for a Convert of a size to a narrow type if OpenVINO ignores or refuses this Convert."""
    return narrows_a_size(node) or narrows_a_size_with_sign(node)
