"""Protects outputs of loops that are model outputs from OpenVINO's CPU plugin."""

from __future__ import annotations

from irloop.graph.model import Model, Value
from irloop.graph.walk import all_nodes
from irloop.hazards.plugin import keeps_its_memory, looks_up_memory
from irloop.passes.base import ModelPass
from irloop.passes.common.body_barriers import copy_of
from irloop.passes.forms import Emitter
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.session import Session

__all__ = ["ReadLoopsByCopies"]


class ReadLoopsByCopies(ModelPass):
    """Lets readers of a loop output that is also a model output read a copy of it.

    Given::

        y [?, 4] = Loop(n, ...)    output y    z = SoftMax(y)

    Result::

        y [?, 4] = Loop(n, ...)    output y    c = Maximum(y, y)    z = SoftMax(c)

    Hazard OVN124 is the reason. Elementwise operations do not have it.
    """

    name = "read_loops_by_copies"
    dialects = frozenset({"openvino"})

    def run_on_model(self, model: Model) -> bool:
        found = [
            value
            for node in all_nodes(model.graph)
            for value in node.outputs
            if keeps_its_memory(value)
            and not all(looks_up_memory(user) for user, _ in value.uses)
            and not self.transformation_callback(node)
        ]
        if not found:
            return False
        session = Session(model)
        for value in found:
            graph = value.producer.graph
            assert graph is not None
            _read_by_copy(value, session.rewriter(graph))
        return True


def _read_by_copy(value: Value, rewriter: MatchRewriter) -> None:
    uses = [use for use in value.uses if not looks_up_memory(use[0])]
    node = value.producer
    copy = copy_of(value, Emitter(rewriter, node.following, node.name).emit)
    for user, position in uses:
        rewriter.set_input(user, position, copy)
