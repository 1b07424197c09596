"""The passes that write ONNX's operations for integers of 8 bits."""

from __future__ import annotations

from irloop.conversion.quantised.biases import QuantisedBiases
from irloop.conversion.quantised.dynamic import DynamicRanges
from irloop.conversion.quantised.float_weights import KeepFloatWeights
from irloop.conversion.quantised.integer_products import IntegerProducts
from irloop.conversion.quantised.integers import QuantisedIntegers
from irloop.conversion.quantised.pairs import QuantisedPairs
from irloop.conversion.quantised.weights import QuantisedWeights
from irloop.dialects.onnx.elementwise import Round
from irloop.dialects.onnx.quantize import DynamicQuantizeLinear, QuantizeLinear13
from irloop.graph.model import Model
from irloop.graph.walk import all_nodes
from irloop.passes.base import Pass, PassConfig
from irloop.passes.graph_rewrite import GraphRewrite, MatcherPass

__all__ = ["SINCE", "quantised_forms"]

#: The first opset whose QuantizeLinear and DequantizeLinear have an axis.
SINCE = 13

_ROUNDING = (DynamicQuantizeLinear, QuantizeLinear13, Round)


def quantised_forms() -> list[Pass]:
    """The passes in order: weights depend on the data of their product, and biases on both.

    On x64 processors without VNNI, ONNX Runtime adds products of u8 and i8 in pairs that saturate
    at i16. Weights are i8 nevertheless: with u8 weights, ONNX Runtime would take 1.6 times as long
    on processors with VNNI.
    """
    groups: list[list[MatcherPass]] = [
        [QuantisedPairs(), QuantisedIntegers(), DynamicRanges()],
        [IntegerProducts()],
        [QuantisedWeights()],
        [QuantisedBiases()],
        [KeepFloatWeights()],
    ]
    return [_Rewrite(group) for group in groups]


class _Rewrite(GraphRewrite):
    """Runs the passes if the model rounds or quantises values."""

    name = "quantised"

    def run(self, model: Model, config: PassConfig) -> bool:
        rounds = any(isinstance(node.op, _ROUNDING) for node in all_nodes(model.graph))
        return rounds and super().run(model, config)
