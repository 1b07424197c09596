"""Computes both branches of an If and selects between them, for runtimes without If."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.dialects.openvino import control_flow
from irloop.dialects.wire_ends import outward
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Body, Node, Value
from irloop.graph.walk import all_nodes
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.trips import trip_count
from irloop.passes.written_out import cloned_outputs, outer_values

__all__ = ["SelectBranches"]


class SelectBranches(NodePass):
    """Replaces an If by both of its branches and a Select for each output.

    Given::

        If(c, x):  then y = x + 1   else y = x * 2

    Result::

        y = Select(c, x + 1, x * 2)

    OpenVINO has If since opset8. Older runtimes can run the result of this pass, but compute both
    branches. Booleans are select by logical operations, because the CPU plugin refuses some
    Selects of booleans. An If is not replaced if its outputs differ in type or shape between the
    branches or are not static, or if a branch must not run unless it is taken: a branch with a
    state, random numbers, or a loop whose trip count is 0 or not constant.
    """

    name = "select_branches"
    dialects = frozenset({"openvino"})
    operations = (control_flow.If,)

    def rewrite(self, node: Node, w: NodeWriter) -> list[Value] | None:
        condition, bodies = node.inputs[0], [node.body("then"), node.body("else")]
        rank = None if condition is None else shape_of(condition).rank
        wired = [outer_values(node, body) for body in bodies]
        shown = [
            {item.output: item.result.inputs[0] for item in outward(node, body)} for body in bodies
        ]
        if condition is None or rank is None or None in wired:
            return None
        if not all(
            _have_one_static_type([values.get(output) for values in shown])
            for output in node.outputs
        ):
            return None
        if not all(_is_harmless(body, w.rewriter) for body in bodies):
            return None
        chosen = w.squeeze(condition, [0]) if rank else condition
        sides = [
            cloned_outputs(node, body, parameters or (), w.rewriter)
            for body, parameters in zip(bodies, wired, strict=True)
        ]
        return [w.select(chosen, *(side[output] for side in sides)) for output in node.outputs]


def _have_one_static_type(values: Sequence[Value | None]) -> bool:
    """Return whether all values have the same type and the same static shape."""
    first, second = values
    if first is None or second is None:
        return False
    dims = shape_of(first).static()
    same = dims is not None and dims == shape_of(second).static()
    return same and element_of(first) is element_of(second)


def _is_harmless(body: Body, rewriter: MatchRewriter) -> bool:
    """Return whether computing a branch that is not taken does no harm.

    An operation that is not pure does harm. So does a loop that may run zero iterations, because
    OpenVINO may refuse to fold it.
    """
    for node in all_nodes(body.graph):
        is_loop = isinstance(node.op, control_flow.Loop)
        if is_loop and not trip_count(node, rewriter.inference):
            # OpenVINO refuses to fold a loop that never runs and reads only constants.
            return False
        if not node.bodies and not node.op.pure:
            return False
    return True
