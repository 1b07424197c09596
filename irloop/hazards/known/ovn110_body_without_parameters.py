"""OVN110: a TensorIterator whose body has no Parameter."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino import control_flow as ov
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard

__all__ = ["BodyWithoutParameters"]


class BodyWithoutParameters(
    Hazard,
    code="OVN110",
    engine="openvino",
    versions=("2026.4.1",),
    title="A TensorIterator whose body has no Parameter",
    effect=Effect.CRASH,
    case="iterator_without_parameters",
    rule="IRL523",
    fix="Use a Loop.",
):
    """A TensorIterator whose body has no Parameter.

    What happens:
        The process crashes.
    Where:
        The body of a TensorIterator has no Parameter.
    What irloop does:
        Conversion to IR writes a Loop.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, ov.TensorIterator) and not node.body().graph.inputs:
            yield "the body has no Parameter"
