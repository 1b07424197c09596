"""OVN170: a TensorIterator whose trip count is the range of an output that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.loops import Concatenated
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import counted_by_unread_ports

__all__ = ["UnreadOutputCounts"]


class UnreadOutputCounts(
    Hazard,
    code="OVN170",
    engine="openvino",
    versions=("2026.4.1",),
    title="A TensorIterator whose trip count is the range of an output that nothing reads",
    effect=Effect.WRONG,
    case="iterator_unread_output_counts",
    passes=("tensor_iterator_to_loop",),
):
    """A TensorIterator whose trip count is the range of an output that nothing reads.

    What happens:
        The plugin removes the output, and with it the trip count: the body runs once.
    Where:
        A TensorIterator slices no input. The range of a concatenated output, such as 0 to 4, sets
        its trip count, and no output of the model depends on that output.
    What irloop does:
        Conversion to IR and `transform` write a Loop with that trip count.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        for port in counted_by_unread_ports(node)[:1]:
            if isinstance(port, Concatenated):
                yield (
                    f"nothing reads output {port.external}, whose range {port.start} to {port.end} "
                    "sets the trip count"
                )
