"""ORT119: weights in f32 between quantised data."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx.quantize import DequantizeLinear10, DequantizeLinear13
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.onnx_products import QUANTISED_PRODUCTS, has_weights_that_become_integers

__all__ = ["FloatWeightsBetweenQuantisedData"]


class FloatWeightsBetweenQuantisedData(
    Hazard,
    code="ORT119",
    engine="onnxruntime",
    versions=("1.32.0",),
    title="Weights in f32 between quantised data",
    effect=Effect.WRONG,
    case="float_weights_between_quantised_data",
    fix="Quantise the weights, too, with a scale for each output channel.",
):
    """Weights in f32 between quantised data.

    What happens:
        The optimiser quantises the weights to 8 bits, with one scale for all of them, although the
        model does not quantise them. Small weights beside large ones become 0; results of
        convolutions differed by up to 5 steps of their quantisation.
    Where:
        A Conv, ConvTranspose or Gemm reads data from a DequantizeLinear with one scale, and its
        weights are a constant in f32. Only a QuantizeLinear reads the result, possibly after
        Relu or Clip.
    What irloop does:
        Conversion to ONNX inserts Max(d, d) between the DequantizeLinear, whose result is d, and
        the product.
    """

    operations = QUANTISED_PRODUCTS
    beside = (DequantizeLinear10, DequantizeLinear13)

    def find(self, node: Node) -> Iterator[str]:
        if has_weights_that_become_integers(node):
            yield f"{node.op.type} {node.name!r} has weights in f32 between quantised data"
