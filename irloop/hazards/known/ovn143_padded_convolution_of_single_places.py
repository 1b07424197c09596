"""OVN143: a padded 1 x 1 convolution with strides."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.convolution import Convolution
from irloop.graph.model import Node
from irloop.hazards.convolutions import pads_skipped_data
from irloop.hazards.hazard import Effect, Hazard

__all__ = ["PaddedConvolutionOfSinglePlaces"]


class PaddedConvolutionOfSinglePlaces(
    Hazard,
    code="OVN143",
    engine="openvino",
    versions=("2026.4.1",),
    title="A padded 1 x 1 convolution with strides",
    effect=Effect.WRONG,
    case="padded_convolution_of_single_places",
    fix="Write the convolution as a GroupConvolution of one group.",
):
    """A padded 1 x 1 convolution with strides.

    What happens:
        The transformation StridesOptimization moves the strides before the operation that computes
        the data, as if the convolution had no padding: with strides of 2 it pads every second
        element instead of reading every second element of the padded data. The output has another
        shape and wrong values.
    Where:
        A Convolution has filters of size 1 along each spatial axis, and padding of its own or a Pad
        before it. An elementwise operation or another Convolution computes its data. The first
        Convolution itself has strides, or a Convolution with strides reads its result.
    What irloop does:
        Conversion to IR writes the convolution as a GroupConvolution of one group, past which
        OpenVINO does not move strides.
    """

    operations = (Convolution,)

    def find(self, node: Node) -> Iterator[str]:
        if pads_skipped_data(node):
            yield f"{node.name!r} is a padded 1 x 1 convolution, and strides skip elements"
