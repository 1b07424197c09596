"""Flattens Selects of more than five dimensions, because OpenVINO 2021.4 crashes on them."""

from __future__ import annotations

from irloop.analysis.plugin import selects_many_dimensions
from irloop.dialects.openvino.comparison import Select
from irloop.dialects.openvino.shape import Broadcast3, Reshape
from irloop.graph.builder import shape_of
from irloop.graph.model import Value
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["FlattenSelects"]


class FlattenSelects(MatcherPass):
    """Flattens the operands of a Select whose output has more than five dimensions.

    Given::

        y = Select(c, x, z)    six dimensions, all sizes known

    Result::

        y = Reshape(Select(Reshape(c, -1), Reshape(x, -1), Reshape(z, -1)), ...)

    Operands whose shape differs from the output's are broadcast first; one-element operands are not
    changed. Hazard OVN205 is the reason.
    """

    name = "flatten_selects"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(Select, where=producer_is(selects_many_dimensions))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        dims = shape_of(node.output).static()
        given = [value for value in node.inputs if value is not None]
        known = all(shape_of(value).static() is not None for value in given)
        if dims is None or len(given) != 3 or not known or not isinstance(node.op, Select):
            return False
        if node.op.is_pdpd:
            return False
        emitter = Emitter(rewriter, node, node.name)
        flat = [_flat(emitter, value, list(dims)) for value in given]
        chosen = emitter.emit(Select(), *flat)
        whole = emitter.emit(Reshape(), chosen, emitter.constant(list(dims)))
        rewriter.replace_node(node, [whole])
        return True


def _flat(emitter: Emitter, value: Value, dims: list[int]) -> Value:
    """Flatten an operand of a Select, so that it fits the flattened output.

    `value` must have a known shape. It is broadcast to `dims`, the sizes of the output, and then
    reshaped to one dimension. A value of one element is not broadcast; its result has the shape
    [1].
    """
    shape = shape_of(value)
    if shape.count() != 1 and list(shape.static() or ()) != dims:
        value = emitter.emit(Broadcast3(), value, emitter.constant(dims))
    return emitter.emit(Reshape(), value, emitter.constant([-1]))
