"""Divisions of integers that OpenVINO's CPU plugin computes as part of another operation."""

from __future__ import annotations

from irloop.dialects.openvino.elementwise import Divide
from irloop.dialects.openvino.gather import Gather, Gather7, Gather8
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.reduction import Reduction
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.hazards.memory import is_copy
from irloop.hazards.patterns import is_view

__all__ = ["divided_inexactly"]

#: The most operations that are looked at between a reduction and a division.
_SOURCES = 64


def divided_inexactly(node: Node) -> list[int]:
    """The positions of operands of an integer division that come from a reduction or a product.

    Only elementwise operations, reshapes and gathers are between the reduction or the matrix
    product and the division.
    """
    if not isinstance(node.op, Divide) or not element_of(node.output).is_integer:
        return []
    return [at for at, value in enumerate(node.inputs) if value is not None and _is_fused(value)]


def _is_fused(value: Value) -> bool:
    pending, seen = [value], {value}
    while pending and len(seen) < _SOURCES:
        found = pending.pop()
        node = found.producer
        if isinstance(node.op, Reduction | MatMul):
            return True
        if is_copy(found):
            continue
        if node.op.elementwise or is_view(node) or isinstance(node.op, Gather | Gather7 | Gather8):
            more = {item for item in node.inputs if item is not None} - seen
            seen |= more
            pending += more
    return False
