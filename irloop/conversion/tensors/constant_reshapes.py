"""Gives reshapes a constant target shape if it is known, because OpenVINO 2021.4 needs one."""

from __future__ import annotations

from irloop.dialects.openvino.shape import Reshape, Squeeze, Unsqueeze
from irloop.graph.builder import shape_of
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type

__all__ = ["ConstantReshapes"]


class ConstantReshapes(MatcherPass):
    """Replaces Reshape, Squeeze and Unsqueeze by a Reshape to a constant shape.

    This applies if the second operand, a shape or axes, is computed by the model, but the shape of
    the result is known.

    Given::

        y [3,4] = Squeeze(x [1,3,4], axes)      axes is computed, one element

    Result::

        y [3,4] = Reshape(x, Const [3,4])

    OpenVINO 2021.4 needs a constant second operand, and refuses a computed one.
    """

    name = "constant_reshapes"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type((Reshape, Squeeze, Unsqueeze))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        data, operand = (*node.inputs, None)[:2]
        dims = shape_of(node.output).static()
        if data is None or operand is None or dims is None or 0 in dims:
            return False
        if rewriter.inference.constant(operand) is not None:
            return False
        emitter = Emitter(rewriter, node, node.name)
        made = emitter(Reshape(), data, emitter.constant(list(dims)))
        rewriter.replace_node(node, [made])
        return True
