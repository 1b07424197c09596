"""Protects constants of one element that add dimensions, from OpenVINO's CPU plugin."""

from __future__ import annotations

from irloop.dialects.openvino.shape import Unsqueeze
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Graph, Model, Node
from irloop.graph.walk import all_nodes
from irloop.hazards.plugin import brings_dimensions
from irloop.passes.base import ModelPass
from irloop.passes.forms import Emitter
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.session import Session

__all__ = ["NarrowOneElementConstants"]


class NarrowOneElementConstants(ModelPass):
    """Uses Unsqueeze for dimensions that a result has only because of a one-element constant.

    Given::

        p [] = Gather(x [3], 0)    y [1] = Add(p, Const [1])

    Result::

        p [] = Gather(x [3], 0)    q [] = Add(p, Const [])    y [1] = Unsqueeze(q, 0)

    Hazard OVN126 is the reason.
    """

    name = "narrow_one_element_constants"
    dialects = frozenset({"openvino"})

    def run_on_model(self, model: Model) -> bool:
        if not any(brings_dimensions(node) for node in all_nodes(model.graph)):
            return False
        return self._visit(model.graph, Session(model))

    def _visit(self, graph: Graph, session: Session) -> bool:
        rewriter = session.rewriter(graph)
        for node in graph.nodes:
            for body in node.bodies:
                rewriter.modified |= self._visit(body.graph, session)
            if brings_dimensions(node):
                _narrow(node, rewriter)
        rewriter.erase_unread(list(graph.nodes) if rewriter.modified else ())
        return rewriter.modified


def _narrow(node: Node, rewriter: MatchRewriter) -> None:
    left, right = node.inputs
    assert left is not None
    assert right is not None
    known = rewriter.inference.constant(right)
    if known is None:
        return
    emitter = Emitter(rewriter, node, node.name)
    number = emitter.constant(known.reshape(()), element_of(right))
    made = emitter.emit(node.op, left, number)
    rank, more = shape_of(left).rank, shape_of(right).rank
    assert rank is not None
    assert more is not None
    axes = emitter.constant(range(more - rank))
    rewriter.replace_node(node, [emitter.emit(Unsqueeze(), made, axes)])
