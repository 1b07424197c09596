"""Rewrites Selects of booleans in loops as logical operations."""

from __future__ import annotations

from irloop.dialects.openvino.comparison import Select
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.passes.forms import Emitter, selected
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["ChooseByLogic", "chooses_constants"]


class ChooseByLogic(MatcherPass):
    """Replaces a Select of booleans by logic if an operand is a constant.

    Given, in the body of a loop::

        y = Select(c, Const true, s)

    Result::

        y = (c and true) or (not c and s)

    If `c` is a constant with the same value as the operand, OpenVINO merges the two constants and
    keeps the merged constant boolean. It computes other booleans as u8, and refuses a Select
    between boolean and u8 (hazard OVN131).
    """

    name = "choose_by_logic"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Select, where=producer_is(chooses_constants))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        condition, then, otherwise = node.inputs
        if condition is None or then is None or otherwise is None:
            return False
        made = selected(Emitter(rewriter, node, node.name).emit, condition, then, otherwise)
        rewriter.replace_node(node, [made])
        return True


def chooses_constants(node: Node) -> bool:
    """True if `node` is a Select in a body with a boolean constant as one of its two choices.

    The condition does not count as a choice. The node must use NumPy broadcasting.
    """
    if not isinstance(node.op, Select) or node.graph is None or node.graph.owner is None:
        return False
    if node.op.auto_broadcast != "numpy":
        return False
    choices = [value for value in node.inputs[1:] if value is not None]
    return element_of(node.outputs[0]) is ElementType.BOOLEAN and any(
        isinstance(value.producer.op, Constant) for value in choices
    )
