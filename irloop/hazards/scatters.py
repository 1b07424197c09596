"""Finds scatters that OpenVINO refuses because their indices are broadcast."""

from __future__ import annotations

from irloop.dialects.openvino.scatter import ScatterElementsUpdate
from irloop.dialects.openvino.shape import Broadcast, Broadcast3
from irloop.graph.builder import shape_of
from irloop.graph.model import Node
from irloop.hazards.patterns import number_of

__all__ = ["scatters_by_a_broadcast"]


def scatters_by_a_broadcast(node: Node) -> bool:
    """Return whether a node is a ScatterElementsUpdate-3 whose indices OpenVINO does not broadcast.

    The indices are the output of a Broadcast whose size along the scattered axis is not known.
    """
    if not isinstance(node.op, ScatterElementsUpdate):
        return False
    indices = node.inputs[1]
    if indices is None or not isinstance(indices.producer.op, Broadcast | Broadcast3):
        return False
    dims, axis = shape_of(indices).dims, number_of(node.inputs[3])
    if dims is None or axis is None or not -len(dims) <= axis < len(dims):
        return True
    return not isinstance(dims[axis], int)
