"""Protects outputs of loops that are model outputs from OpenVINO's CPU plugin."""

from __future__ import annotations

from irloop.dialects.openvino.control_flow import Loop, TensorIterator
from irloop.dialects.openvino.shape import ShapeOf3
from irloop.dialects.openvino.slicing import Slice
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Result
from irloop.graph.types import ElementType
from irloop.graph.walk import all_nodes
from irloop.passes.base import ModelPass
from irloop.passes.common.body_barriers import copy_of
from irloop.passes.forms import Emitter
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.session import Session

__all__ = ["ReadLoopsByCopies"]

LOOPS = (Loop, TensorIterator)

#: Operations that look up the memory of their inputs in each inference.
CAREFUL = (ShapeOf3, Slice, Result)


class ReadLoopsByCopies(ModelPass):
    """Lets readers of a loop output that is also a model output read a copy of it.

    Given::

        y [?, 4] = Loop(n, ...)    output y    z = SoftMax(y)

    Result::

        y [?, 4] = Loop(n, ...)    output y    c = Maximum(y, y)    z = SoftMax(c)

    In each inference OpenVINO 2026.4 places an output of unknown size in other memory, but SoftMax
    and MatMul keep reading the memory of the first inference. Elementwise operations do not.
    """

    name = "read_loops_by_copies"
    dialects = frozenset({"openvino"})

    def run_on_model(self, model: Model) -> bool:
        found = [
            value
            for node in all_nodes(model.graph)
            if isinstance(node.op, LOOPS)
            for value in node.outputs
            if _is_shown(value) and any(not _is_careful(user) for user, _ in value.uses)
        ]
        if not found:
            return False
        session = Session(model)
        for value in found:
            graph = value.producer.graph
            assert graph is not None
            _read_by_copy(value, session.rewriter(graph))
        return True


def _is_shown(value: Value) -> bool:
    """True for a value of unknown size, other than strings, that is a result of its graph."""
    if shape_of(value).is_static or element_of(value) is ElementType.STRING:
        return False
    return any(isinstance(user.op, Result) for user, _ in value.uses)


def _is_careful(user: Node) -> bool:
    return isinstance(user.op, CAREFUL)


def _read_by_copy(value: Value, rewriter: MatchRewriter) -> None:
    uses = [use for use in value.uses if not _is_careful(use[0])]
    node = value.producer
    copy = copy_of(value, Emitter(rewriter, node.following, node.name).emit)
    for user, position in uses:
        rewriter.set_input(user, position, copy)
