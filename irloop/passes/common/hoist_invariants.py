"""Moves loop-invariant computations out of the loop."""

from __future__ import annotations

from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.wire_ends import inward
from irloop.graph.loops import Invariant
from irloop.graph.model import Body, Node, Value
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.passes.loop_pass import EachLoop
from irloop.passes.loop_wires import LOOPS
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.wire_removal import add_invariant, drop_inputs, drop_parameters

__all__ = ["HoistInvariants"]


class HoistInvariants(EachLoop):
    """Moves nodes that read only invariants and constants out of loop bodies.

    Given::

        Loop: invariants x, w;   y = Relu(w)   s' = s + x * y

    Result::

        p = x * Relu(w)
        Loop: invariant p;   s' = s + p

    The pass changes inner loops first, so that a value may leave several loops. Moved nodes are
    computed even if the loop never runs. Operations with a state or random results are not moved,
    nor are nodes that produce a result of the body.
    """

    name = "hoist_invariants"
    loops = (*LOOPS, onnx.Scan8)

    def change_loop(self, node: Node, rewriter: MatchRewriter) -> None:
        _Hoist(node, rewriter).run()


class _Hoist:
    """Moves invariant computations of one loop body to the graph around the loop.

    These are nodes that depend only on invariants and constants.
    """

    def __init__(self, node: Node, rewriter: MatchRewriter) -> None:
        self.node = node
        self.outer = rewriter
        self.inner = Rewriter(node.body().graph)
        #: For each inner value that is invariant, the equal outer value.
        self.equal: dict[Value, Value] = {}

    def run(self) -> None:
        body = self.node.body()
        for item in inward(self.node, body):
            if isinstance(item.port, Invariant) and item.outer is not None:
                self.equal[item.parameter] = item.outer
        moved = [node for node in body.graph.nodes if self._move(node)]
        if not moved:
            return
        for node in moved:
            for value in node.outputs:
                if any(user not in moved for user, _ in value.uses):
                    self.inner.replace_value(value, self._capture(value), keep_names=False)
        for node in reversed(moved):
            self.inner.erase(node)
        self._drop_unread()

    def _move(self, node: Node) -> bool:
        op = node.op
        if node.bodies or isinstance(op, Constant) or not op.pure or not op.can_run():
            return False
        given = [value for value in node.inputs if value is not None]
        if not any(value in self.equal for value in given):
            return False
        varying = (value for value in given if value not in self.equal)
        if not all(isinstance(value.producer.op, Constant) for value in varying):
            return False
        if any(value.is_output for value in node.outputs):
            # The body would return a parameter unchanged; engines lose such a value, or refuse it.
            return False
        inputs = tuple(None if value is None else self._outside(value) for value in node.inputs)
        new = self.outer.insert(
            op,
            inputs,
            before=self.node,
            name=node.name,
            n_outputs=len(node.outputs),
            types=tuple(value.type for value in node.outputs),
        )
        new.info, new.attributes = node.info, node.attributes
        self.equal.update(zip(node.outputs, new.outputs, strict=True))
        return True

    def _outside(self, value: Value) -> Value:
        if value not in self.equal:
            op = value.producer.op
            assert isinstance(op, Constant)
            name = value.producer.name
            self.equal[value] = self.outer.insert_constant(op.tensor, before=self.node, name=name)
        return self.equal[value]

    def _capture(self, value: Value) -> Value:
        """Add an invariant to the loop for a hoisted value; return the new body parameter."""
        name = self.outer.names.fresh(value.producer.name)
        return add_invariant(self.node, self.equal[value], name, self.outer)

    def _drop_unread(self) -> None:
        body: Body = self.node.body()
        unread = {
            item.parameter
            for item in inward(self.node, body)
            if isinstance(item.port, Invariant) and not item.parameter.is_used
        }
        if unread:
            drop_parameters(self.node, body, unread, self.outer)
            drop_inputs(self.node, self.outer)
