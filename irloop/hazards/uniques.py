"""Finds Uniques that OpenVINO computes wrongly because one of their outputs is not used."""

from __future__ import annotations

from irloop.dialects.openvino.search import Unique
from irloop.graph.model import Node

__all__ = ["groups_without_inverse"]


def groups_without_inverse(node: Node) -> bool:
    """Return whether a node is an unsorted Unique of single elements without inverse indices.

    The inverse indices (output 2) count as missing if nothing reads them.
    """
    if not isinstance(node.op, Unique) or node.op.sorted or node.inputs[1:] not in ((), (None,)):
        return False
    return not node.outputs[2].is_used
