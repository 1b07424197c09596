"""Normalisation and dropout in ONNX."""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Portion
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import ElementType, Shape, TensorType, ValueType, broadcast_shapes

__all__ = [
    "LRN",
    "BatchNormalization7",
    "BatchNormalization9",
    "BatchNormalization14",
    "Dropout7",
    "Dropout10",
    "Dropout12",
    "GroupNormalization18",
    "GroupNormalization21",
    "InstanceNormalization",
    "LayerNormalization",
    "LpNormalization",
    "MeanVarianceNormalization",
    "RMSNormalization",
]

EPSILON = 9.999999747378752e-06

#: The largest f32 below 1.
_BELOW_1 = 1.0 - 2.0**-24


def _channel_parameters(args: Arguments, *positions: int) -> ValueType:
    """Check that the vectors at `positions` have one element per channel.

    The channels are axis 1 of input 0, which must be of a floating-point type. Returns the type of
    input 0.

    Raises:
        InferenceError: when a vector has another size, or input 0 is not of a floating-point type.
    """
    inference.floating(args, 0)
    shape = args.shape(0)
    if shape.rank is None:
        return args.tensor(0)
    channels = shape.dim(1) if shape.rank > 1 else 1
    for position in positions:
        vector = args.shape(position)
        if vector.refine(Shape.of(channels)) is None:
            expected = f"[{channels}]"
            raise args.error(
                f"input {position} must have one element per channel", expected, str(vector)
            )
    return args.tensor(0)


