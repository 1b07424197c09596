"""Folds everything that depends on constants only, including bodies of loops and branches."""

from __future__ import annotations

from dataclasses import dataclass

from irloop.dialects.wire_ends import inward
from irloop.graph.inference import Inference
from irloop.graph.loops import Invariant
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.passes.base import ModelPass
from irloop.passes.folding import RESULT_LIMIT, folded_outputs
from irloop.passes.options import option

__all__ = ["ConstantFolding"]


@dataclass(eq=False)
class ConstantFolding(ModelPass):
    """Folds nodes whose inputs are all constant, and moves captured constants into bodies.

    Given::

        a = Const 2    b = Const 3
        Loop: invariant p = a;   y = x * (p + b)

    Result::

        Loop:   y = x * Const 5

    The pass does not fold operations with a state or random numbers, results of more than `limit`
    bytes, or results that a half-precision constant would round. The pass does not remove branches
    that are never taken; inline_constant_if does. ONNX's checker may refuse such a branch if it
    contradicts the folded constants.
    """

    name = "constant_folding"

    limit: int = option(RESULT_LIMIT, "maximum number of bytes of a folded result")

    def run_on_model(self, model: Model) -> bool:
        Inference().run(model.graph)
        return self._fold(model.graph, {})

    def _fold(self, graph: Graph, known: dict[Value, Value]) -> bool:
        """Fold the constant nodes of one graph; return whether anything changed.

        `known` maps parameters of the graph to constants of the outer graph.
        """
        rewriter = Rewriter(graph)
        first = next(iter(graph.nodes), None)
        for parameter, outer in known.items():
            op = outer.producer.op
            assert isinstance(op, Constant)
            if parameter.is_used:
                name = f"{parameter.producer.name}/constant"
                own = rewriter.insert_constant(op.tensor, before=first, name=name)
                rewriter.replace_value(parameter, own, keep_names=False)
        for node in graph.nodes:
            for body in node.bodies:
                captured = _captured_constants(node, body.label)
                rewriter.modified |= self._fold(body.graph, captured)
            if not node.bodies and not self.transformation_callback(node):
                self._fold_node(node, rewriter)
        return rewriter.modified

    def _fold_node(self, node: Node, rewriter: Rewriter) -> None:
        tensors = []
        for value in node.inputs:
            producer = None if value is None else value.producer.op
            if value is not None and not isinstance(producer, Constant):
                return
            tensors.append(producer.tensor if isinstance(producer, Constant) else None)
        outputs = folded_outputs(node, tensors, self.limit)
        if outputs is None:
            return
        constants = [
            rewriter.insert_constant(tensor, before=node, name=node.name) for tensor in outputs
        ]
        rewriter.replace_node(node, constants)


def _captured_constants(node: Node, label: str) -> dict[Value, Value]:
    return {
        item.parameter: item.outer
        for item in inward(node, node.body(label))
        if isinstance(item.port, Invariant)
        and item.outer is not None
        and isinstance(item.outer.producer.op, Constant)
    }
