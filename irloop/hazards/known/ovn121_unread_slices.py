"""OVN121: a TensorIterator whose slices nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.loops import Sliced
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import counted_by_unread_ports

__all__ = ["UnreadSlices"]


class UnreadSlices(
    Hazard,
    code="OVN121",
    engine="openvino",
    versions=("2021.4.2", "2026.4.1"),
    title="A TensorIterator whose slices nothing reads",
    effect=Effect.WRONG,
    case="iterator_unread_slices",
    passes=("tensor_iterator_to_loop",),
):
    """A TensorIterator whose slices nothing reads.

    What happens:
        The plugin removes the sliced input, and with it the trip count: the body runs once.
    Where:
        No operation in the body of a TensorIterator reads a slice, or those that read one have no
        effect on the outputs of the model.
    What irloop does:
        Conversion to IR and `transform` write a Loop whose trip count is the number of slices.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for port in counted_by_unread_ports(node)[:1]:
            if isinstance(port, Sliced):
                yield f"nothing in the body reads the slices of input {port.external}"
