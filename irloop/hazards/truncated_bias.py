"""Finds LRNs of which OpenVINO's CPU plugin truncates the bias."""

from __future__ import annotations

import math

from irloop.dialects.openvino.normalization import LRN
from irloop.graph.model import Node

__all__ = ["has_a_fractional_bias"]


def has_a_fractional_bias(node: Node) -> bool:
    """Return whether a node is an LRN with a positive, finite bias that is not a whole number."""
    return isinstance(node.op, LRN) and 0 < node.op.bias < math.inf and node.op.bias % 1 != 0
