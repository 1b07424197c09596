"""OVN128: a Convert without effect from an input to an output."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.convert import Convert
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.plugin import passes_an_input_on

__all__ = ["ConvertWithoutEffect"]


class ConvertWithoutEffect(
    Hazard,
    code="OVN128",
    engine="openvino",
    versions=("2026.4.1",),
    title="A Convert without effect from an input to an output",
    effect=Effect.WRONG,
    case="convert_without_effect",
    fix="Replace the Convert by Maximum(x, x).",
):
    """A Convert without effect from an input to an output.

    What happens:
        The plugin removes the Convert and uses the memory of the input as the memory of the output.
        The next inference writes its output into the memory of the earlier input, which the caller
        may have freed, so the output has wrong values.
    Where:
        A Convert leads from an input of the model to an output. It converts to the element type
        that the input has already: f32, i32, i8 or u8. The size of the input is unknown.
    What irloop does:
        Conversion to IR writes the maximum of the input with itself.
    """

    operations = (Convert,)

    def find(self, node: Node) -> Iterator[str]:
        if passes_an_input_on(node):
            yield f"Convert {node.name!r} returns an input of the model unchanged"
