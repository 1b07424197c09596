"""ONNX operations as they were before opset 7: broadcasting by attributes, older defaults.

`broadcast` 1 aligns the second operand with the first at `axis`, or at the end if `axis` is
missing.
"""

from __future__ import annotations

import operator
from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.activation import Activation
from irloop.dialects.onnx.base import OnnxOp
from irloop.dialects.onnx.normalization import EPSILON, BatchNormalization7
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import ElementType, ValueType

__all__ = [
    "Add1",
    "And1",
    "BatchNormalization1",
    "Broadcasting",
    "Clip1",
    "Div1",
    "Dropout1",
    "Equal1",
    "Greater1",
    "Less1",
    "Mul1",
    "Or1",
    "PRelu1",
    "Pow1",
    "Selu1",
    "Sub1",
    "Xor1",
]


class Broadcasting(OnnxOp):
    """Base of operations that broadcast their operands only if the attribute `broadcast` is set."""

    elementwise = True

    axis: int | None = None
    broadcast: bool = False
    function: ClassVar[str] = ""
    compares: ClassVar[bool] = False

    @property
    def position(self) -> int:
        """The axis of operand 0 with which the first axis of operand 1 is aligned.

        The value -1 aligns the last axes of both.
        """
        return -1 if self.axis is None else self.axis

    def infer(self, args: Arguments) -> list[ValueType]:
        mode = "pdpd" if self.broadcast else "none"
        element = ElementType.BOOLEAN if self.compares else None
        return inference.broadcast_by_mode(args, mode, self.position, element)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        family = kernels.comparison if self.compares else kernels.elementwise
        function: Kernel = getattr(family, self.function)
        if not self.broadcast or self.position == -1:
            return function
        aligned: Kernel = kernels.elementwise.pdpd(function, self.position)
        return aligned


class Add1(Broadcasting, type="Add", since=1, inputs=2):
    """The sum (Add-1, 6)."""

    function: ClassVar[str] = "add"


class Sub1(Broadcasting, type="Sub", since=1, inputs=2):
    """The difference (Sub-1, 6)."""

    function: ClassVar[str] = "subtract"


class Mul1(Broadcasting, type="Mul", since=1, inputs=2):
    """The product (Mul-1, 6)."""

    function: ClassVar[str] = "multiply"


class Div1(Broadcasting, type="Div", since=1, inputs=2):
    """The quotient; integers are truncated toward zero (Div-1, 6)."""

    function: ClassVar[str] = "divide"


class Pow1(Broadcasting, type="Pow", since=1, inputs=2):
    """The first operand to the power of the second (Pow-1)."""

    function: ClassVar[str] = "power"


class And1(Broadcasting, type="And", since=1, inputs=2):
    """True where both operands are true (And-1)."""

    function: ClassVar[str] = "logical_and"
    compares: ClassVar[bool] = True


class Or1(Broadcasting, type="Or", since=1, inputs=2):
    """True where at least one operand is true (Or-1)."""

    function: ClassVar[str] = "logical_or"
    compares: ClassVar[bool] = True


class Xor1(Broadcasting, type="Xor", since=1, inputs=2):
    """True where exactly one operand is true (Xor-1)."""

    function: ClassVar[str] = "logical_xor"
    compares: ClassVar[bool] = True


class Equal1(Broadcasting, type="Equal", since=1, inputs=2):
    """True where the operands are equal (Equal-1)."""

    comparator = operator.eq
    moves_text = True

    function: ClassVar[str] = "equal"
    compares: ClassVar[bool] = True


class Greater1(Broadcasting, type="Greater", since=1, inputs=2):
    """True where the first operand is greater (Greater-1)."""

    comparator = operator.gt

    function: ClassVar[str] = "greater"
    compares: ClassVar[bool] = True


class Less1(Broadcasting, type="Less", since=1, inputs=2):
    """True where the first operand is less (Less-1)."""

    comparator = operator.lt

    function: ClassVar[str] = "less"
    compares: ClassVar[bool] = True


class Clip1(Activation, type="Clip", since=1, inputs=1):
    """x clamped to [min, max]; a missing bound means no limit (Clip-1)."""

    cost = "linear"

    min: float | None = None
    max: float | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """Both bounds; a missing one is infinite."""
        low = float("-inf") if self.min is None else self.min
        return low, float("inf") if self.max is None else self.max

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.clamp(*self.bounds)


class Selu1(Activation, type="Selu", since=1, inputs=1):
    """gamma * x above 0, gamma * alpha * (exp(x) - 1) below, with rounded defaults (Selu-1)."""

    elementwise = True

    alpha: float = 1.673200011253357
    gamma: float = 1.0506999492645264

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.activation.with_scalars(kernels.activation.selu, self.alpha, self.gamma)


class PRelu1(Activation, type="PRelu", since=1, inputs=2):
    """x above 0, slope * x below; the slope has one element or one per channel (PRelu-1, 6)."""

    cost = "linear"

    function: ClassVar[str] = "prelu_channel"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.same_element(args)
        return super().infer(args)


class BatchNormalization1(
    BatchNormalization7, type="BatchNormalization", since=1, inputs=5, outputs=None
):
    """Normalisation by given statistics (BatchNormalization-1, 6).

    With more than one output, the node trains: it uses the statistics of the batch. `is_test` is
    ignored.
    """

    epsilon: float = EPSILON
    is_test: bool = False


class Dropout1(OnnxOp, type="Dropout", since=1, inputs=1, outputs=None):
    """The operand itself and a mask of ones, as with `is_test` 1 (Dropout-1, 6).

    irloop runs models for inference only, so `is_test` is ignored.
    """

    ratio: float = 0.5
    is_test: bool = False

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return [args.tensor(0)] * args.n_outputs

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.normalization.no_dropout(n_outputs, mask=True, boolean=False)
