"""Element type conversions and the identity in OpenVINO."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import Dim, ElementType, TensorType, ValueType, broadcast_shapes

__all__ = ["Convert", "ConvertLike", "ConvertPromoteTypes", "FakeConvert", "Identity"]


class Convert(OpenVinoOp, type="Convert", since=1, inputs=1):
    """Converts to another element type; floats are truncated towards 0 (Convert-1).

    A conversion to boolean makes nonzero values true. OpenVINO converts to an 8-bit float
    by way of f16 and without saturation.
    """

    operands = "data: any -> any"
    elementwise = True

    destination_type: ElementType

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(self.destination_type, args.shape(0))]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return args.dims(0) if inference.holds_sizes(self.destination_type) else None

    def kernel(self, n_outputs: int = 1) -> Kernel:
        if self.destination_type is ElementType.U1:
            return kernels.convert.to_bit
        return kernels.convert.cast(self.destination_type.numpy(), through_half=True)


class ConvertLike(OpenVinoOp, type="ConvertLike", since=1, inputs=2):
    """The first operand in the element type of the second (ConvertLike-1)."""

    operands = "data: any, like: any -> any"
    cost = "linear"

    def infer(self, args: Arguments) -> list[ValueType]:
        return [TensorType(args.element(1), args.shape(0))]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return args.dims(0) if inference.holds_sizes(args.element(1)) else None

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convert.cast_like(through_half=True)


class ConvertPromoteTypes(OpenVinoOp, type="ConvertPromoteTypes", since=14, inputs=2, outputs=2):
    """Both operands, converted to a common element type (ConvertPromoteTypes-14).

    With `pytorch_scalar_promotion`, a scalar takes the element type of the other operand, unless
    the scalar's own type is of a higher kind. Float is the highest kind, then integer, then
    boolean.
    """

    operands = (
        "x: float | integer | boolean, y: float | integer | boolean -> float | integer | boolean, "
        "float | integer | boolean"
    )
    cost = "linear"

    promote_unsafe: bool = False
    pytorch_scalar_promotion: bool = False
    u64_integer_promotion_target: ElementType = ElementType.F32

    def infer(self, args: Arguments) -> list[ValueType]:
        common = self._common(args)
        return [TensorType(common, args.shape(position)) for position in range(2)]

    def _common(self, args: Arguments) -> ElementType:
        left, right = args.element(0), args.element(1)
        if left is right or ElementType.DYNAMIC in (left, right):
            return left if left is right else ElementType.DYNAMIC
        if self.pytorch_scalar_promotion:
            scalar = self._by_scalar(args, left, right)
            if scalar is not None:
                return scalar
        common = promoted(left, right, self.u64_integer_promotion_target)
        if not self.promote_unsafe and not (holds(common, left) and holds(common, right)):
            raise args.error(
                "the common type cannot hold every value of both",
                "promote_unsafe, or other types",
                f"{left} and {right}",
            )
        return common

    def _by_scalar(
        self, args: Arguments, left: ElementType, right: ElementType
    ) -> ElementType | None:
        ranks = (args.rank(0), args.rank(1))
        if None in ranks or (ranks[0] == 0) == (ranks[1] == 0):
            return None
        scalar, tensor = (left, right) if ranks[0] == 0 else (right, left)
        return tensor if _kind(scalar) <= _kind(tensor) else None

    def kernel(self, n_outputs: int = 1) -> Kernel:
        target = self.u64_integer_promotion_target
        return kernels.convert.promote(
            target.numpy(), pytorch_scalars=self.pytorch_scalar_promotion
        )


def _kind(element: ElementType) -> int:
    if element is ElementType.BOOLEAN:
        return 0
    return 1 if element.is_integer else 2


def _is_signed(element: ElementType) -> bool:
    return element.value.startswith("i")


def promoted(
    left: ElementType, right: ElementType, u64_target: ElementType = ElementType.F32
) -> ElementType:
    """Return the type to which ConvertPromoteTypes-14 converts inputs of two different types.

    `u64_target` is the result for u64 and a signed integer, because no integer type holds both.
    """
    if _kind(left) != _kind(right):
        return left if _kind(left) > _kind(right) else right
    if _kind(left) == 2:
        if left.bits == right.bits:
            # The types differ but have the same number of bits, 8 or 16, so neither can represent
            # the other.
            return ElementType.F16 if left.bits == 8 else ElementType.F32
        return left if left.bits > right.bits else right
    if _is_signed(left) == _is_signed(right):
        return left if left.bits > right.bits else right
    signed, unsigned = (left, right) if _is_signed(left) else (right, left)
    if signed.bits > unsigned.bits:
        return signed
    if unsigned.bits == 64:
        return u64_target
    return ElementType(f"i{max(2 * unsigned.bits, 8)}")


def holds(wide: ElementType, narrow: ElementType) -> bool:
    """Return whether `wide` covers the range of `narrow`, even if its precision is lower."""
    if wide is narrow or _kind(narrow) == 0:
        return True
    if _kind(wide) != _kind(narrow):
        return _kind(wide) > _kind(narrow) and wide.bits >= narrow.bits
    if _kind(wide) == 2 or _is_signed(wide) == _is_signed(narrow):
        return wide.bits >= narrow.bits
    return _is_signed(wide) and wide.bits > narrow.bits


class FakeConvert(OpenVinoOp, type="FakeConvert", since=13, inputs=(2, 3)):
    """Scales and shifts the operand, rounds it to an 8-bit float type, and undoes shift and scale.

    The result is (round(x * scale - shift) + shift) / scale, where `round` saturates at the largest
    number of the 8-bit type (FakeConvert-13).
    """

    operands = "data: T, scale: T, shift?: T -> T where T: float"
    cost = "linear"

    destination_type: ElementType = attribute(
        default=ElementType.F8E4M3, words=("f8e4m3", "f8e5m2")
    )

    def infer(self, args: Arguments) -> list[ValueType]:
        for position in range(1, len(args)):
            if broadcast_shapes((args.shape(0), args.shape(position))) is None:
                found = str(args.shape(position))
                raise args.error("an input cannot be broadcast", str(args.shape(0)), found)
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convert.fake_convert(self.destination_type.numpy())


class Identity(OpenVinoOp, type="Identity", since=16, inputs=1):
    """The operand itself (Identity-16)."""

    operands = "data: any -> any"
    elementwise = True
    cost = "parts"

    def infer(self, args: Arguments) -> list[ValueType]:
        return [args.type(0)]

    def infer_dims(self, args: Arguments) -> tuple[Dim, ...] | None:
        return args.dims(0)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.convert.identity
