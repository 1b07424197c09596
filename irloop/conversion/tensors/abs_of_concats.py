"""Keeps OpenVINO's CPU plugin from computing Abs in the memory of a Concat."""

from __future__ import annotations

from irloop.dialects.openvino.elementwise import Abs, Maximum, Negative
from irloop.graph.model import Node
from irloop.hazards.plugin import overwrites_its_concat
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["KeepConcatsOfAbs", "write_abs_out"]


class KeepConcatsOfAbs(MatcherPass):
    """Replaces Abs of a Concat of rank 1 that has other readers, too.

    Given::

        c [2] = Concat(x, x)    y = Abs(c)                 z = Exp(c)

    Result::

        c [2] = Concat(x, x)    y = Maximum(c, Negative(c))    z = Exp(c)

    Hazard OVN133 is the reason: z would be computed from the absolute values.
    """

    name = "keep_concats_of_abs"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Abs, where=producer_is(overwrites_its_concat))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        write_abs_out(match.root, rewriter)
        return True


def write_abs_out(node: Node, rewriter: MatchRewriter) -> None:
    """Replace the Abs of x by the maximum of x and -x."""
    data = node.inputs[0]
    assert data is not None
    emitter = Emitter(rewriter, node, node.name)
    negative = emitter.emit(Negative(), data)
    rewriter.replace_node(node, [emitter.emit(Maximum(), data, negative)])
