"""OVN111: a TensorIterator directly in the body of another."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino import control_flow as ov
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard

__all__ = ["IteratorInIterator"]


class IteratorInIterator(
    Hazard,
    code="OVN111",
    engine="openvino",
    versions=("2021.4.2", "2026.4.1"),
    title="A TensorIterator directly in the body of another",
    effect=Effect.REFUSAL,
    case="iterator_in_iterator",
    rule="IRL522",
    passes=("tensor_iterator_to_loop",),
):
    """A TensorIterator directly in the body of another.

    What happens:
        The model is not compiled.
    Where:
        The body of a TensorIterator contains a TensorIterator.
    What irloop does:
        Conversion to IR writes a Loop for one of the two.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        owner = None if node.graph is None else node.graph.owner
        if owner is None or not isinstance(node.op, ov.TensorIterator):
            return
        if isinstance(owner.op, ov.TensorIterator):
            yield f"it is in the body of TensorIterator {owner.name!r}"
