"""Elementwise arithmetic in OpenVINO.

All operations accept any numeric element type. Integers are computed as integers; a result that is
not an integer is rounded to the nearest one.
"""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.openvino.base import BROADCASTS, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import Dim, ElementType, ValueType

__all__ = [
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "Arithmetic",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Binary",
    "Ceiling",
    "Cos",
    "Cosh",
    "Divide",
    "Erf",
    "ErfInv",
    "Exp",
    "Floor",
    "FloorMod",
    "Log",
    "Maximum",
    "Minimum",
    "Mod",
    "Multiply",
    "Negative",
    "Power",
    "Round",
    "Sign",
    "Sin",
    "Sinh",
    "Sqrt",
    "SquaredDifference",
    "Subtract",
    "Tan",
    "Tanh",
    "Unary",
]


class Binary(OpenVinoOp):
    """Base of operations on two operands of one element type, broadcast by `auto_broadcast`.

    In the mode none the shapes must be equal. In the mode numpy they are aligned at the last
    dimension. In the mode pdpd the first dimension of the second operand is aligned with the axis
    `auto_broadcast_axis` of the first operand (0 when absent).
    """

    auto_broadcast: str = attribute(default="numpy", words=BROADCASTS)
    auto_broadcast_axis: int | None = attribute(
        default=None, name="auto_broadcast.auto_broadcast_axis"
    )

    @property
    def is_pdpd(self) -> bool:
        """Return whether operands are aligned as in PaddlePaddle."""
        return self.auto_broadcast.lower() == "pdpd"

    @property
    def pdpd_axis(self) -> int:
        """The axis of the first operand that is aligned with axis 0 of the second in mode pdpd."""
        return 0 if self.auto_broadcast_axis is None else self.auto_broadcast_axis

    def broadcast(self, args: Arguments, element: ElementType | None = None) -> list[ValueType]:
        """Return the result type: the operands' shapes are broadcast by `auto_broadcast`.

        Its element type is that of the operands, or `element` if given.
        """
        return inference.broadcast_by_mode(args, self.auto_broadcast, self.pdpd_axis, element)

    def bound(self, function: Kernel) -> Kernel:
        """Make the kernel `function` broadcast its two operands as this operation does.

        PDPD broadcasting aligns the first axis of the second operand with axis `pdpd_axis` of the
        first. For other modes the result is `function` itself.
        """
        if not self.is_pdpd:
            return function
        aligned: Kernel = kernels.elementwise.pdpd(function, self.pdpd_axis)
        return aligned


