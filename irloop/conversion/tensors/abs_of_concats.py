"""Keeps OpenVINO from moving an Abs to the operands of a Concat that has other readers."""

from __future__ import annotations

from irloop.dialects.openvino.elementwise import Abs
from irloop.dialects.openvino.shape import Squeeze, Unsqueeze
from irloop.graph.model import Node
from irloop.hazards.plugin import overwrites_its_concat
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["KeepConcatsOfAbs", "write_in_two_dimensions"]


class KeepConcatsOfAbs(MatcherPass):
    """Computes the Abs of a Concat in two dimensions if the Concat has rank 1 and other readers.

    Given::

        c [2] = Concat(x, x)    y [2] = Abs(c)    z [2] = Exp(c)

    Result::

        c [2] = Concat(x, x)    u [1,2] = Unsqueeze(c, 0)    a [1,2] = Abs(u)
        y [2] = Squeeze(a, 0)    z [2] = Exp(c)

    Hazard OVN133 is the reason: z would be computed from the absolute values.
    """

    name = "keep_concats_of_abs"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Abs, where=producer_is(overwrites_its_concat))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        write_in_two_dimensions(match.root, rewriter)
        return True


def write_in_two_dimensions(node: Node, rewriter: MatchRewriter) -> None:
    """Compute an Abs of rank 1 in two dimensions.

    OpenVINO's transformations that wrongly move or remove an Abs apply only to rank 1.
    Maximum(x, -x) is not an alternative, because it may be -0 for 0.
    """
    data = node.inputs[0]
    assert data is not None
    emitter = Emitter(rewriter, node, node.name)
    first = emitter.constant([0])
    wide = emitter.emit(Abs(), emitter.emit(Unsqueeze(), data, first))
    rewriter.replace_node(node, [emitter.emit(Squeeze(), wide, first)])
