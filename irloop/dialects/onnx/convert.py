"""Element type conversions and the identity in ONNX."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import TINY_INTEGERS, OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import Dim, ElementType, TensorType, ValueType

__all__ = ["BitCast", "Cast1", "Cast6", "CastLike", "Identity"]


class Cast6(OnnxOp, type="Cast", since=6, inputs=1):
    """The operand in another element type (Cast-6, 9, 13, 19, 21, 23, 24, 25, 28).

    `saturate` (since opset 19) applies to 8-bit floats, `round_mode` (since opset 24: up, down or
    nearest) to float8e8m0.
    """

    elementwise = True
    moves_text = True

    to: ElementType
    saturate: bool = True
    round_mode: str = "up"

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.round_mode not in ("up", "down", "nearest"):
            raise args.error(
                "round_mode is not known", "up, down or nearest", self.round_mode, kind="range"
            )
        if self.to is ElementType.DYNAMIC:
            raise args.error(
                "the attribute to is not an element type",
                "one of TensorProto",
                "none",
                kind="range",
            )
        return [TensorType(self.to, args.shape(0))]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return args.dims(0) if inference.holds_sizes(self.to) else None

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convert.cast(
            self.to.numpy(), saturate=self.saturate, round_mode=self.round_mode
        )


class CastLike(OnnxOp, type="CastLike", since=15, inputs=2):
    """The first operand in the element type of the second (CastLike-15, 19, 21, 23, 24, 25)."""

    cost = "linear"

    saturate: bool = True
    round_mode: str = "up"

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(1), args.shape(0))]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return args.dims(0) if inference.holds_sizes(args.element(1)) else None

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convert.cast_like(saturate=self.saturate, round_mode=self.round_mode)


class BitCast(OnnxOp, type="BitCast", since=26, inputs=1):
    """The bits of the operand reinterpreted as another type of the same width (BitCast-26)."""

    cost = "linear"

    to: ElementType

    def infer(self, args: Arguments) -> list[ValueType]:
        element = args.element(0)
        if element is not ElementType.DYNAMIC and element.bits != self.to.bits:
            raise args.error(
                "element types differ in width", str(element), str(self.to), kind="elements"
            )
        return [TensorType(self.to, args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convert.bit_cast(self.to.numpy())


class Identity(OnnxOp, type="Identity", since=1, inputs=1):
    """The operand itself; also for sequences and optionals (Identity-1 to 25)."""

    not_moved = TINY_INTEGERS
    elementwise = True
    cost = "parts"

    def infer(self, args: Arguments) -> list[ValueType]:
        return [args.type(0)]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return args.dims(0)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convert.identity


class Cast1(OnnxOp, type="Cast", since=1, inputs=1):
    """Casts to the element type that `to` names; `to` is a string such as FLOAT (Cast-1)."""

    elementwise = True
    moves_text = True

    to: str

    @property
    def element(self) -> ElementType:
        """The named element type; dynamic if ONNX does not have the name."""
        return _NAMES.get(self.to.upper(), ElementType.DYNAMIC)

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.element is ElementType.DYNAMIC:
            raise args.error(
                "element type is not known", "FLOAT, INT64, ...", self.to, kind="elements"
            )
        return [TensorType(self.element, args.shape(0))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convert.cast(self.element.numpy())


_NAMES = {
    "FLOAT": ElementType.F32,
    "UINT8": ElementType.U8,
    "INT8": ElementType.I8,
    "UINT16": ElementType.U16,
    "INT16": ElementType.I16,
    "INT32": ElementType.I32,
    "INT64": ElementType.I64,
    "BOOL": ElementType.BOOLEAN,
    "FLOAT16": ElementType.F16,
    "DOUBLE": ElementType.F64,
    "UINT32": ElementType.U32,
    "UINT64": ElementType.U64,
}
