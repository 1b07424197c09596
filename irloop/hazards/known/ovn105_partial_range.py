"""OVN105: slices of a part of an axis."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino import control_flow as ov
from irloop.graph.loops import Sliced
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard

__all__ = ["PartialRange"]


class PartialRange(
    Hazard,
    code="OVN105",
    engine="openvino",
    versions=("2021.4.2", "2026.4.1"),
    title="Slices of a part of an axis",
    effect=Effect.WRONG,
    case="iterator_from_the_second_slice",
    rule="IRL619",
    passes=("canonical_ports",),
):
    """Slices of a part of an axis.

    What happens:
        The range changes only the trip count: the first slice is still the first of the axis (the
        last, if the axis is sliced backwards).
    Where:
        A sliced input has a start or end other than 0 and -1 (or -1 and 0 backwards).
    What irloop does:
        Conversion to IR, and the pass canonical_ports, slice the tensor before the loop.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, ov.TensorIterator):
            return
        for port in node.body().ports.inputs:
            if isinstance(port, Sliced) and (port.start, port.end) not in ((0, -1), (-1, 0)):
                yield f"input {port.external} is sliced from {port.start} to {port.end}"
