"""Gives reductions of rank 3 another axis where OpenVINO's CPU plugin computes them wrongly."""

from __future__ import annotations

from dataclasses import replace

from irloop.dialects.openvino.reduction import Reduction
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.graph.model import Graph, Model, Node
from irloop.graph.walk import all_nodes
from irloop.hazards.plugin import reduced_wrongly
from irloop.passes.base import ModelPass
from irloop.passes.forms import Emitter
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.session import Session

__all__ = ["WidenRank3Reductions"]


class WidenRank3Reductions(ModelPass):
    """Reduces two axes, one of size 1, of a tensor of rank 3 whose result meets a constant.

    Given::

        y [N, C] = ReduceSum(x [N, C, L], 2)    z = Add(y, Const [1, C])

    Result::

        w [N, C, 1, L] = Unsqueeze(x, 2)    y = ReduceSum(w, [2, 3])    z = Add(y, Const [1, C])

    Reductions that keep the axis get it back by an Unsqueeze. Hazard OVN140 is the reason.
    """

    name = "widen_rank_3_reductions"
    dialects = frozenset({"openvino"})

    def run_on_model(self, model: Model) -> bool:
        if all(reduced_wrongly(node) is None for node in all_nodes(model.graph)):
            return False
        return self._visit(model.graph, Session(model))

    def _visit(self, graph: Graph, session: Session) -> bool:
        rewriter = session.rewriter(graph)
        for node in list(graph.nodes):
            for body in node.bodies:
                rewriter.modified |= self._visit(body.graph, session)
            axis = reduced_wrongly(node)
            if axis is not None:
                _widen(node, axis, rewriter)
        return rewriter.modified


def _widen(node: Node, axis: int, rewriter: MatchRewriter) -> None:
    op, data = node.op, node.inputs[0]
    assert isinstance(op, Reduction)
    assert data is not None
    emitter = Emitter(rewriter, node, node.name)
    place = emitter.constant([axis])
    wide = emitter.emit(Unsqueeze(), data, place)
    made = emitter.emit(replace(op, keep_dims=False), wide, emitter.constant([axis, axis + 1]))
    if op.keep_dims:
        made = emitter.emit(Unsqueeze(), made, place)
    rewriter.replace_node(node, [made])
