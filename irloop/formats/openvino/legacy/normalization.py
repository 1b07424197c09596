"""Normalizations of versions 2 to 7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from irloop.dialects.openvino import activation, elementwise, pooling
from irloop.dialects.openvino import normalization as today
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.legacy.activation import channels_of
from irloop.formats.openvino.legacy.base import Dims, Dims2, LayerFault, LegacyLayer
from irloop.formats.openvino.legacy.elementwise import per_channel
from irloop.formats.openvino.legacy.steps import Steps
from irloop.graph.model import Value
from irloop.graph.op import attribute


class Norm(LegacyLayer, type="Norm", inputs=1):
    """x / (k + alpha / n * (sum of squares))^beta, over neighbours in channels or in space."""

    aliases: ClassVar = {"local-size": ("local_size",)}

    alpha: float = 1.0
    beta: float = 0.75
    local_size: int = attribute(name="local-size", least=1, default=5)
    #: The engine of then read it as an integer: 1.5 is 1.
    k: int = 1
    region: Literal["across", "same"] = attribute(default="across")

    def build(self, s: Steps, x: Value) -> Value:
        rank = s.rank(x)
        if rank < 2:
            raise LayerFault("needs an input with channels", found=f"{rank} dimensions")
        across = self.region == "across"
        axes = [1] if across else list(range(2, rank))
        # A window of an even size is that of the next smaller odd size.
        size = self.local_size - (self.local_size + 1) % 2
        parts = size if across else size ** len(axes)
        window = self.local_size if across else self.local_size ** len(axes)
        if across:
            op = today.LRN(self.alpha * parts / window, self.beta, float(self.k), size)
            return s(op, x, s.i64(axes))
        # The sum of squares is an average over the window, times its size.
        half = (size // 2,) * len(axes)
        mean = pooling.AvgPool(
            kernel_size=(size,) * len(axes),
            strides=(1,) * len(axes),
            pads_begin=half,
            pads_end=half,
            exclude_pad=False,
        )
        total = s(mean, s.multiply(x, x))
        base = s.add(s.multiply(total, s.number(self.alpha * parts / window)), s.number(self.k))
        return s.divide(x, s.power(base, self.beta))

    def fault_of_then(self, layer: Layer) -> str:
        if self.local_size % 2 or self.region == "across":
            return ""
        return (
            "has a window of the next smaller odd size; the engine of 2020 took the even size that "
            "is written if a CPU with AVX-512 computed a multiple of 16 channels"
        )


class LRN(Norm, type="LRN", inputs=1):
    """Another name of Norm."""


class Normalize(LegacyLayer, type="Normalize", inputs=1):
    """x / sqrt(sum of squares + eps) * weights; the sum is that of the channels, or of all."""

    across_spatial: bool = False
    channel_shared: bool = False
    eps: float = 1e-10
    needed: ClassVar[tuple[str, ...]] = ("weights",)

    def weights(self, inputs: Dims2, outputs: Dims2) -> Mapping[str, Dims]:
        return {"weights": (1,) if self.channel_shared else (channels_of(inputs[0]),)}

    def build(self, s: Steps, x: Value) -> Value:
        dims = s.dims(x)
        axes = list(range(1, len(dims))) if self.across_spatial else [1]
        if len(dims) < 2:
            axes = [0]
        made = s(today.NormalizeL2(self.eps, "add"), x, s.i64(axes))
        return s.multiply(made, s.weights("weights", per_channel(dims, s.shapes["weights"])))


class MVN(LegacyLayer, type="MVN", inputs=1):
    """x minus its mean, divided by sqrt(variance + eps) if `normalize_variance`."""

    eps: float
    across_channels: bool = False
    normalize_variance: bool = True

    def build(self, s: Steps, x: Value) -> Value:
        rank = s.rank(x)
        # The engine of then computed only the first row of two dimensions, and read the memory
        # behind an input of three.
        if rank < 4 and not (rank == 2 and self.across_channels and s.dims(x)[0] == 1):
            raise LayerFault("needs an input of 4 or 5 dimensions", found=str(s.dims(x)))
        axes = list(range(1 if self.across_channels else 2, rank))
        op = today.MVN6(self.normalize_variance, self.eps, "inside_sqrt")
        return s(op, x, s.i64(axes))


class GRN(LegacyLayer, type="GRN", inputs=1):
    """x / sqrt(sum of squares of the channels + bias)."""

    bias: float = 1.0

    def build(self, s: Steps, x: Value) -> Value:
        if s.rank(x) > 4:
            # The engine of then mixed the values of different places.
            raise LayerFault("needs an input of at most 4 dimensions", found=str(s.rank(x)))
        if s.rank(x) == 4:
            return s(activation.GRN(self.bias), x)
        squares = s.multiply(x, x)
        # Each element of one dimension is a batch item.
        total = s.add(
            s.reduce("Sum", squares, [1]) if s.rank(x) > 1 else squares, s.number(self.bias)
        )
        return s.divide(x, s(elementwise.Sqrt(), total))
