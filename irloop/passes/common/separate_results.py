"""Copies body results of ONNX models where ONNX Runtime would compute them wrongly.

An example is one value that two results of a body share.
"""

from __future__ import annotations

from irloop.analysis.results import to_copy
from irloop.dialects.onnx.shape import Reshape, Reshape14
from irloop.graph.builder import element_of
from irloop.graph.model import Graph, Model, Node
from irloop.graph.types import ElementType, OptionalType, SequenceType
from irloop.graph.walk import all_nodes
from irloop.passes.base import ModelPass
from irloop.passes.session import Session

__all__ = ["SeparateResults"]


class SeparateResults(ModelPass):
    """Copies results of bodies that ONNX Runtime would otherwise compute wrongly.

    Given::

        Scan(x, parts):  s: x, s' = s    p: parts    -> last s, joined p
        If(c):  then: a = |y|   -> a, a              else: ...
        Loop(n, x), iteration i:  s: x, s' = s + i   -> last s, joined i

    Result::

        Scan(x, parts):  s: x, s' = Identity(s)    p: parts    -> last s, joined Identity(p)
        If(c):  then: a = |y|   -> a, Identity(a)              else: ...
        Loop(n, x), iteration i:  s: x, s' = s + i   -> last s, joined Identity(i)

    Measured in ONNX Runtime 1.31, with and without its optimisations:

    - It swaps the buffers of a Scan's states, and it writes each value of a Scan body or a branch
      to only one buffer. A state or a slice that is returned unchanged is lost. If two results
      return the same value, only one of them is written.
    - It counts the iterations of a Loop in one tensor. If that tensor is a scan output, every
      element has the last number; if it is a state, it has the number of the next iteration.
    - When a Loop concatenates strings, it moves them out of their tensors. If a tensor is
      concatenated twice, or is also the next value of a state, all copies but the first are empty.
      Strings are therefore copied by a Reshape: an Identity would share the tensor of a state.

    All other results of Loops are right and are not changed. Sequences are not changed before opset
    14, and optionals not before opset 16, because Identity does not accept them there.
    """

    name = "separate_results"
    dialects = frozenset({"onnx"})

    def run_on_model(self, model: Model) -> bool:
        if not model.graph.has_bodies:
            return False
        opset = model.opsets.get("", 0)
        shared = [
            (body.graph, result)
            for node in all_nodes(model.graph)
            if not self.transformation_callback(node)
            for body in node.bodies
            for result in to_copy(node, body)
            if _has_copy(result, opset)
        ]
        if not shared:
            return False
        session = Session(model)
        for graph, result in shared:
            _separate(graph, result, model, session)
        return True


def _has_copy(result: Node, opset: int) -> bool:
    value = result.inputs[0]
    if value is not None and isinstance(value.type, SequenceType):
        return opset >= 14
    if value is not None and isinstance(value.type, OptionalType):
        return opset >= 16
    return True


def _separate(graph: Graph, result: Node, model: Model, session: Session) -> None:
    value = result.inputs[0]
    assert value is not None
    rewriter = session.rewriter(graph)
    # Most models need no such change, nor the operations that it emits.
    from irloop.passes.writers import writer_at

    w = writer_at(model, rewriter, None, result.name)
    if element_of(value) is ElementType.STRING:
        op = Reshape14() if w.opset >= 14 else Reshape()
        copy = w(op, value, w.shape_of(value))
    else:
        copy = w.copied(value)
    rewriter.set_input(result, 0, copy)
