"""Keeps OpenVINO's CPU plugin from computing Abs in the memory of a Concat."""

from __future__ import annotations

from irloop.dialects.openvino.elementwise import Maximum, Negative
from irloop.graph.model import Graph, Model, Node
from irloop.graph.walk import all_nodes
from irloop.hazards.plugin import overwrites_its_concat
from irloop.passes.base import ModelPass
from irloop.passes.forms import Emitter
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.session import Session

__all__ = ["KeepConcatsOfAbs"]


class KeepConcatsOfAbs(ModelPass):
    """Replaces Abs of a Concat of rank 1 that something else reads.

    Given::

        c [2] = Concat(x, x)    y = Abs(c)                 z = Exp(c)

    Result::

        c [2] = Concat(x, x)    y = Maximum(c, Negative(c))    z = Exp(c)

    Hazard OVN133 is the reason: z would be computed from the absolute values.
    """

    name = "keep_concats_of_abs"
    dialects = frozenset({"openvino"})

    def run_on_model(self, model: Model) -> bool:
        if not any(overwrites_its_concat(node) for node in all_nodes(model.graph)):
            return False
        return self._visit(model.graph, Session(model))

    def _visit(self, graph: Graph, session: Session) -> bool:
        rewriter = session.rewriter(graph)
        for node in list(graph.nodes):
            for body in node.bodies:
                rewriter.modified |= self._visit(body.graph, session)
            if overwrites_its_concat(node):
                _replace(node, rewriter)
        return rewriter.modified


def _replace(node: Node, rewriter: MatchRewriter) -> None:
    data = node.inputs[0]
    assert data is not None
    emitter = Emitter(rewriter, node, node.name)
    negative = emitter.emit(Negative(), data)
    rewriter.replace_node(node, [emitter.emit(Maximum(), data, negative)])
