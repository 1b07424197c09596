"""OVN166: an LRN whose bias is not a whole number."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.normalization import LRN
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.truncated_bias import has_a_fractional_bias

__all__ = ["FractionalBias"]


class FractionalBias(
    Hazard,
    code="OVN166",
    engine="openvino",
    versions=("2026.4.1",),
    title="An LRN whose bias is not a whole number",
    effect=Effect.WRONG,
    case="lrn_with_a_fractional_bias",
    fix="Divide alpha and the bias by the bias, and multiply the result by bias ^ -beta.",
):
    """An LRN whose bias is not a whole number.

    What happens:
        The CPU plugin truncates the bias to a whole number: it computes with 1 instead of 1.5.
    Where:
        Every LRN whose bias has a fractional part.
    What irloop does:
        Conversion to IR writes an LRN with a bias of 1 and multiplies its result.
    """

    operations = (LRN,)

    def find(self, node: Node) -> Iterator[str]:
        if has_a_fractional_bias(node):
            yield f"the bias of {node.name!r} is not a whole number"
