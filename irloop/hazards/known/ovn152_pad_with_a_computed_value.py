"""OVN152: a Pad by constant sizes with a value that is computed."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.padding import Pad, Pad12
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.pads import pads_with_a_computed_value

__all__ = ["PadWithAComputedValue"]


class PadWithAComputedValue(
    Hazard,
    code="OVN152",
    engine="openvino",
    versions=("2026.4.1",),
    title="A Pad by constant sizes with a value that is computed",
    effect=Effect.STALE,
    case="pad_with_a_computed_value",
    fix="Pad with 0, and Select the value where a mask that is padded alike is false.",
):
    """A Pad by constant sizes with a value that is computed.

    What happens:
        The CPU plugin reads the value when it prepares the Pad, before the value is computed. It
        pads with 0, with uninitialised memory or with the value of an earlier inference.
    Where:
        A Pad of mode constant whose pads_begin and pads_end are constant, and whose pad value
        depends on an input of the graph. With computed sizes the Pad is right.
    What irloop does:
        Conversion to IR pads with 0 and selects the value outside of the data.
    """

    operations = (Pad, Pad12)

    def find(self, node: Node) -> Iterator[str]:
        if pads_with_a_computed_value(node):
            yield f"the value of {node.name!r} is computed"
