"""Activation functions in ONNX (the module `legacy` has versions before opset 7 that differ)."""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import ValueType, broadcast_shapes

__all__ = [
    "Activation",
    "Celu",
    "Clip6",
    "Clip11",
    "Elu",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Hardmax1",
    "Hardmax13",
    "LeakyRelu",
    "LogSoftmax1",
    "LogSoftmax13",
    "Mish",
    "PRelu",
    "Relu",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Softmax1",
    "Softmax13",
    "Softplus",
    "Softsign",
    "SwiGLU",
    "Swish",
    "ThresholdedRelu",
]

#: The largest finite f32 value; Clip-6 treats it as no limit.
F32_MAX = 3.4028234663852886e38


class Activation(OnnxOp):
    """Base of activation functions of floats; the result has the type of the operand.

    `function` is the name of the kernel.
    """

    function: ClassVar[str] = ""

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        function: Kernel = getattr(kernels.activation, self.function)
        return function


class Relu(Activation, type="Relu", since=1, inputs=1):
    """max(x, 0); from opset 14 also for signed integers (Relu-1, 6, 13, 14)."""

    elementwise = True

    function: ClassVar[str] = "relu"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        return inference.same_as_first(args)


class Sigmoid(Activation, type="Sigmoid", since=1, inputs=1):
    """1 / (1 + exp(-x)) (Sigmoid-1, 6, 13)."""

    elementwise = True

    function: ClassVar[str] = "sigmoid"


class HardSwish(Activation, type="HardSwish", since=14, inputs=1):
    """x * max(0, min(1, x / 6 + 0.5)) (HardSwish-14, 22)."""

    elementwise = True

    function: ClassVar[str] = "hard_swish"


class Mish(Activation, type="Mish", since=18, inputs=1):
    """x * tanh(log(1 + exp(x))) (Mish-18, 22)."""

    elementwise = True

    function: ClassVar[str] = "mish"


class Softplus(Activation, type="Softplus", since=1, inputs=1):
    """log(1 + exp(x)) (Softplus-1, 22)."""

    elementwise = True

    function: ClassVar[str] = "softplus"


class Softsign(Activation, type="Softsign", since=1, inputs=1):
    """x / (1 + |x|) (Softsign-1, 22)."""

    elementwise = True

    function: ClassVar[str] = "softsign"


