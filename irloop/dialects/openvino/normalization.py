"""Normalisation in OpenVINO."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Axes
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import Shape, ValueType

__all__ = [
    "LRN",
    "MVN1",
    "MVN2",
    "MVN6",
    "BatchNormInference1",
    "BatchNormInference5",
    "GroupNormalization",
    "NormalizeL2",
]


def _channel_parameters(args: Arguments, data: int, *positions: int) -> list[ValueType]:
    """Check that inputs `positions` have one element per channel of input `data`.

    Returns the type of `data`.
    """
    shape = args.shape(data)
    if shape.rank is not None and shape.rank < 2:
        raise args.error("data has no channels", "rank 2 or more", f"rank {shape.rank}")
    for position in positions:
        vector = args.shape(position)
        if vector.refine(Shape.of(shape.dim(1) if shape.rank else None)) is None:
            expected = f"[{shape.dim(1)}]" if shape.rank else "rank 1"
            raise args.error(
                f"input {position} must have one element per channel", expected, str(vector)
            )
    return [args.tensor(data)]


def _along_axes(args: Arguments) -> list[ValueType]:
    """The type of input 0, if it has the axes that input 1 lists."""
    for axis in args.ints(1) or ():
        inference.axis_in(args, axis, args.rank(0))
    return inference.same_as_first(args)


class BatchNormInference1(OpenVinoOp, type="BatchNormInference", since=1, inputs=5):
    """Normalises by given statistics; all inputs but data have one value per channel.

    Inputs: gamma, beta, data, mean, variance. BatchNormInference-0 is in opset1 to opset4.
    """

    operands = "gamma: T, beta: T, data: T, mean: T, variance: T -> T where T: float"
    cost = "linear"

    epsilon: float = attribute(least=0, absent="0")

    def infer(self, args: Arguments) -> list[ValueType]:
        return _channel_parameters(args, 2, 0, 1, 3, 4)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.batch_norm_data_third(self.epsilon)


class BatchNormInference5(OpenVinoOp, type="BatchNormInference", since=5, inputs=5):
    """Normalises data by a given mean and variance, then applies gamma and beta.

    Inputs data, gamma, beta, mean, variance; all but data have one value per channel
    (BatchNormInference-5).
    """

    operands = "data: T, gamma: T, beta: T, mean: T, variance: T -> T where T: float"
    cost = "linear"

    epsilon: float = attribute(least=0, absent="0")

    def infer(self, args: Arguments) -> list[ValueType]:
        return _channel_parameters(args, 0, 1, 2, 3, 4)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.batch_norm(self.epsilon)


class MVN2(OpenVinoOp, type="MVN", since=2, inputs=1):
    """Subtracts the mean and, optionally, divides by sqrt(variance + eps) (MVN-2).

    The statistics are taken over the spatial axes and, with `across_channels`, over the channels. A
    file may give `reduction_axes` instead: OpenVINO 2026.4 only looks whether axis 1 is among them.
    """

    operands = "data: number | boolean -> number | boolean"
    cost = "linear"

    normalize_variance: bool = attribute(absent="false")
    eps: float = 1e-9
    across_channels: bool = False
    reduction_axes: tuple[int, ...] = ()

    def axes(self, rank: int) -> tuple[int, ...]:
        """The axes of the statistics for data of this rank."""
        axes = self.reduction_axes
        across = 1 in axes if axes else self.across_channels
        return tuple(range(1 if across else 2, rank))

    def infer(self, args: Arguments) -> list[ValueType]:
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.mvn_by_rank(
            self.axes, scale_variance=self.normalize_variance, epsilon=self.eps
        )


class MVN1(MVN2, type="MVN", since=1, until=1, inputs=1):
    """MVN in files of opset1; it computes the same as MVN-2 (MVN-1)."""


class MVN6(OpenVinoOp, type="MVN", since=6, inputs=2):
    """Subtracts the mean over the axes of input 1 (MVN-6).

    With `normalize_variance` the result is divided by the standard deviation. `eps_mode` adds eps
    to the variance (inside_sqrt) or to its root (outside_sqrt).
    """

    meanings = (Axes(1, data=0),)

    operands = "data: number | boolean, axes: float | integer -> number | boolean"
    cost = "linear"

    normalize_variance: bool = attribute(absent="false")
    eps: float = 1e-9
    eps_mode: str = attribute(default="inside_sqrt", words=("inside_sqrt", "outside_sqrt"))

    @property
    def is_inside(self) -> bool:
        """Return whether eps is added to the variance."""
        return self.eps_mode.lower() == "inside_sqrt"

    def infer(self, args: Arguments) -> list[ValueType]:
        self.check_words(args, "eps_mode")
        return _along_axes(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.mvn_by_input(
            scale_variance=self.normalize_variance, epsilon=self.eps, inside=self.is_inside
        )


class LRN(OpenVinoOp, type="LRN", since=1, inputs=2):
    """x / (bias + alpha / size^n * sum of squares in a window)^beta (LRN-1).

    Input 1 lists the n axes of the window. Along each of them the window reaches (size - 1) // 2
    elements to either side.
    """

    meanings = (Axes(1, data=0),)

    operands = "data: number | small | boolean, axes: integer -> number | small | boolean"
    shapes = "*, ?"

    alpha: float
    beta: float
    bias: float
    size: int = attribute(least=1)

    def infer(self, args: Arguments) -> list[ValueType]:
        return _along_axes(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        side = (self.size - 1) // 2
        return kernels.normalization.lrn(
            self.alpha, self.beta, self.bias, self.size, before=side, after=side
        )


class NormalizeL2(OpenVinoOp, type="NormalizeL2", since=1, inputs=2):
    """x divided by its Euclidean norm over the axes in input 1 (NormalizeL2-1).

    eps is added to the sum of squares (`eps_mode` add) or is its lower bound (max).
    """

    meanings = (Axes(1, data=0),)

    operands = "data: number | boolean, axes: float | integer -> number | boolean"
    shapes = "*, (?)"
    cost = "linear"

    eps: float = attribute(absent="0")
    eps_mode: str = attribute(default="add", words=("add", "max"))

    @property
    def is_maximum(self) -> bool:
        """Return whether eps is a lower bound of the sum of squares, False if it is added to the
        sum.
        """
        return self.eps_mode.lower() == "max"

    def infer(self, args: Arguments) -> list[ValueType]:
        self.check_words(args, "eps_mode")
        return _along_axes(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.normalize_l2(self.eps, maximum=self.is_maximum)


class GroupNormalization(OpenVinoOp, type="GroupNormalization", since=12, inputs=3):
    """Normalises groups of channels; scale and bias are per channel (GroupNormalization-12)."""

    operands = (
        "data: number | boolean, scale: number | boolean, bias: number | boolean "
        "-> number | boolean"
    )

    num_groups: int
    epsilon: float = attribute(absent="0")

    def infer(self, args: Arguments) -> list[ValueType]:
        channels = args.shape(0).dim(1) if (args.rank(0) or 0) > 1 else None
        if self.num_groups < 1 or (isinstance(channels, int) and channels % self.num_groups):
            raise args.error(
                "the channels cannot be divided into groups",
                f"{self.num_groups} groups",
                str(channels),
            )
        return _channel_parameters(args, 0, 1, 2)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.group_norm(self.num_groups, self.epsilon)
