"""OVN120: a Convert to boolean reads a node that has several outputs."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.convert import Convert
from irloop.graph.model import Node
from irloop.graph.types import ElementType
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import one_of_several

__all__ = ["BooleanOutputReadTwice"]


class BooleanOutputReadTwice(
    Hazard,
    code="OVN120",
    engine="openvino",
    versions=("2026.4.1",),
    title="A Convert to boolean reads a node that has several outputs",
    effect=Effect.WRONG,
    case="openvino_loop_boolean_output",
    fix="Replace the Convert by NotEqual to 0, or by LogicalOr of a boolean with itself.",
):
    """A Convert to boolean reads a node that has several outputs.

    What happens:
        The Convert reads output 0 of its producer instead of the connected output, or the model
        does not compile.
    Where:
        A Convert to boolean reads an output of a node that has several outputs.
    What irloop does:
        Conversion to IR writes NotEqual to 0, or LogicalOr of a boolean with itself.
    """

    operations = (Convert,)

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, Convert) or node.op.destination_type is not ElementType.BOOLEAN:
            return
        given = node.inputs[0]
        if given is not None and one_of_several(given):
            yield f"Convert {node.name!r} reads output {given.index} of several"
