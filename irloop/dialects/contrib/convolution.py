"""Convolutions of ONNX Runtime, and group normalisation.

Some convolutions include an addition and an activation, others have the channels last.
"""

from __future__ import annotations

from collections.abc import Sequence

from irloop.dialects import inference
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.matmul import activated
from irloop.dialects.contrib.normalization import LARGER_EPSILON, inverse_root, widened
from irloop.dialects.contrib.steps import Steps
from irloop.dialects.writing.known_inputs import needed_element, needed_rank
from irloop.dialects.writing.writer import RefusedError
from irloop.graph.arguments import Arguments
from irloop.graph.model import Value
from irloop.graph.types import ValueType

__all__ = ["FusedConv", "GroupNorm", "NhwcConv", "NhwcFusedConv", "SkipGroupNorm"]


def channels_first(s: Steps, x: Value) -> Value:
    """[batch, ..., channels] as [batch, channels, ...]."""
    rank = needed_rank(s, x)
    return s.moved(x, rank - 1, 1, rank)


def channels_last(s: Steps, x: Value) -> Value:
    """[batch, channels, ...] as [batch, ..., channels]."""
    rank = needed_rank(s, x)
    return s.moved(x, 1, rank - 1, rank)


class _Convolution(ContribOp):
    auto_pad: str = "NOTSET"
    dilations: tuple[int, ...] = ()
    group: int = 1
    kernel_shape: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    def convolved(self, s: Steps, x: Value, w: Value, b: Value | None) -> Value:
        """Convolve data `x` with weights `w`, and add the bias `b` if it is not None.

        Axis 1 of `x` is that of the channels.
        """
        return s.op(
            "Conv",
            *(x, w, b),
            auto_pad=self.auto_pad,
            dilations=self.dilations,
            group=self.group,
            kernel_shape=self.kernel_shape,
            pads=self.pads,
            strides=self.strides,
        )


class _ActivatedConvolution(_Convolution):
    activation: str = ""
    activation_params: tuple[float, ...] = ()

    def activated(self, s: Steps, x: Value) -> Value:
        """Apply the activation of a convolution."""
        first, second, third, *_ = (*self.activation_params, 0.0, 0.0, 0.0)
        return activated(s, x, self.activation, first, second, third)


class FusedConv(_ActivatedConvolution, type="FusedConv", inputs=(2, 4)):
    """``activation(Conv(x, w, b) + z)``."""

    operands = "x: T, w: T, b?: T, z?: T -> T where T: f16 | f32 | f64"

    def decompose(self, s: Steps, x: Value, w: Value, b: Value | None, z: Value | None) -> Value:
        found = self.convolved(s, x, w, b)
        return self.activated(s, found if z is None else s.add(found, z))


class NhwcConv(_Convolution, type="NhwcConv", inputs=(2, 3)):
    """Conv of x [batch, ..., channels], channels last, with the same filters as Conv."""

    operands = "x: T, w: T, b?: T -> T where T: f16 | f32 | f64"

    def decompose(self, s: Steps, x: Value, w: Value, b: Value | None) -> Value:
        return channels_last(s, self.convolved(s, channels_first(s, x), w, b))


class NhwcFusedConv(_ActivatedConvolution, type="NhwcFusedConv", inputs=(2, 4)):
    """``activation(Conv(x, w, b) + z)`` with the channels of x, z and the result last."""

    operands = "x: T, w: T, b?: T, z?: T -> T where T: f16 | f32"

    def decompose(self, s: Steps, x: Value, w: Value, b: Value | None, z: Value | None) -> Value:
        found = channels_last(s, self.convolved(s, channels_first(s, x), w, b))
        return self.activated(s, found if z is None else s.add(found, z))


class _GroupNorm(ContribOp):
    activation: int
    groups: int
    channels_last: int = 1
    epsilon: float = LARGER_EPSILON

    def normed(self, s: Steps, x: Value, gamma: Value, beta: Value) -> Value:
        """Normalise each group of channels, and apply SiLU if requested; x is f32."""
        if self.activation not in (0, 1):
            raise RefusedError(f"its activation {self.activation} is not known")
        first = channels_first(s, x) if self.channels_last else x
        rows = s.reshape(first, [0, self.groups, -1])
        centred = s.subtract(rows, s.reduce("Mean", rows, [2]))
        inverse = inverse_root(s, s.reduce("Mean", s.multiply(centred, centred), [2]), self.epsilon)
        shape = [-1, *[1] * (needed_rank(s, x) - 2)]
        scaled = s.reshape_to(s.multiply(centred, inverse), s.shape_of(first))
        scaled = s.multiply(scaled, s.reshape(widened(s, gamma), shape))
        scaled = s.add(scaled, s.reshape(widened(s, beta), shape))
        if self.activation:
            scaled = s.multiply(scaled, s.op("Sigmoid", scaled))
        return channels_last(s, scaled) if self.channels_last else scaled


class GroupNorm(_GroupNorm, type="GroupNorm", inputs=3):
    """Normalises groups of channels and scales each channel; with `activation` 1 applies SiLU."""

    operands = "x: T, gamma: M, beta: M -> T where T: f16 | f32, M: f16 | f32"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return inference.same_as_first(args)

    def decompose(self, s: Steps, x: Value, gamma: Value, beta: Value) -> Value:
        return s.convert(self.normed(s, widened(s, x), gamma, beta), needed_element(s, x))


class SkipGroupNorm(_GroupNorm, type="SkipGroupNorm", inputs=(4, 5), outputs=None):
    """GroupNorm of the sum x + skip + bias; the optional output 1 is the sum itself.

    `skip` has the shape of x, or is one vector for each item: [batch, channels] or [batch, 1, 1,
    channels].
    """

    operands = (
        "x: T, gamma: M, beta: M, skip: T, bias?: T -> T, sum?: T where T: f16 | f32, M: f16 | f32"
    )

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return [args.tensor(0)] * args.n_outputs

    def decompose(
        self, s: Steps, x: Value, gamma: Value, beta: Value, skip: Value, bias: Value | None
    ) -> Sequence[Value]:
        added = widened(s, skip)
        if needed_rank(s, skip) == 2:
            added = s.unsqueeze(added, [1, 2] if self.channels_last else [2, 3])
        total = s.add(widened(s, x), added)
        if bias is not None:
            shape = [-1] if self.channels_last else [-1, 1, 1]
            total = s.add(total, s.reshape(widened(s, bias), shape))
        result = self.normed(s, total, gamma, beta)
        return s.convert(result, needed_element(s, x)), s.convert(total, needed_element(s, x))
