"""Finds Pads whose fill value is computed; OpenVINO's CPU plugin uses a wrong value."""

from __future__ import annotations

from irloop.dialects.openvino.padding import Pad, Pad12
from irloop.graph.model import Node
from irloop.graph.op import Constant
from irloop.hazards.sources import is_computed_from_inputs

__all__ = ["pads_with_a_computed_value"]


def pads_with_a_computed_value(node: Node) -> bool:
    """Return whether a node is a Pad with constant sizes and a computed pad value.

    The Pad must have the mode constant. Its value counts as computed if it may depend on an input
    of the graph, a variable or a random number.
    """
    if not isinstance(node.op, Pad | Pad12) or len(node.inputs) < 4:
        return False
    _, begins, ends, value = node.inputs
    if node.op.pad_mode.lower() != "constant" or begins is None or ends is None or value is None:
        return False
    if not all(isinstance(sizes.producer.op, Constant) for sizes in (begins, ends)):
        return False
    return is_computed_from_inputs(value.producer) is not False
