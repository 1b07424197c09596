"""OVN116: divide of negative integers."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.elementwise import Divide
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard

__all__ = ["DivisionOfNegativeIntegers"]


class DivisionOfNegativeIntegers(
    Hazard,
    code="OVN116",
    engine="openvino",
    versions=("2026.4.1",),
    title="Divide of negative integers",
    effect=Effect.WRONG,
    fix="Use FloorMod and Subtract to round down before the division.",
):
    """Divide of negative integers.

    What happens:
        The quotient is truncated although m_pythondiv is true, and the specification says that it
        is rounded down.
    Where:
        A Divide of signed integers with m_pythondiv.
    What irloop does:
        Nothing: the specification is followed.
    """

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, Divide) or not node.op.m_pythondiv:
            return
        first = node.inputs[0]
        if first is not None and str(element_of(first)) in ("i8", "i16", "i32", "i64"):
            yield f"Divide {node.name!r} of {element_of(first)} rounds towards zero"
