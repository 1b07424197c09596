"""The passes that write ONNX's operations for integers of 8 bits."""

from __future__ import annotations

from collections.abc import Set

from irloop.graph.model import Model
from irloop.graph.op import Op
from irloop.passes.base import Pass, PassConfig
from irloop.passes.graph_rewrite import GraphRewrite, LocalPass

__all__ = ["quantised_forms"]

#: Types instead of classes, because their modules are imported only for models that need them.
_ROUNDING = frozenset({"DynamicQuantizeLinear", "QuantizeLinear", "Round"})


def quantised_forms() -> list[Pass]:
    """The passes that write operations on quantised values, in the order in which they must run.

    Weights are quantised only after the data that they multiply, and biases only after both data
    and weights.

    On x64 processors without VNNI, ONNX Runtime adds products of u8 and i8 in pairs that saturate
    at i16. Weights are i8 nevertheless: with u8 weights, ONNX Runtime would take 1.6 times as long
    on processors with VNNI.
    """
    return [_Rewrite(group) for group in range(4)]


def _matchers(group: int) -> list[LocalPass]:
    """Return the matchers of the pass with index `group`.

    Their modules are imported here, because only models that round or quantise need them.
    """
    from irloop.conversion.quantised.biases import QuantisedBiases
    from irloop.conversion.quantised.dynamic import DynamicRanges
    from irloop.conversion.quantised.integer_products import IntegerProducts
    from irloop.conversion.quantised.integer_weights import QuantisedWeights, TransposedWeights
    from irloop.conversion.quantised.integers import QuantisedIntegers
    from irloop.conversion.quantised.moves import QuantisedMeans, QuantisedMoves
    from irloop.conversion.quantised.quantise_dequantise import QuantisedPairs

    groups: list[list[LocalPass]] = [
        [QuantisedPairs(), QuantisedIntegers(), DynamicRanges()],
        [IntegerProducts(), QuantisedMoves(), QuantisedMeans()],
        [QuantisedWeights(), TransposedWeights()],
        [QuantisedBiases()],
    ]
    return groups[group]


class _Rewrite(GraphRewrite):
    """Runs its matcher passes, but only on a model that rounds or quantises values."""

    name = "quantised"

    def __init__(self, group: int) -> None:
        super().__init__([])
        self._group = group

    def concerns(self, kinds: Set[type[Op]]) -> bool:
        return any(kind.type in _ROUNDING for kind in kinds)

    def run(self, model: Model, config: PassConfig) -> bool:
        self.matchers = self.matchers or _matchers(self._group)
        return super().run(model, config)