class Gelu(Activation, type="Gelu", since=20, inputs=1):
    """x times the cumulative standard normal distribution at x (Gelu-20).

    It is computed with the error function if `approximate` is none, and approximated with tanh if
    it is tanh.
    """

    elementwise = True

    approximate: str = "none"

    @property
    def is_tanh(self) -> bool:
        """Return whether this is the tanh approximation."""
        return self.approximate == "tanh"

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.approximate not in ("none", "tanh"):
            raise args.error(
                "approximation is not known", "none or tanh", self.approximate, kind="range"
            )
        return super().infer(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.gelu_tanh if self.is_tanh else kernels.activation.gelu_erf


class Swish(Activation, type="Swish", since=24, inputs=1):
    """x * sigmoid(alpha * x) (Swish-24)."""

    cost = "linear"

    alpha: float = 1.0

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.with_scalars(kernels.activation.swish, self.alpha)


class SwiGLU(Activation, type="SwiGLU", since=28, inputs=2):
    """swish(gate, alpha) * x for the two operands gate and x (SwiGLU-28)."""

    alpha: float = 1.0

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return inference.broadcast(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.swiglu(self.alpha)


class Elu(Activation, type="Elu", since=1, inputs=1):
    """x above 0, alpha * (exp(x) - 1) below (Elu-1, 6, 22)."""

    elementwise = True

    alpha: float = 1.0

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.elu(self.alpha)


class Celu(Activation, type="Celu", since=12, inputs=1):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)) (Celu-12, 28)."""

    elementwise = True

    alpha: float = 1.0

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.celu(self.alpha)


class Selu(Activation, type="Selu", since=6, inputs=1):
    """gamma * x above 0, gamma * alpha * (exp(x) - 1) below (Selu-6, 22)."""

    elementwise = True

    alpha: float = 1.6732631921768188
    gamma: float = 1.0507010221481323

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.with_scalars(kernels.activation.selu, self.alpha, self.gamma)


class HardSigmoid(Activation, type="HardSigmoid", since=1, inputs=1):
    """max(0, min(1, alpha * x + beta)) (HardSigmoid-1, 6, 22)."""

    elementwise = True

    alpha: float = 0.20000000298023224
    beta: float = 0.5

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.with_scalars(
            kernels.activation.hard_sigmoid, self.alpha, self.beta
        )


class LeakyRelu(Activation, type="LeakyRelu", since=1, inputs=1):
    """x above 0, alpha * x below (LeakyRelu-1, 6, 16)."""

    elementwise = True

    alpha: float = 0.009999999776482582

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.leaky_relu(self.alpha)


class ThresholdedRelu(Activation, type="ThresholdedRelu", since=10, inputs=1):
    """x above alpha, 0 elsewhere (ThresholdedRelu-10, 22)."""

    elementwise = True

    alpha: float = 1.0

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.thresholded_relu(self.alpha)


class PRelu(Activation, type="PRelu", since=7, inputs=2):
    """x above 0, slope * x below; the slope broadcasts to x (PRelu-7, 9, 16)."""

    cost = "linear"

    function: ClassVar[str] = "prelu"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        inference.same_element(args)
        data, slope = args.shape(0), args.shape(1)
        if broadcast_shapes((data, slope)) is None or (slope.rank or 0) > (data.rank or 99):
            raise args.error("slope does not broadcast to the data", str(data), str(slope))
        return inference.same_as_first(args)


class Shrink(Activation, type="Shrink", since=9, inputs=1):
    """x + bias below -lambd, x - bias above lambd, 0 between (Shrink-9)."""

    cost = "linear"

    bias: float = 0.0
    lambd: float = 0.5

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.shrink(self.bias, self.lambd)


class Clip6(Activation, type="Clip", since=6, inputs=1):
    """x clamped to [min, max] (Clip-6)."""

    cost = "linear"

    min: float = -F32_MAX
    max: float = F32_MAX

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.clamp(self.min, self.max)


class Clip11(Activation, type="Clip", since=11, inputs=(1, 3)):
    """x clamped to optional scalars min (input 1) and max (input 2) (Clip-11, 12, 13)."""

    cost = "linear"

    function: ClassVar[str] = "clip"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        inference.same_element(args)
        for position in (1, 2):
            if args.has(position) and args.shape(position).count() not in (1, None):
                found = str(args.shape(position))
                raise args.error(f"input {position} is not a scalar", "[]", found)
        return inference.same_as_first(args)


class OneAxis(Activation):
    """Base of the softmax functions along one axis."""

    cost = "linear"

    axis: int = -1

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.axis_in(args, self.axis, args.rank(0))
        return super().infer(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        bound: Kernel = getattr(kernels.activation, self.function)(self.axis)
        return bound


class Flattening(Activation):
    """Base of softmax functions that treat all dimensions from `axis` on as a single one."""

    cost = "linear"

    axis: int = 1

    def infer(self, args: Arguments) -> list[ValueType]:
        rank = args.rank(0)
        if rank is not None and not -rank <= self.axis <= rank:
            raise args.error(
                "axis is out of range", f"{-rank} to {rank}", str(self.axis), kind="range"
            )
        return super().infer(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        along = getattr(kernels.activation, self.function)(1)
        return kernels.activation.per_row(along, self.axis)


class Softmax1(Flattening, type="Softmax", since=1, inputs=1):
    """exp(x) divided by its sum over all dimensions from `axis` on (Softmax-1, 11)."""

    function: ClassVar[str] = "softmax"


class Softmax13(OneAxis, type="Softmax", since=13, inputs=1):
    """exp(x) divided by its sum along `axis` (Softmax-13)."""

    function: ClassVar[str] = "staged_softmax"


class LogSoftmax1(Flattening, type="LogSoftmax", since=1, inputs=1):
    """The logarithm of Softmax-1 (LogSoftmax-1, 11)."""

    function: ClassVar[str] = "log_softmax"


class LogSoftmax13(OneAxis, type="LogSoftmax", since=13, inputs=1):
    """The logarithm of Softmax-13 (LogSoftmax-13)."""

    function: ClassVar[str] = "log_softmax"


class Hardmax1(Flattening, type="Hardmax", since=1, inputs=1):
    """1 at the first maximum of all dimensions from `axis` on, 0 elsewhere (Hardmax-1, 11)."""

    function: ClassVar[str] = "hardmax"


class Hardmax13(OneAxis, type="Hardmax", since=13, inputs=1):
    """1 at the first maximum along `axis`, 0 elsewhere (Hardmax-13)."""

    function: ClassVar[str] = "hardmax"
