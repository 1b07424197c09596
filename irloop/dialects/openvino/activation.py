"""Activation functions in OpenVINO."""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import ValueType, broadcast_shapes

__all__ = [
    "GRN",
    "Activation",
    "Clamp",
    "Elu",
    "Gelu2",
    "Gelu7",
    "HSigmoid",
    "HSwish",
    "HardSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "ReLU",
    "Selu",
    "Sigmoid",
    "SoftMax1",
    "SoftMax8",
    "SoftPlus",
    "SoftSign",
    "Swish",
]


class Activation(OpenVinoOp):
    """Base of functions that map a number to one of the same type; `function` is the kernel."""

    operands = "data: number -> number"

    function: ClassVar[str] = ""

    def infer(self, args: Arguments) -> list[ValueType]:
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        function: Kernel = getattr(kernels.activation, self.function)
        return function


class ReLU(Activation, type="ReLU", since=1, inputs=1):
    """max(x, 0) (ReLU-1)."""

    elementwise = True

    function: ClassVar[str] = "relu"


class Sigmoid(Activation, type="Sigmoid", since=1, inputs=1):
    """1 / (1 + exp(-x)) (Sigmoid-1)."""

    elementwise = True

    function: ClassVar[str] = "sigmoid"


class HSwish(Activation, type="HSwish", since=4, inputs=1):
    """x * min(max(x + 3, 0), 6) / 6 (HSwish-4)."""

    elementwise = True

    function: ClassVar[str] = "hard_swish"


class HSigmoid(Activation, type="HSigmoid", since=5, inputs=1):
    """min(max(x + 3, 0), 6) / 6 (HSigmoid-5)."""

    elementwise = True

    function: ClassVar[str] = "h_sigmoid"


class Mish(Activation, type="Mish", since=4, inputs=1):
    """x * tanh(log(1 + exp(x))) (Mish-4)."""

    operands = "data: float -> float"
    elementwise = True

    function: ClassVar[str] = "mish"


class SoftPlus(Activation, type="SoftPlus", since=4, inputs=1):
    """log(1 + exp(x)) (SoftPlus-4)."""

    operands = "data: float -> float"
    elementwise = True

    function: ClassVar[str] = "softplus"


class SoftSign(Activation, type="SoftSign", since=9, inputs=1):
    """x / (1 + |x|) (SoftSign-9)."""

    operands = "data: float -> float"
    elementwise = True

    function: ClassVar[str] = "softsign"


class Gelu2(Activation, type="Gelu", since=2, inputs=1):
    """x / 2 * (1 + erf(x / sqrt(2))) (Gelu-2)."""

    operands = "data: float -> float"
    elementwise = True

    function: ClassVar[str] = "gelu_erf"


class Gelu7(Activation, type="Gelu", since=7, inputs=1):
    """Gelu, computed exactly with the error function or approximated with tanh (Gelu-7)."""

    operands = "data: float -> float"
    elementwise = True

    approximation_mode: str = attribute(default="ERF", words=("erf", "tanh"))

    @property
    def is_tanh(self) -> bool:
        """Return whether this is the tanh approximation."""
        return self.approximation_mode.lower() == "tanh"

    def infer(self, args: Arguments) -> list[ValueType]:
        self.check_words(args, "approximation_mode")
        return super().infer(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.gelu_tanh if self.is_tanh else kernels.activation.gelu_erf


class Swish(Activation, type="Swish", since=4, inputs=(1, 2)):
    """x * sigmoid(beta * x); beta is an optional scalar, 1 by default (Swish-4)."""

    operands = "data: T, beta?: T -> T where T: float"
    cost = "linear"

    function: ClassVar[str] = "swish"


class Elu(Activation, type="Elu", since=1, inputs=1):
    """x above 0, alpha * (exp(x) - 1) below (Elu-1)."""

    operands = "data: number | boolean -> number | boolean"
    elementwise = True

    alpha: float = attribute(absent="0")

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.elu(self.alpha)


class Selu(Activation, type="Selu", since=1, inputs=3):
    """lambda * x above 0, lambda * alpha * (exp(x) - 1) below; inputs x, alpha, lambda (Selu-1)."""

    operands = "data: T, alpha: T, lambda: T -> T where T: number"
    elementwise = True

    function: ClassVar[str] = "selu"


class HardSigmoid(Activation, type="HardSigmoid", since=1, inputs=3):
    """min(max(alpha * x + beta, 0), 1); inputs x, alpha, beta (HardSigmoid-1)."""

    operands = "data: T, alpha: T, beta: T -> T where T: number"
    shapes = "*, (), ()"
    elementwise = True

    function: ClassVar[str] = "hard_sigmoid"


class PReLU(Activation, type="PReLU", since=1, inputs=2):
    """x above 0, slope * x below; a one-dimensional slope applies to axis 1 (PReLU-1)."""

    operands = "data: number | boolean, slope: number | boolean -> number | boolean"
    cost = "linear"

    function: ClassVar[str] = "prelu_channel"

    def infer(self, args: Arguments) -> list[ValueType]:
        data, slope = args.shape(0), args.shape(1)
        if slope.rank == 1 and slope.dims != (1,) and (data.rank or 0) > 1:
            slope = inference.aligned(args, slope, data.rank, 1)
        shape = broadcast_shapes((data, slope))
        if shape is None or data.refine(shape) is None:
            raise args.error("the slope cannot be broadcast", str(data), str(args.shape(1)))
        return super().infer(args)


class Clamp(Activation, type="Clamp", since=1, inputs=1):
    """x clamped to [min, max]; for integers, min is rounded up and max down (Clamp-1)."""

    elementwise = True

    min: float = attribute(absent="0")
    max: float = attribute(absent="0")

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.min > self.max:
            raise args.error(
                "min is above max", f"{self.min} at least", str(self.max), kind="range"
            )
        return super().infer(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.clamp(self.min, self.max)


class GRN(Activation, type="GRN", since=1, inputs=1):
    """x / sqrt(sum of x * x over axis 1 + bias) (GRN-1)."""

    operands = "data: number | small | boolean -> number | small | boolean"
    bias: float = attribute(absent="1")

    def infer(self, args: Arguments) -> list[ValueType]:
        rank = args.rank(0)
        if rank is not None and not 2 <= rank <= 4:
            raise args.error("rank is not supported", "2 to 4", str(rank), kind="range")
        return super().infer(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.grn(self.bias)


class AlongAxis(Activation):
    """Base of the softmax functions along one axis."""

    operands = "data: number | small | boolean -> number | small | boolean"
    cost = "linear"

    axis: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.axis_in(args, self.axis, args.rank(0))
        return super().infer(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        bound: Kernel = getattr(kernels.activation, self.function)(self.axis)
        return bound


class SoftMax1(AlongAxis, type="SoftMax", since=1, inputs=1):
    """exp(x) divided by its sum along a non-negative axis (SoftMax-1)."""

    function: ClassVar[str] = "softmax"

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.axis < 0:
            raise args.error("axis is negative", "0 or more", str(self.axis), kind="range")
        return super().infer(args)


class SoftMax8(AlongAxis, type="SoftMax", since=8, inputs=1):
    """exp(x) divided by its sum along an axis (SoftMax-8)."""

    function: ClassVar[str] = "softmax"


class LogSoftmax(AlongAxis, type="LogSoftmax", since=5, inputs=1):
    """The logarithm of softmax along an axis (LogSoftmax-5)."""

    operands = "data: number -> number"

    function: ClassVar[str] = "log_softmax"
