"""Folds everything that is known from shapes alone, also in the bodies of loops and branches."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from irloop.dialects.wire_ends import inward
from irloop.graph.builder import element_of
from irloop.graph.loops import Invariant
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType
from irloop.passes.base import ModelPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.scalars import scalar_ranges
from irloop.passes.session import Session

__all__ = ["FoldShapes"]


class FoldShapes(ModelPass):
    """Folds small integers and booleans that inference knows, and copies them into bodies.

    Given::

        n = Gather(ShapeOf(x [2, 3]), 1)
        Loop: invariant p = n;   y = Reshape(s, Concat(p, -1))

    Result::

        Loop:   y = Reshape(s, Const [3, -1])

    The pass folds only integers and booleans, so that weights in narrow types keep their size on
    disk. Model outputs are not folded.
    """

    name = "fold_shapes"
    #: True if nodes whose outputs are outputs of the graph are not folded.
    keeps_results: ClassVar[bool] = True

    def run_on_model(self, model: Model) -> bool:
        modified = False
        while self._fold(model.graph, Session(model)):
            modified = True
        return modified and (scalar_ranges(model) or modified)

    def _fold(self, graph: Graph, session: Session) -> bool:
        rewriter = session.rewriter(graph)
        for node in graph.nodes:
            if self.transformation_callback(node):
                continue
            for body in node.bodies:
                rewriter.modified |= _enter_constants(node, body.label, session)
                rewriter.modified |= self._fold(body.graph, session)
            if not node.bodies:
                _fold_node(node, rewriter, keeps_results=self.keeps_results)
        rewriter.erase_unread(list(graph.nodes) if rewriter.modified else ())
        return rewriter.modified


def _known(value: Value, session: Session | MatchRewriter) -> ArrayTensor | None:
    """Return `value` as a tensor, or None if inference does not know its elements.

    Inference knows the elements of small values only. The result is also None if they are neither
    integers nor booleans.
    """
    element = element_of(value)
    if not element.is_integer and element is not ElementType.BOOLEAN:
        return None
    array = session.inference.constant(value)
    return None if array is None else ArrayTensor(np.asarray(array), element)


def _enter_constants(node: Node, label: str, session: Session) -> bool:
    """Replace invariants that are small constants by copies in the body; True if there were any."""
    body = node.body(label)
    inner = Rewriter(body.graph)
    first = next(iter(body.graph.nodes), None)
    for port, _, outer, parameter, _ in inward(node, body):
        if not isinstance(port, Invariant) or outer is None or not parameter.is_used:
            continue
        tensor = _known(outer, session)
        if tensor is not None and tensor.element is element_of(parameter):
            name = session.names.fresh(f"{parameter.producer.name}/constant")
            own = inner.insert_constant(tensor, before=first, name=name)
            inner.replace_value(parameter, own, keep_names=False)
    return inner.modified


def _fold_node(node: Node, rewriter: MatchRewriter, *, keeps_results: bool) -> None:
    if isinstance(node.op, Constant) or not node.op.pure or not node.outputs:
        return
    if keeps_results and any(value.is_output for value in node.outputs):
        return
    tensors = [_known(value, rewriter) for value in node.outputs]
    known = [tensor for tensor in tensors if tensor is not None]
    if len(known) != len(tensors):
        return
    constants = [
        rewriter.insert_constant(tensor, before=node, name=f"{node.name}/folded")
        for tensor in known
    ]
    rewriter.replace_node(node, constants)
