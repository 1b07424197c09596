"""Computes what depends on constants only, through the bodies of loops and branches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irloop.graph.inference import Inference
from irloop.graph.loops import Invariant
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import TensorType
from irloop.passes.base import ModelPass
from irloop.passes.options import option

__all__ = ["ConstantFolding"]

#: Results of more bytes than this are not stored: the model would grow.
RESULT_LIMIT = 16 << 20


@dataclass(eq=False)
class ConstantFolding(ModelPass):
    """Replaces nodes whose inputs are all constant, and constants that a body captures.

    Given::

        a = Const 2    b = Const 3
        Loop: invariant p = a;   y = x * (p + b)

    Result::

        Loop:   y = x * Const 5

    Operations with a state or random numbers stay, and so does what would take more than
    `limit` bytes.
    """

    name = "constant_folding"

    limit: int = option(RESULT_LIMIT, "the most bytes that one result may take")

    def run_on_model(self, model: Model) -> bool:
        Inference().run(model.graph)
        return self._fold(model.graph, {})

    def _fold(self, graph: Graph, known: dict[Value, Value]) -> bool:
        """Fold one graph; `known` has an outer constant for each parameter that is one."""
        rewriter = Rewriter(graph)
        first = next(graph.nodes, None)
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
        op = node.op
        if isinstance(op, Constant) or not op.pure or not op.can_run() or not node.outputs:
            return
        tensors = []
        for value in node.inputs:
            producer = None if value is None else value.producer.op
            if value is not None and not isinstance(producer, Constant):
                return
            tensors.append(producer.tensor if isinstance(producer, Constant) else None)
        if not node.inputs or not all(_fits(value, self.limit) for value in node.outputs):
            return
        arrays = [None if tensor is None else tensor.numpy() for tensor in tensors]
        made = op.kernel(len(node.outputs))(*arrays)
        results = made if isinstance(made, tuple) else (made,)
        if len(results) != len(node.outputs) or any(isinstance(item, list) for item in results):
            return
        constants = []
        for value, result in zip(node.outputs, results, strict=True):
            assert isinstance(value.type, TensorType)
            tensor = ArrayTensor(np.asarray(result), value.type.element)
            constants.append(rewriter.insert_constant(tensor, before=node, name=node.name))
        rewriter.replace_node(node, constants)


def _fits(value: Value, limit: int) -> bool:
    if not isinstance(value.type, TensorType) or not value.type.element.bits:
        return False
    count = value.type.shape.count()
    return count is not None and value.type.element.nbytes(count) <= limit


def _captured_constants(node: Node, label: str) -> dict[Value, Value]:
    body = node.body(label)
    found = {}
    for port in body.ports.inputs:
        outer = node.inputs[port.external] if port.external < len(node.inputs) else None
        if not isinstance(port, Invariant) or outer is None:
            continue
        if isinstance(outer.producer.op, Constant):
            found[body.graph.inputs[port.parameter]] = outer
    return found
