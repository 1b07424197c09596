"""OVN109: a part_size of 0."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.loops import Concatenated, Sliced
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop

__all__ = ["PartSizeZero"]


class PartSizeZero(
    Hazard,
    code="OVN109",
    engine="openvino",
    versions=("2021.4.2", "2026.4.1"),
    title="A part_size of 0",
    effect=Effect.CRASH,
    case="iterator_part_size_zero",
    rule="IRL615",
    fix="Set part_size to the number of elements of a slice.",
):
    """A part_size of 0.

    What happens:
        The process crashes while the file is read.
    Where:
        A port map entry has part_size 0.
    What irloop does:
        Validation refuses the file.
    """

    only_with_body = True

    def find(self, node: Node) -> Iterator[str]:
        if not is_loop(node):
            return
        ports = node.body().ports
        for port in (*ports.inputs, *ports.outputs):
            if isinstance(port, Sliced | Concatenated) and port.part_size <= 0:
                yield f"the part_size of port {port.external} is {port.part_size}"
