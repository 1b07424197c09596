"""Finds loops and branches that depend on constants only."""

from __future__ import annotations

from collections.abc import Iterable

from irloop.analysis.patterns import read_inputs
from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.openvino import control_flow as ov
from irloop.graph.model import Graph, Node, Value
from irloop.graph.walk import all_graphs, all_nodes, has_op

__all__ = ["BRANCHES", "LOOPS", "constant_loops", "constant_values", "is_pure"]

LOOPS = (ov.Loop, ov.TensorIterator, onnx.Loop, onnx.Scan, onnx.Scan8)

BRANCHES = (ov.If, onnx.If)


def constant_loops(graph: Graph) -> frozenset[str]:
    """The names of loops with constant outputs, and of Ifs with a constant condition.

    A value is constant if it is computed from constants only. Loops and Ifs in nested bodies are
    included.
    """
    names: set[str] = set()
    if not has_op(graph, *LOOPS, *BRANCHES):
        return frozenset()
    for one in all_graphs(graph):
        found = constant_values(one, ())
        names |= {
            node.name
            for node in one.nodes
            if isinstance(node.op, LOOPS) and node.outputs and found.issuperset(node.outputs)
        }
        names |= {
            node.name
            for node in one.nodes
            if isinstance(node.op, BRANCHES) and node.inputs[0] in found
        }
    return frozenset(names)


def constant_values(graph: Graph, known: Iterable[Value]) -> set[Value]:
    """The values of a graph that depend only on constants and on `known` values."""
    constant = set(known)
    for node in graph.nodes:
        if constant.issuperset(read_inputs(node)) and is_pure(node):
            constant.update(node.outputs)
    return constant


def is_pure(node: Node) -> bool:
    """Return whether a node and the nodes in its bodies have no effect but their outputs."""
    bodies = (inner for body in node.bodies for inner in all_nodes(body.graph))
    return node.op.pure and all(inner.op.pure for inner in bodies)
