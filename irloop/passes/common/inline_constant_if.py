"""Replaces an If by the branch that its constant condition selects."""

from __future__ import annotations

from irloop.dialects.onnx.control_flow import If as OnnxIf
from irloop.dialects.openvino.control_flow import If as OpenVinoIf
from irloop.graph.clone import clone_into
from irloop.graph.model import Model
from irloop.passes.base import PassConfig
from irloop.passes.forms import Forms
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.scalars import scalar_ranges

__all__ = ["InlineConstantIf"]


class InlineConstantIf(MatcherPass):
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

    def pattern(self) -> Pattern:
        return wrap_type((OnnxIf, OpenVinoIf))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        condition = node.inputs[0]
        known = None if condition is None else rewriter.inference.constant(condition)
        if known is None or known.size != 1:
            return False
        body = node.body("then" if bool(known.reshape(-1)[0]) else "else")
        parameters = []
        for index in range(len(body.graph.parameters)):
            port = body.ports.by_parameter.get(index)
            value = None if port is None else node.inputs[port.external]
            if value is None:
                return False
            parameters.append(value)
        results = clone_into(body.graph, rewriter, parameters, before=node)
        given = {port.external: results[port.result] for port in body.ports.outputs}
        if len(given) != len(node.outputs):
            return False
        dialect = "onnx" if isinstance(node.op, OnnxIf) else "openvino"
        forms = Forms(Model(rewriter.graph, dialect, 0), rewriter, node, node.name)
        outputs = [forms.named_apart(given[at], value) for at, value in enumerate(node.outputs)]
        rewriter.replace_node(node, outputs)
        return True
