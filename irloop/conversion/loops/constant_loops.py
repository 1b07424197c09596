"""Folds loops that depend on constants only: OpenVINO's constant folding cannot run all of them."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.errors import IrloopError
from irloop.execution.limits import Limits
from irloop.execution.session import Session
from irloop.graph.clone import clone_graph, clone_upstream
from irloop.graph.model import Graph, Model, Node
from irloop.graph.rewriter import Rewriter
from irloop.graph.tensor import ArrayTensor, Tensor
from irloop.graph.types import TensorType
from irloop.graph.walk import all_graphs, all_nodes
from irloop.passes.base import ModelPass
from irloop.passes.common.fold_shapes import FoldShapes
from irloop.passes.folding import RESULT_LIMIT

__all__ = ["FoldConstantLoops", "FoldLoopShapes"]

LOOPS = (ov.Loop, ov.TensorIterator, onnx.Loop, onnx.Scan, onnx.Scan8)

#: The budget of one loop: longer loops are left to the engine.
LIMITS = Limits(iterations=1000, memory_bytes=1 << 28)

#: The budget of all loops of a model together.
SECONDS = 10.0


class FoldLoopShapes(FoldShapes):
    """Folds values that depend on known shapes only, in models with loops.

    Given::

        n = Gather(Shape(x [2, 3]), 1)    Loop(4, true, n):  s: n, s' = s + s   -> last s

    Result::

        n = Const 3    Loop(4, true, n):  s: n, s' = s + s   -> last s

    OpenVINO folds these values too, and then finds loops that depend on constants only. Copies the
    graph if anything is folded.
    """

    name = "fold_loop_shapes"
    keeps_results = False

    def run_on_model(self, model: Model) -> bool:
        if not any(isinstance(node.op, LOOPS) for node in all_nodes(model.graph)):
            return False
        work = replace(model, graph=clone_graph(model.graph))
        if not super().run_on_model(work):
            return False
        model.graph = work.graph
        return True


class FoldConstantLoops(ModelPass):
    """Runs loops whose inputs are all constant and stores their results.

    Given::

        m = Const 3    h = Const [1, 2]    Loop(m, true, h):  s: h, s' = s + s   -> last s

    Result::

        Const [8, 16]

    OpenVINO folds such a Loop too, but fails if it, or a Loop in it, runs zero times. A loop that
    needs more than a thousand iterations, 256 MB or ten seconds is left as it is. Copies the graph
    if anything is folded.
    """

    name = "fold_constant_loops"

    def run_on_model(self, model: Model) -> bool:
        graphs = all_graphs(model.graph)
        if not any(_constant_loops(graph) for graph in graphs):
            return False
        work = replace(model, graph=clone_graph(model.graph))
        if not _fold(work, work.graph, time.monotonic() + SECONDS):
            return False
        model.graph = work.graph
        return True


def _fold(model: Model, graph: Graph, end: float) -> bool:
    """Fold the loops of one graph, then those of the remaining bodies."""
    rewriter = Rewriter(graph)
    for node in _constant_loops(graph):
        tensors = _outputs(model, node, end - time.monotonic())
        if tensors is not None:
            made = [rewriter.insert_constant(t, before=node, name=node.name) for t in tensors]
            rewriter.replace_node(node, made)
    for node in graph.nodes:
        for body in node.bodies:
            rewriter.modified |= _fold(model, body.graph, end)
    return rewriter.modified


def _constant_loops(graph: Graph) -> list[Node]:
    """The loops of a graph that depend on constants only, in order."""
    if not any(isinstance(node.op, LOOPS) for node in graph.nodes):
        return []
    constant: set[Node] = set()
    found = []
    for node in graph.nodes:
        given = [value.producer for value in node.inputs if value is not None]
        if not _is_pure(node) or not constant.issuperset(given):
            continue
        constant.add(node)
        if isinstance(node.op, LOOPS):
            found.append(node)
    return found


def _is_pure(node: Node) -> bool:
    bodies = (inner for body in node.bodies for inner in all_nodes(body.graph))
    return node.op.pure and all(inner.op.pure for inner in bodies)


def _outputs(model: Model, node: Node, seconds: float) -> list[Tensor] | None:
    """Run a loop that depends on constants; None if it exceeds the budget."""
    types = [value.type for value in node.outputs]
    if seconds <= 0 or not all(isinstance(type, TensorType) for type in types):
        return None
    try:
        session = Session(replace(model, graph=clone_upstream(node)))
        found = session.run((), limits=replace(LIMITS, seconds=seconds)).values()
    except (
        IrloopError
    ):  # A loop that cannot be run is left as it is; the engine reports the reason.
        return None
    tensors: list[Tensor] = []
    for array, type in zip(found, types, strict=True):
        assert isinstance(type, TensorType)
        if not isinstance(array, np.ndarray) or array.nbytes > RESULT_LIMIT:
            return None
        if type.element.bits < 8 or array.dtype != type.element.numpy():
            return None
        tensors.append(ArrayTensor(array, type.element))
    return tensors
