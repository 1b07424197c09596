"""Copies outputs of loops for the readers that would read old memory in OpenVINO's CPU plugin."""

from __future__ import annotations

from collections.abc import Set

from irloop.analysis.patterns import is_loop
from irloop.analysis.plugin import joined_repeatedly, looks_up_memory, reads_earlier_memory
from irloop.dialects.openvino.control_flow import Loop, TensorIterator
from irloop.faults.repair import Repair
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Op
from irloop.graph.walk import all_nodes
from irloop.passes.base import ModelPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.session import Session
from irloop.passes.writers import writer_at

__all__ = ["ReadLoopsByCopies"]


class ReadLoopsByCopies(Repair, ModelPass):
    """Copies loop outputs for operations that would read old memory in OpenVINO.

    The operations that get the copy are loops, a Concat that gets an output of known size more than
    once, and all readers of an output that the graph also returns. If the loop is in the body of
    another loop, all readers that are not elementwise get the copy.

    Given::

        y [?, 4] = Loop(n, ...)    output y    z = SoftMax(y)

    Result::

        y [?, 4] = Loop(n, ...)    output y    c = Maximum(y, y)    z = SoftMax(c)

    Faults OVN124, OVN141, OVN142 and OVN150 are the reason. The copy itself never reads old
    memory.
    """

    name = "read_loops_by_copies"
    # It depends on the readers of outputs, so it follows the passes that change them.
    after = ("operation_forms",)
    dialects = frozenset({"openvino"})

    def concerns(self, kinds: Set[type[Op]]) -> bool:
        return Loop in kinds or TensorIterator in kinds

    def run_on_model(self, model: Model) -> bool:
        outputs = [
            value
            for node in all_nodes(model.graph)
            if is_loop(node)
            for value in node.outputs
            if _readers(value) and not self.transformation_callback(node)
        ]
        if not outputs:
            return False
        session = Session(model)
        for value in outputs:
            graph = value.producer.graph
            assert graph is not None
            _read_by_copy(value, session.rewriter(graph), model)
        return True


def _readers(value: Value) -> list[tuple[Node, int]]:
    repeated = [(user, at) for user, at in joined_repeatedly(value) if not looks_up_memory(user)]
    return repeated or reads_earlier_memory(value)


def _read_by_copy(value: Value, rewriter: MatchRewriter, model: Model) -> None:
    readers = _readers(value)
    node = value.producer
    copy = writer_at(model, rewriter, node.following, node.name).own_copy(value)
    for user, position in readers:
        rewriter.set_input(user, position, copy)
