"""Elementwise arithmetic in ONNX (binary operations before opset 7 are in `legacy`).

`consumed_inputs` of opsets 1 to 5 does not affect the result and is not an attribute here.
"""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import Dim, ValueType

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
    "Ceil",
    "Cos",
    "Cosh",
    "Div",
    "Erf",
    "Exp",
    "FloatUnary",
    "Floor",
    "Log",
    "Max",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "Neg",
    "Pow",
    "Reciprocal",
    "Round",
    "Sign",
    "Sin",
    "Sinh",
    "Sqrt",
    "Sub",
    "Sum",
    "Tan",
    "Tanh",
    "Unary",
    "Variadic",
]


class Arithmetic(OnnxOp):
    """Base of operations on two numbers of one element type; `function` is the kernel."""

    elementwise = True

    function: ClassVar[str] = ""

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        return inference.broadcast(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        function: Kernel = getattr(kernels.elementwise, self.function)
        return function


class Add(Arithmetic, type="Add", since=7, inputs=2):
    """The sum (Add-7, 13, 14)."""

    commutative = True

    function: ClassVar[str] = "add"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return inference.combined_dims(args, lambda a, b: a + b)


class Sub(Arithmetic, type="Sub", since=7, inputs=2):
    """The difference (Sub-7, 13, 14)."""

    function: ClassVar[str] = "subtract"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return inference.combined_dims(args, lambda a, b: a - b)


class Mul(Arithmetic, type="Mul", since=7, inputs=2):
    """The product (Mul-7, 13, 14)."""

    commutative = True

    function: ClassVar[str] = "multiply"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return inference.combined_dims(args, lambda a, b: a * b)


class Div(Arithmetic, type="Div", since=7, inputs=2):
    """The quotient; integers are truncated toward zero (Div-7, 13, 14)."""

    function: ClassVar[str] = "divide"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        def quotient(a: int, b: int) -> int | None:
            return a // b if a >= 0 and b > 0 else None

        return inference.combined_dims(args, quotient)


class Pow(Arithmetic, type="Pow", since=7, inputs=2):
    """The power x ** y, in the element type of x (Pow-7, 12, 13, 15)."""

    function: ClassVar[str] = "power"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        return inference.broadcast_any(args, args.element(0))


class Mod(Arithmetic, type="Mod", since=10, inputs=2):
    """The remainder (Mod-10, 13, 28).

    With `fmod` it has the sign of the dividend, otherwise that of the divisor (for floats since
    opset 28).
    """

    fmod: bool = False

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        def remainder(a: int, b: int) -> int | None:
            return a % b if a >= 0 and b > 0 else None

        return inference.combined_dims(args, remainder)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.elementwise.modulo if self.fmod else kernels.elementwise.floor_mod


class Variadic(OnnxOp):
    """Base of functions of any number of operands of one type, folded left to right.

    Since opset 8 the operands broadcast; in earlier opsets their shapes must be equal.
    """

    function: ClassVar[str] = ""

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        return inference.broadcast(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.elementwise.fold(getattr(kernels.elementwise, self.function))


class Max(Variadic, type="Max", since=1, inputs=(1, None)):
    """The elementwise maximum of the operands (Max-1, 6, 8, 12, 13)."""

    elementwise = True

    function: ClassVar[str] = "maximum"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return inference.combined_dims(args, max) if len(args) == 2 else None


class Min(Variadic, type="Min", since=1, inputs=(1, None)):
    """The elementwise minimum of the operands (Min-1, 6, 8, 12, 13)."""

    elementwise = True

    function: ClassVar[str] = "minimum"

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return inference.combined_dims(args, min) if len(args) == 2 else None


class Sum(Variadic, type="Sum", since=1, inputs=(1, None)):
    """The sum of the operands (Sum-1, 6, 8, 13)."""

    cost = "linear"

    function: ClassVar[str] = "add"


class Mean(Variadic, type="Mean", since=1, inputs=(1, None)):
    """The mean of the operands (Mean-1, 6, 8, 13)."""

    cost = "linear"

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.elementwise.mean


class Unary(OnnxOp):
    """Base of elementwise operations with one numeric operand and a result of the same type.

    `function` is the name of the kernel in `kernels.elementwise`.
    """

    elementwise = True

    function: ClassVar[str] = ""

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.numeric(args)
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        function: Kernel = getattr(kernels.elementwise, self.function)
        return function


class FloatUnary(Unary):
    """Base of elementwise operations with one floating-point input and a result of its type."""

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        return inference.same_as_first(args)


class Abs(Unary, type="Abs", since=1, inputs=1):
    """The absolute value (Abs-1, 6, 13)."""

    function: ClassVar[str] = "absolute"


class Neg(Unary, type="Neg", since=1, inputs=1):
    """The number with its sign changed (Neg-1, 6, 13)."""

    function: ClassVar[str] = "negative"


class Sign(Unary, type="Sign", since=9, inputs=1):
    """-1, 0 or 1 (Sign-9, 13)."""

    function: ClassVar[str] = "sign"


class Erf(Unary, type="Erf", since=9, inputs=1):
    """The error function (Erf-9, 13)."""

    function: ClassVar[str] = "erf"


class Acos(FloatUnary, type="Acos", since=7, inputs=1):
    """The inverse cosine (Acos-7, 22)."""

    function: ClassVar[str] = "acos"


class Acosh(FloatUnary, type="Acosh", since=9, inputs=1):
    """The inverse hyperbolic cosine (Acosh-9, 22)."""

    function: ClassVar[str] = "acosh"


class Asin(FloatUnary, type="Asin", since=7, inputs=1):
    """The inverse sine (Asin-7, 22)."""

    function: ClassVar[str] = "asin"


class Asinh(FloatUnary, type="Asinh", since=9, inputs=1):
    """The inverse hyperbolic sine (Asinh-9, 22)."""

    function: ClassVar[str] = "asinh"


class Atan(FloatUnary, type="Atan", since=7, inputs=1):
    """The inverse tangent (Atan-7, 22)."""

    function: ClassVar[str] = "atan"


class Atanh(FloatUnary, type="Atanh", since=9, inputs=1):
    """The inverse hyperbolic tangent (Atanh-9, 22)."""

    function: ClassVar[str] = "atanh"


class Ceil(FloatUnary, type="Ceil", since=1, inputs=1):
    """The operand, rounded up (Ceil-1, 6, 13)."""

    function: ClassVar[str] = "ceiling"


class Cos(FloatUnary, type="Cos", since=7, inputs=1):
    """The cosine (Cos-7, 22)."""

    function: ClassVar[str] = "cos"


class Cosh(FloatUnary, type="Cosh", since=9, inputs=1):
    """The hyperbolic cosine (Cosh-9, 22)."""

    function: ClassVar[str] = "cosh"


class Exp(FloatUnary, type="Exp", since=1, inputs=1):
    """The exponential function (Exp-1, 6, 13)."""

    function: ClassVar[str] = "exp"


class Floor(FloatUnary, type="Floor", since=1, inputs=1):
    """The operand, rounded down (Floor-1, 6, 13)."""

    function: ClassVar[str] = "floor"


class Log(FloatUnary, type="Log", since=1, inputs=1):
    """The natural logarithm (Log-1, 6, 13)."""

    function: ClassVar[str] = "log"


class Reciprocal(FloatUnary, type="Reciprocal", since=1, inputs=1):
    """1 / x (Reciprocal-1, 6, 13)."""

    function: ClassVar[str] = "reciprocal"


class Round(FloatUnary, type="Round", since=11, inputs=1):
    """The operand, rounded to the nearest integer, ties to even (Round-11, 22)."""

    function: ClassVar[str] = "round_half_even"


class Sin(FloatUnary, type="Sin", since=7, inputs=1):
    """The sine (Sin-7, 22)."""

    function: ClassVar[str] = "sin"


class Sinh(FloatUnary, type="Sinh", since=9, inputs=1):
    """The hyperbolic sine (Sinh-9, 22)."""

    function: ClassVar[str] = "sinh"


class Sqrt(FloatUnary, type="Sqrt", since=1, inputs=1):
    """The square root (Sqrt-1, 6, 13)."""

    function: ClassVar[str] = "sqrt"


class Tan(FloatUnary, type="Tan", since=7, inputs=1):
    """The tangent (Tan-7, 22)."""

    function: ClassVar[str] = "tan"


class Tanh(FloatUnary, type="Tanh", since=1, inputs=1):
    """The hyperbolic tangent (Tanh-1, 6, 13)."""

    function: ClassVar[str] = "tanh"
