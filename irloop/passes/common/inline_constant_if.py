"""Replaces an If by the branch that its constant condition selects."""

from __future__ import annotations

from irloop.dialects.onnx.control_flow import If as OnnxIf
from irloop.dialects.openvino.control_flow import If as OpenVinoIf
from irloop.graph.model import Model, Node, Value
from irloop.passes.base import PassConfig
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter
from irloop.passes.scalars import scalar_ranges
from irloop.passes.written_out import cloned_outputs, outer_values

__all__ = ["InlineConstantIf"]


class InlineConstantIf(NodePass):
    """Replaces an If with a constant condition by the branch that is taken.

    Given::

        If(Const true, x):  then y = x + 1   else y = x * 2

    Result::

        y = x + 1

    If the branch only returns an input of the model, and the If is an output of the model, a copy
    is inserted between them, because the input and the output keep their names.
    """

    name = "inline_constant_if"

    def run(self, model: Model, config: PassConfig) -> bool:
        modified = super().run(model, config)
        return modified and (scalar_ranges(model) or modified)

    operations = (OnnxIf, OpenVinoIf)

    def rewrite(self, node: Node, w: NodeWriter) -> list[Value] | None:
        condition = node.inputs[0]
        known = None if condition is None else w.rewriter.inference.constant(condition)
        if known is None or known.size != 1:
            return None
        body = node.body("then" if bool(known.reshape(-1)[0]) else "else")
        parameters = outer_values(node, body)
        if parameters is None:
            return None
        given = cloned_outputs(node, body, parameters, w.rewriter)
        if len(given) != len(node.outputs):
            return None
        return [w.named_apart(given[value], value) for value in node.outputs]
