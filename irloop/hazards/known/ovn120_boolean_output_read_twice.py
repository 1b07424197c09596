"""OVN120: a boolean loop output behind a Convert without effect."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.convert import Convert
from irloop.graph.builder import element_of
from irloop.graph.model import Node
from irloop.graph.types import ElementType
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import is_loop

__all__ = ["BooleanOutputReadTwice"]


class BooleanOutputReadTwice(
    Hazard,
    code="OVN120",
    engine="openvino",
    versions=("2026.4.1",),
    title="A boolean loop output behind a Convert without effect",
    effect=Effect.WRONG,
    fix="Replace the Convert by LogicalOr of the value with itself.",
):
    """A boolean loop output behind a Convert without effect.

    What happens:
        The Convert gives output 0 of the loop instead of the one that it reads.
    Where:
        A Convert from boolean to boolean reads an output of a Loop other than the first.
    What irloop does:
        Conversion to IR writes LogicalOr of the value with itself.
    """

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, Convert) or node.op.destination_type is not ElementType.BOOLEAN:
            return
        given = node.inputs[0]
        if given is None or element_of(given) is not ElementType.BOOLEAN:
            return
        if is_loop(given.producer) and given.index > 0:
            yield f"Convert {node.name!r} changes nothing about output {given.index} of a loop"
