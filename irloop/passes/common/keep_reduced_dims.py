"""Lets reductions to a scalar keep their axes, and removes the axes by a Squeeze."""

from __future__ import annotations

from dataclasses import replace

from irloop.dialects.openvino import reduction, shape
from irloop.graph.builder import shape_of
from irloop.graph.op import Constant
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type

__all__ = ["KeepReducedDims"]


class KeepReducedDims(MatcherPass):
    """Lets reductions to a scalar keep their axes, and removes the axes afterwards.

    Given::

        y = ReduceMax(x, [0, 1], keep_dims false)

    Result::

        y = Squeeze(ReduceMax(x, [0, 1], keep_dims true), [0, 1])

    OpenVINO 2021.4 loses the rank of such a scalar: operations that broadcast it do not compile,
    and a condition that depends on it is refused. Reductions over computed axes are not changed.
    """

    name = "keep_reduced_dims"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(reduction.Reduction)

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        op = node.op
        assert isinstance(op, reduction.Reduction)
        data, axes = node.inputs
        if data is None or axes is None or not isinstance(axes.producer.op, Constant):
            return False
        if op.keep_dims or shape_of(node.output).rank != 0 or shape_of(data).rank == 0:
            return False
        c = Emitter(rewriter, node, node.name)
        kept = c(replace(op, keep_dims=True), data, axes)
        rewriter.replace_node(node, (c(shape.Squeeze(), kept, axes),))
        return True
