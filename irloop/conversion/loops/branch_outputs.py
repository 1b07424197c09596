"""Protects outputs of If that OpenVINO's CPU plugin may overwrite before they are read.

This can happen to outputs of a size that is known only at run time.
"""

from __future__ import annotations

from irloop.dialects.openvino.control_flow import If
from irloop.dialects.openvino.shape import ShapeOf3
from irloop.dialects.openvino.slicing import Slice
from irloop.graph.builder import shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Result
from irloop.graph.types import ElementType
from irloop.hazards.plugin import loses_its_memory
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["ReadBranchesBySlices", "loses_an_output"]


class ReadBranchesBySlices(MatcherPass):
    """Lets readers of an If output of unknown size read it through a Slice of the whole output.

    Given::

        y [?, 4] = If(c, ...)    z = y + w

    Result::

        y [?, 4] = If(c, ...)    s = Slice(y, [0, 0], ShapeOf(y))    z = s + w

    Hazard OVN123 is the reason. The shape of this Slice depends on values, so the plugin allocates
    memory for the operations after it only once the If has run.
    """

    name = "read_branches_by_slices"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(If, where=producer_is(loses_an_output))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        for value in match.root.outputs:
            _read_by_slice(value, rewriter)
        # The If itself was not replaced.
        return False


def loses_an_output(node: Node) -> bool:
    """True for an If with an output that another value may overwrite before the output is read."""
    return any(map(loses_its_memory, node.outputs))


def _read_by_slice(value: Value, rewriter: MatchRewriter) -> None:
    """Insert a Slice of the whole value after an If output, and connect the readers to it.

    ShapeOf nodes still read the output itself. Nothing happens unless OpenVINO may overwrite the
    output before it is read (see `loses_its_memory`).
    """
    rank = shape_of(value).rank
    if rank is None or not loses_its_memory(value):
        return
    uses = [use for use in value.uses if not isinstance(use[0].op, ShapeOf3)]
    node = value.producer
    emitter = Emitter(rewriter, node.following, node.name)
    part = emitter.emit(
        Slice(),
        value,
        emitter.constant([0] * rank),
        emitter.emit(ShapeOf3(ElementType.I64), value),
        emitter.constant([1] * rank),
        emitter.constant(range(rank)),
    )
    for user, position in uses:
        rewriter.set_input(user, position, part)
    if any(isinstance(user.op, Result) for user, _ in uses):
        part.names, value.names = value.names, ()
