"""Finds divisions of integers that OpenVINO's CPU plugin fuses with another operation."""

from __future__ import annotations

from collections.abc import Sequence

from irloop.dialects.openvino.elementwise import Divide
from irloop.dialects.openvino.gather import Gather, Gather7, Gather8
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.reduction import Reduction
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.hazards.patterns import is_view
from irloop.hazards.shared_memory import is_copy
from irloop.hazards.sources import sources

__all__ = ["divided_inexactly"]


def divided_inexactly(node: Node) -> list[int]:
    """Return the positions of operands that the plugin may compute together with a division.

    `node` is a division of integers, and the operands are computed from a reduction or a matrix
    product; only elementwise operations, reshapes and gathers may be between. For other nodes the
    list is empty.
    """
    if not isinstance(node.op, Divide) or not element_of(node.output).is_integer:
        return []
    return [at for at, value in enumerate(node.inputs) if value is not None and _is_fused(value)]


def _is_fused(value: Value) -> bool:
    found = sources([value.producer], _inputs_computed_with)
    return any(isinstance(node.op, Reduction | MatMul) for node in found)


def _inputs_computed_with(node: Node) -> Sequence[Value | None]:
    """Return the inputs of `node` that the plugin may compute together with `node`.

    These are all inputs of an elementwise operation, a Gather or a view, unless it is a copy, and
    none of any other node.
    """
    if any(is_copy(value) for value in node.outputs):
        return ()
    follows = isinstance(node.op, Gather | Gather7 | Gather8) or is_view(node)
    return node.inputs if follows or node.op.elementwise else ()
