"""Reshapes inputs of Range in ONNX models to scalars if they have one element.

Range requires scalars. Passes that fold shapes or inline branches may give it constants [1], which
ONNX Runtime refuses.
"""

from __future__ import annotations

from irloop.dialects.onnx.generate import Range
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Model, Node
from irloop.graph.walk import all_graphs
from irloop.passes.node_writer import NodeWriter
from irloop.passes.session import Session
from irloop.passes.writers import writer_at

__all__ = ["scalar_ranges"]


def scalar_ranges(model: Model) -> bool:
    """Reshape inputs of Ranges in an ONNX model to scalars if they have one element.

    Returns True if anything changed.

    Range-11 requires scalars. ONNX Runtime also accepts tensors with one element, but no constants
    of rank 1. Passes that fold shapes or inline branches may create such constants, so they call
    this function afterwards.
    """
    if model.dialect != "onnx":
        return False
    graphs = list(all_graphs(model.graph))
    ranges = [[node for node in graph.nodes if isinstance(node.op, Range)] for graph in graphs]
    if not any(ranges):
        return False
    session = Session(model)
    modified = False
    for graph, nodes in zip(graphs, ranges, strict=True):
        rewriter = session.rewriter(graph)
        for node in nodes:
            modified |= _with_scalars(node, writer_at(model, rewriter, node, node.name))
    return modified


def _with_scalars(node: Node, w: NodeWriter) -> bool:
    modified = False
    for position, value in enumerate(node.inputs):
        if value is None or shape_of(value).rank in (None, 0) or shape_of(value).count() != 1:
            continue
        known = w.rewriter.inference.constant(value)
        scalar = (
            w.reshape(value, ())
            if known is None
            else w.constant(known.reshape(()), element_of(value))
        )
        w.rewriter.set_input(node, position, scalar)
        modified = True
    return modified
