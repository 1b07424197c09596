"""Rewrites LRNs with a fractional bias, which OpenVINO's CPU plugin truncates."""

from __future__ import annotations

import math
from dataclasses import replace

from irloop.dialects.openvino.elementwise import Multiply
from irloop.dialects.openvino.normalization import LRN
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.hazards.truncated_bias import has_a_fractional_bias
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["NormalizeWithABiasOfOne", "has_a_moderate_bias"]

#: The largest absolute logarithm of the factor that replaces a bias; f16 can hold the factor then.
LARGEST_LOGARITHM = 10.0


def has_a_moderate_bias(node: Node) -> bool:
    """Return whether the pass `NormalizeWithABiasOfOne` changes this node.

    It leaves an LRN as it is if the factor k ^ -b is extremely large or small, or not a number.
    """
    if not has_a_fractional_bias(node) or not isinstance(node.op, LRN):
        return False
    return abs(node.op.beta * math.log(node.op.bias)) <= LARGEST_LOGARITHM


class NormalizeWithABiasOfOne(MatcherPass):
    """Replaces an LRN whose bias is not a whole number by one with a bias of 1.

    Given::

        y = LRN(x, axes)  {alpha=a, beta=b, bias=k}

    Result::

        z = LRN(x, axes)  {alpha=a / k, beta=b, bias=1}    y = Multiply(z, k ^ -b)

    Hazard OVN166 is the reason. The factor must be between e ^ -10 and e ^ 10.
    """

    name = "normalize_with_a_bias_of_one"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(LRN, where=producer_is(has_a_moderate_bias))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node, op = match.root, match.root.op
        assert isinstance(op, LRN)
        data, axes = node.inputs
        assert data is not None
        assert axes is not None
        emitter = Emitter(rewriter, node, node.name)
        normal = emitter.emit(replace(op, alpha=op.alpha / op.bias, bias=1.0), data, axes)
        factor = emitter.constant(op.bias**-op.beta, element_of(data))
        rewriter.replace_node(node, [emitter.emit(Multiply(), normal, factor)])
        return True