class BatchNormalization7(OnnxOp, type="BatchNormalization", since=7, inputs=5, outputs=None):
    """Normalisation by given statistics (BatchNormalization-7).

    With `spatial` 0 there is one parameter per element of a batch item. More than one output
    selects training, which uses the statistics of the batch.
    """

    cost = "linear"

    epsilon: float = EPSILON
    momentum: float = 0.8999999761581421
    spatial: bool = True

    def infer(self, args: Arguments) -> list[ValueType]:
        first = _channel_parameters(args, *((1, 2, 3, 4) if self.spatial else ()))
        statistic = args.tensor(3)
        return [first, *[statistic] * (args.n_outputs - 1)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if n_outputs == 1:
            return kernels.normalization.batch_norm(self.epsilon)
        return kernels.normalization.batch_norm_saved(self.epsilon, self.momentum, n_outputs)


class BatchNormalization9(OnnxOp, type="BatchNormalization", since=9, inputs=5, outputs=None):
    """Normalisation by given statistics per channel (BatchNormalization-9).

    More than one output selects training, which uses the statistics of the batch.
    """

    cost = "linear"

    epsilon: float = EPSILON
    momentum: float = 0.8999999761581421

    def infer(self, args: Arguments) -> list[ValueType]:
        first = _channel_parameters(args, 1, 2, 3, 4)
        return [first, *[args.tensor(3)] * (args.n_outputs - 1)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if n_outputs == 1:
            return kernels.normalization.batch_norm(self.epsilon)
        return kernels.normalization.batch_norm_saved(self.epsilon, self.momentum, n_outputs)


class BatchNormalization14(OnnxOp, type="BatchNormalization", since=14, inputs=5, outputs=None):
    """Normalisation by given statistics, or by those of the batch (BatchNormalization-14, 15).

    With `training_mode` outputs 1 and 2 are the running mean and variance.
    """

    cost = "linear"

    epsilon: float = EPSILON
    momentum: float = 0.8999999761581421
    training_mode: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        wanted = 3 if self.training_mode else 1
        if args.n_outputs != wanted:
            message = "running statistics are computed in training only"
            raise args.error(message, f"{wanted} outputs", str(args.n_outputs))
        first = _channel_parameters(args, 1, 2, 3, 4)
        return [first, *[args.tensor(3)] * (args.n_outputs - 1)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if not self.training_mode:
            return kernels.normalization.batch_norm(self.epsilon)
        return kernels.normalization.batch_norm_training(self.epsilon, self.momentum, n_outputs)


class InstanceNormalization(OnnxOp, type="InstanceNormalization", since=1, inputs=3):
    """Normalises each channel of each batch item (InstanceNormalization-1, 6, 22)."""

    shapes = "N C ? ..., C, C"

    epsilon: float = EPSILON

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.same_element(args)
        return [_channel_parameters(args, 1, 2)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.instance_norm(self.epsilon)


class GroupNormalization18(OnnxOp, type="GroupNormalization", since=18, inputs=3):
    """Normalises groups of channels; scale and bias are per group (GroupNormalization-18)."""

    num_groups: int
    epsilon: float = EPSILON

    def infer(self, args: Arguments) -> list[ValueType]:
        _check_groups(args, self.num_groups)
        for position in (1, 2):
            inference.require_shape(args, position, (self.num_groups,))
        inference.floating(args, 0)
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.group_norm(self.num_groups, self.epsilon)


class GroupNormalization21(OnnxOp, type="GroupNormalization", since=21, inputs=3):
    """Normalises groups of channels; scale and bias are per channel (GroupNormalization-21)."""

    num_groups: int
    epsilon: float = EPSILON
    stash_type: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        _check_groups(args, self.num_groups)
        return [_channel_parameters(args, 1, 2)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.group_norm(self.num_groups, self.epsilon)


def _check_groups(args: Arguments, groups: int) -> None:
    rank = args.rank(0)
    channels = args.shape(0).dim(1) if rank is not None and rank > 1 else None
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        raise args.error(
            "the channels cannot be divided into groups", f"{groups} groups", str(channels)
        )


class LayerNormalization(OnnxOp, type="LayerNormalization", since=17, inputs=(2, 3), outputs=None):
    """Normalises over the dimensions from `axis` on (LayerNormalization-17).

    The optional outputs 1 and 2 are mean and inverse deviation in the type `stash_type`.
    """

    cost = "linear"

    axis: int = -1
    epsilon: float = EPSILON
    stash_type: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0)
        axis = inference.axis_in(args, self.axis, args.rank(0))
        data = args.shape(0)
        kept = Shape(None)
        if data.dims is not None and axis is not None:
            kept = Shape(data.dims[:axis] + (1,) * (len(data.dims) - axis))
        for position in (1, 2):
            if args.has(position) and broadcast_shapes((data, args.shape(position))) is None:
                found = str(args.shape(position))
                raise args.error(
                    f"input {position} cannot be broadcast to the data", str(data), found
                )
        statistic: ValueType = TensorType(ElementType.F32, kept)
        return [args.tensor(0), statistic, statistic][: args.n_outputs]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.layer_norm(self.axis, self.epsilon, n_outputs)


class RMSNormalization(OnnxOp, type="RMSNormalization", since=23, inputs=2):
    """x divided by its root mean square over the dimensions from `axis` on, then scaled.

    RMSNormalization-23.
    """

    axis: int = -1
    epsilon: float = EPSILON
    stash_type: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        inference.axis_in(args, self.axis, args.rank(0))
        return [TensorType(args.element(1), args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.rms_norm(self.axis, self.epsilon)


class LpNormalization(OnnxOp, type="LpNormalization", since=1, inputs=1):
    """x divided by its norm of order `p` along `axis` (LpNormalization-1, 22)."""

    cost = "linear"

    axis: int = -1
    p: int = 2

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        inference.axis_in(args, self.axis, args.rank(0))
        if self.p not in (1, 2):
            raise args.error("order of the norm is not supported", "1 or 2", str(self.p))
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.lp_norm(self.axis, self.p)


class MeanVarianceNormalization(OnnxOp, type="MeanVarianceNormalization", since=9, inputs=1):
    """(x - mean) / (deviation + 1e-9) over the axes (MeanVarianceNormalization-9, 13)."""

    axes: tuple[int, ...] = (0, 2, 3)

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        for axis in self.axes:
            inference.axis_in(args, axis, args.rank(0))
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.mvn(self.axes, scale_variance=True, epsilon=1e-9, inside=False)


class LRN(OnnxOp, type="LRN", since=1, inputs=1):
    """x / (bias + alpha / size * sum of squares in a window of channels)^beta (LRN-1, 13).

    The window reaches (size - 1) // 2 channels down and ceil((size - 1) / 2) channels up.
    """

    size: int = attribute(least=1)
    alpha: float = 9.999999747378752e-05
    beta: float = 0.75
    bias: float = 1.0

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.lrn_channels(self.alpha, self.beta, self.bias, self.size)


class Dropout7(OnnxOp, type="Dropout", since=7, inputs=1, outputs=None):
    """The operand itself; output 1 is a mask in the type of the data (Dropout-7).

    The standard does not define the content of the mask; it holds zeros, as in ONNX Runtime.
    """

    ratio: float = 0.5

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return [args.tensor(0)] * args.n_outputs

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.no_dropout(n_outputs, mask=False, boolean=False)


class Dropout10(OnnxOp, type="Dropout", since=10, inputs=1, outputs=None):
    """The operand itself; output 1 is a boolean mask (Dropout-10).

    The standard does not define the content of the mask; it is false everywhere, as in ONNX
    Runtime.
    """

    ratio: float = 0.5

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        mask: ValueType = TensorType(ElementType.BOOLEAN, args.shape(0))
        return [args.tensor(0), mask][: args.n_outputs]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.no_dropout(n_outputs, mask=False, boolean=True)


class Dropout12(OnnxOp, type="Dropout", since=12, inputs=(1, 3), outputs=None):
    """In training (input 2) zeroes random elements, else returns the operand (Dropout-12, 13, 22).

    Input 1 is the ratio (0.5 if missing); output 1 is the mask.
    """

    pure: ClassVar[bool] = False
    meanings = (Portion(1),)
    seed: int | None = None

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0)
        for position in (1, 2):
            inference.require_rank(args, position, 0)
        inference.require_within(args, 1, 0, _BELOW_1, "the ratio")
        mask: ValueType = TensorType(ElementType.BOOLEAN, args.shape(0))
        return [args.tensor(0), mask][: args.n_outputs]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.dropout(self.seed, n_outputs)
