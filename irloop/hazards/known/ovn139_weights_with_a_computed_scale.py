"""OVN139: constant weights of 8 bits or fewer with a computed scale."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.convert import Convert
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.products import scaled_by_a_computed_value

__all__ = ["WeightsWithAComputedScale"]


class WeightsWithAComputedScale(
    Hazard,
    code="OVN139",
    engine="openvino",
    versions=("2026.4.1",),
    title="Constant weights of 8 bits or fewer with a computed scale",
    effect=Effect.WRONG,
    case="weights_with_a_computed_scale",
    fix="Convert the weights in two steps: to f16 and then to f32.",
):
    """Constant weights of 8 bits or fewer with a computed scale or zero point.

    What happens:
        The plugin keeps weights, scale and zero point of the first inference, or the memory that
        they were in: later inferences multiply by old or undefined values.
    Where:
        After a Convert of a constant of at most 8 bits comes a Multiply by a computed value, or a
        Subtract of a computed value and then a Multiply. A MatMul or a convolution reads the
        result.
    What irloop does:
        Conversion to IR converts the weights in two steps. They keep their narrow type in the file,
        and the plugin does not treat the Multiply as a constant scale.
    """

    operations = (Convert,)

    def find(self, node: Node) -> Iterator[str]:
        if scaled_by_a_computed_value(node):
            yield f"the weights {node.name!r} have a computed scale or zero point"