class Arithmetic(Binary):
    """Base of functions of two numbers of one type; `function` is the kernel.

    The result has the type of the operands.
    """

    operands = "x: T, y: T -> T where T: number"
    elementwise = True

    function: ClassVar[str] = ""

    def infer(self, args: Arguments) -> list[ValueType]:
        return self.broadcast(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return self.bound(getattr(kernels.elementwise, self.function))


class Add(Arithmetic, type="Add", since=1, inputs=2):
    """Sum (Add-1)."""

    commutative = True

    function: ClassVar[str] = "add"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return inference.combined_dims(args, lambda a, b: a + b)


class Subtract(Arithmetic, type="Subtract", since=1, inputs=2):
    """Difference (Subtract-1)."""

    function: ClassVar[str] = "subtract"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return inference.combined_dims(args, lambda a, b: a - b)


class Multiply(Arithmetic, type="Multiply", since=1, inputs=2):
    """Product (Multiply-1)."""

    commutative = True

    function: ClassVar[str] = "multiply"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return inference.combined_dims(args, lambda a, b: a * b)


class Divide(Arithmetic, type="Divide", since=1, inputs=2):
    """Quotient (Divide-1); integers are truncated toward zero.

    The specification rounds integers toward minus infinity with `m_pythondiv`. OpenVINO's CPU
    plugin does not do so (2021.4.2 and 2026.4), and irloop follows it. Quotients of constants are
    rounded as specified, in OpenVINO and in irloop, because OpenVINO's core folds them when it
    reads the model.
    """

    m_pythondiv: bool = True

    function: ClassVar[str] = "divide"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        def quotient(a: int, b: int) -> int | None:
            if b == 0 or (self.m_pythondiv and a % b and (a < 0) != (b < 0)):
                # OpenVINO rounds down if all operands are constant, and toward zero otherwise.
                return None
            size = abs(a) // abs(b)
            return size if (a < 0) == (b < 0) else -size

        return inference.combined_dims(args, quotient)

    def kernel_of_constants(self, n_outputs: int = 1) -> Kernel:
        if not self.m_pythondiv:
            return self.kernel(n_outputs)
        return self.bound(kernels.elementwise.divide_floor)


class Power(Arithmetic, type="Power", since=1, inputs=2):
    """The first operand to the power of the second (Power-1)."""

    function: ClassVar[str] = "power"


class Mod(Arithmetic, type="Mod", since=1, inputs=2):
    """Remainder with the sign of the dividend (Mod-1)."""

    function: ClassVar[str] = "modulo"


class FloorMod(Arithmetic, type="FloorMod", since=1, inputs=2):
    """Remainder with the sign of the divisor (FloorMod-1)."""

    function: ClassVar[str] = "floor_mod"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return inference.combined_dims(args, lambda a, b: a % b if b else None)


class Maximum(Arithmetic, type="Maximum", since=1, inputs=2):
    """The larger operand (Maximum-1)."""

    commutative = True

    function: ClassVar[str] = "maximum"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return inference.combined_dims(args, max)


class Minimum(Arithmetic, type="Minimum", since=1, inputs=2):
    """The smaller operand (Minimum-1)."""

    commutative = True

    function: ClassVar[str] = "minimum"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return inference.combined_dims(args, min)


class SquaredDifference(Arithmetic, type="SquaredDifference", since=1, inputs=2):
    """The square of the difference (SquaredDifference-1)."""

    function: ClassVar[str] = "squared_difference"


class Unary(OpenVinoOp):
    """Base of functions that map a number to one of the same type; `function` is the kernel."""

    operands = "data: number -> number"
    elementwise = True

    function: ClassVar[str] = ""

    def infer(self, args: Arguments) -> list[ValueType]:
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        function: Kernel = getattr(kernels.elementwise, self.function)
        return function


class _Math(Unary):
    """Base of the functions that OpenVINO computes in f32, whatever the type of the operand."""

    operands = "data: number | small -> number | small"


class Round(OpenVinoOp, type="Round", since=5, inputs=1):
    """The nearest integer; `mode` decides ties (Round-5)."""

    operands = "data: number | boolean -> number | boolean"
    elementwise = True

    mode: str = attribute(default="half_to_even", words=("half_to_even", "half_away_from_zero"))

    def infer(self, args: Arguments) -> list[ValueType]:
        self.check_words(args, "mode")
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if self.mode.lower() == "half_to_even":
            return kernels.elementwise.round_half_even
        return kernels.elementwise.round_half_away


class Abs(Unary, type="Abs", since=1, inputs=1):
    """The absolute value (Abs-1)."""

    function: ClassVar[str] = "absolute"


class Acos(_Math, type="Acos", since=1, inputs=1):
    """The inverse cosine (Acos-1)."""

    function: ClassVar[str] = "acos"


class Acosh(_Math, type="Acosh", since=4, inputs=1):
    """The inverse hyperbolic cosine (Acosh-4)."""

    function: ClassVar[str] = "acosh"


class Asin(_Math, type="Asin", since=1, inputs=1):
    """The inverse sine (Asin-1)."""

    function: ClassVar[str] = "asin"


class Asinh(_Math, type="Asinh", since=4, inputs=1):
    """The inverse hyperbolic sine (Asinh-4)."""

    function: ClassVar[str] = "asinh"


class Atan(_Math, type="Atan", since=1, inputs=1):
    """The inverse tangent (Atan-1)."""

    function: ClassVar[str] = "atan"


class Atanh(_Math, type="Atanh", since=4, inputs=1):
    """The inverse hyperbolic tangent (Atanh-4)."""

    function: ClassVar[str] = "atanh"


class Ceiling(Unary, type="Ceiling", since=1, inputs=1):
    """The number, rounded up (Ceiling-1)."""

    function: ClassVar[str] = "ceiling"


class Cos(_Math, type="Cos", since=1, inputs=1):
    """The cosine (Cos-1)."""

    function: ClassVar[str] = "cos"


class Cosh(_Math, type="Cosh", since=1, inputs=1):
    """The hyperbolic cosine (Cosh-1)."""

    function: ClassVar[str] = "cosh"


class Erf(Unary, type="Erf", since=1, inputs=1):
    """The error function (Erf-1)."""

    function: ClassVar[str] = "erf"


class ErfInv(Unary, type="ErfInv", since=17, inputs=1):
    """The inverse of the error function (ErfInv-17)."""

    operands = "data: float -> float"

    function: ClassVar[str] = "erf_inverse"


class Exp(Unary, type="Exp", since=1, inputs=1):
    """The exponential function (Exp-1)."""

    function: ClassVar[str] = "exp"


class Floor(Unary, type="Floor", since=1, inputs=1):
    """The number, rounded down (Floor-1)."""

    function: ClassVar[str] = "floor"


class Log(_Math, type="Log", since=1, inputs=1):
    """The natural logarithm (Log-1)."""

    function: ClassVar[str] = "log"


class Negative(Unary, type="Negative", since=1, inputs=1):
    """The number with its sign changed (Negative-1)."""

    operands = "data: float | i4 | i8 | i16 | i32 | i64 -> float | i4 | i8 | i16 | i32 | i64"
    function: ClassVar[str] = "negative"


class Sign(_Math, type="Sign", since=1, inputs=1):
    """-1, 0 or 1 (Sign-1)."""

    function: ClassVar[str] = "sign"


class Sin(_Math, type="Sin", since=1, inputs=1):
    """The sine (Sin-1)."""

    function: ClassVar[str] = "sin"


class Sinh(_Math, type="Sinh", since=1, inputs=1):
    """The hyperbolic sine (Sinh-1)."""

    function: ClassVar[str] = "sinh"


class Sqrt(Unary, type="Sqrt", since=1, inputs=1):
    """The square root (Sqrt-1)."""

    function: ClassVar[str] = "sqrt"


class Tan(_Math, type="Tan", since=1, inputs=1):
    """The tangent (Tan-1)."""

    function: ClassVar[str] = "tan"


class Tanh(Unary, type="Tanh", since=1, inputs=1):
    """The hyperbolic tangent (Tanh-1)."""

    function: ClassVar[str] = "tanh"
