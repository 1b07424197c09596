"""OVN127: sums of sums of f64 constants."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.graph.model import Node
from irloop.graph.op import Constant
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.plugin import SUMS, sums_double_constants

__all__ = ["SumsOfDoubleConstants"]


class SumsOfDoubleConstants(
    Hazard,
    code="OVN127",
    engine="openvino",
    versions=("2026.4.1",),
    title="Sums of sums of f64 constants",
    effect=Effect.HANG,
    case="sums_of_double_constants",
    fix="Compute the sums beforehand.",
):
    """Sums of sums of f64 constants.

    What happens:
        The compilation never ends: the plugin rewrites an Add of an Add of f64 constants again and
        again.
    Where:
        An Add or Subtract of f64 reads the result of another Add or Subtract of two
        constants. Its other operand is a constant, or such a result, too.
    What irloop does:
        Conversion to IR computes the sums.
    """

    operations = SUMS

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, SUMS):
            return
        producers = [value.producer for value in node.inputs if value is not None]
        sums = [item for item in producers if sums_double_constants(item)]
        if sums and all(isinstance(item.op, Constant) or item in sums for item in producers):
            yield f"{node.name!r} adds an f64 constant to a sum of f64 constants"
