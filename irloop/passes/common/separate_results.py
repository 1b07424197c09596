"""Gives each result of a branch or a Scan body a value of its own."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx.convert import Identity
from irloop.graph.model import Body, Graph, Model, Node
from irloop.graph.walk import all_nodes
from irloop.passes.base import ModelPass
from irloop.passes.forms import Emitter
from irloop.passes.session import Session

__all__ = ["SeparateResults"]


class SeparateResults(ModelPass):
    """Gives each result of an If branch or a Scan body a value of its own.

    Given::

        Scan(x, parts):  s: x, s' = s    p: parts    -> last s, joined p
        If(c):  then: a = |y|   -> a, a              else: ...

    Result::

        Scan(x, parts):  s: x, s' = Identity(s)    p: parts    -> last s, joined Identity(p)
        If(c):  then: a = |y|   -> a, Identity(a)              else: ...

    ONNX Runtime swaps the buffers of a Scan's states and writes each value to one place: of a value
    that is two results it writes one, and a state or a slice that is passed on is lost. Loops are
    right there, and stay.
    """

    name = "separate_results"
    dialects = frozenset({"onnx"})

    def run_on_model(self, model: Model) -> bool:
        found = [
            (body.graph, result)
            for node in all_nodes(model.graph)
            if not self.transformation_callback(node)
            for body in node.bodies
            for result in _shared(node, body)
        ]
        if not found:
            return False
        session = Session(model)
        for graph, result in found:
            _separate(graph, result, session)
        return True


def _shared(node: Node, body: Body) -> Iterator[Node]:
    """The results of a body whose value stands elsewhere among its results or inputs."""
    if not isinstance(node.op, onnx.If | onnx.Scan | onnx.Scan8):
        return
    taken = set() if isinstance(node.op, onnx.If) else set(body.graph.inputs)
    for result in body.graph.results:
        value = result.inputs[0]
        if value in taken:
            yield result
        elif value is not None:
            taken.add(value)


def _separate(graph: Graph, result: Node, session: Session) -> None:
    value = result.inputs[0]
    assert value is not None
    rewriter = session.rewriter(graph)
    copy = Emitter(rewriter, None, result.name).emit(Identity(), value)
    rewriter.set_input(result, 0, copy)
