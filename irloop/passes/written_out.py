"""Replaces a node by a graph that computes the same."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.dialects.onnx.base import OnnxOp
from irloop.dialects.onnx.convert import Identity
from irloop.dialects.wire_ends import inward, outward
from irloop.graph.clone import clone_into
from irloop.graph.model import Body, Graph, Node, Value
from irloop.passes.match_rewriter import MatchRewriter

__all__ = ["outer_values", "replace_by_graph"]


def replace_by_graph(
    node: Node,
    graph: Graph,
    inputs: Sequence[Value],
    computed: Sequence[int],
    rewriter: MatchRewriter,
) -> None:
    """Copy the nodes of `graph` before `node`, and erase `node`.

    `inputs` are the values that the parameters of `graph` stand for. Its results replace the
    outputs of `node` at the positions `computed`; nothing may read the other outputs. A result that
    is one of `inputs` is copied in ONNX, because both may be inputs and outputs of the model and
    must keep their names. If nothing reads an output of `node`, nothing replaces it.
    """
    if not computed:
        rewriter.erase(node)
        return
    made = dict(zip(computed, clone_into(graph, rewriter, inputs, before=node), strict=True))
    for value in node.outputs:
        if value.index not in made:
            # Nothing reads this output, so any value may replace it.
            value.names = ()
            made[value.index] = made[computed[0]]
        elif isinstance(node.op, OnnxOp) and made[value.index] in inputs:
            copy = rewriter.insert(
                Identity(), (made[value.index],), before=node, name=f"{node.name}/Identity"
            )
            made[value.index] = copy.output
    rewriter.replace_node(node, [made[position] for position in range(len(node.outputs))])


def outer_values(node: Node, body: Body) -> list[Value] | None:
    """Return the outer value of each parameter of a branch, in order.

    Returns None if nothing is connected to one of the parameters.
    """
    outer = {item.parameter: item.outer for item in inward(node, body)}
    values = [outer.get(parameter) for parameter in body.graph.inputs]
    found = [value for value in values if value is not None]
    return found if len(found) == len(values) else None


def cloned_outputs(
    node: Node, body: Body, parameters: Sequence[Value], rewriter: MatchRewriter
) -> dict[Value, Value]:
    """Insert a copy of a branch before `node`; return what it returns for each output of `node`."""
    made = clone_into(body.graph, rewriter, parameters, before=node)
    results = dict(zip(body.graph.results, made, strict=True))
    return {item.output: results[item.result] for item in outward(node, body)}
