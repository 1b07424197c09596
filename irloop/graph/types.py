"""Element types, dimensions, shapes and the types of values.

NumPy is imported only when a caller asks for a NumPy type, because validating a file does not need
NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from irloop.errors import InferenceError, UsageError, did_you_mean
from irloop.graph.record import Record

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "EIGHT_BIT_FLOATS",
    "LARGEST_RANK",
    "LARGEST_SIZE",
    "UNKNOWN_DIM",
    "UNKNOWN_SHAPE",
    "UNKNOWN_TYPE",
    "Dim",
    "DynamicDim",
    "ElementType",
    "NoAxisError",
    "OptionalType",
    "SequenceType",
    "Shape",
    "TensorType",
    "ValueType",
    "broadcast_dims",
    "broadcast_shapes",
    "differ_in_shape",
    "element_named",
    "element_type_of",
    "refine_type",
    "tensor_within",
    "widen_types",
]


#: The largest dimension that a model file of either format can hold.
LARGEST_SIZE = 2**63 - 1

#: The largest number of dimensions of a tensor, which is NumPy's.
LARGEST_RANK = 64


class ElementType(Enum):
    """The type of one element; the value is OpenVINO's canonical name."""

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    I64 = "i64"
    I32 = "i32"
    I16 = "i16"
    I8 = "i8"
    I4 = "i4"
    I2 = "i2"
    U64 = "u64"
    U32 = "u32"
    U16 = "u16"
    U8 = "u8"
    U6 = "u6"
    U4 = "u4"
    U3 = "u3"
    U2 = "u2"
    U1 = "u1"
    NF4 = "nf4"
    F8E4M3 = "f8e4m3"
    F8E5M2 = "f8e5m2"
    F8E4M3FNUZ = "f8e4m3fnuz"
    F8E5M2FNUZ = "f8e5m2fnuz"
    F8E8M0 = "f8e8m0"
    F4E2M1 = "f4e2m1"
    C64 = "c64"
    C128 = "c128"
    BOOLEAN = "boolean"
    STRING = "string"
    DYNAMIC = "dynamic"

    def __str__(self) -> str:
        return str(self.value)

    # Enum's own hash formats the name at every call. Members are unique, so identity is enough.
    __hash__ = object.__hash__

    @property
    def bits(self) -> int:
        """The number of bits of one stored element; 0 for strings and for an unknown type."""
        return _BITS[self]

    @property
    def is_float(self) -> bool:
        """Return whether this is a real floating-point type, those of 4 and 8 bits included."""
        return self in _FLOATS

    @property
    def is_integer(self) -> bool:
        """Return whether this is a signed or unsigned integer; boolean is none."""
        return self in _INTEGERS

    def nbytes(self, count: int) -> int:
        """The number of bytes of `count` packed elements; the last byte is padded."""
        return (self.bits * count + 7) // 8

    def numpy(self) -> np.dtype[Any]:
        """The NumPy type that holds one element of this type per array item.

        Types of less than 8 bits without an ml_dtypes counterpart (u1, u3, u6) are held
        as uint8; nf4 is held as its 4-bit code in uint8.

        Raises:
            ValueError: for `DYNAMIC`, which has no values.
        """
        if self is ElementType.DYNAMIC:
            raise ValueError("an element type that is not known has no NumPy type")
        return _numpy_names()[self]


_BITS = {
    ElementType.F64: 64,
    ElementType.F32: 32,
    ElementType.F16: 16,
    ElementType.BF16: 16,
    ElementType.I64: 64,
    ElementType.I32: 32,
    ElementType.I16: 16,
    ElementType.I8: 8,
    ElementType.I4: 4,
    ElementType.I2: 2,
    ElementType.U64: 64,
    ElementType.U32: 32,
    ElementType.U16: 16,
    ElementType.U8: 8,
    ElementType.U6: 6,
    ElementType.U4: 4,
    ElementType.U3: 3,
    ElementType.U2: 2,
    ElementType.U1: 1,
    ElementType.NF4: 4,
    ElementType.F8E4M3: 8,
    ElementType.F8E5M2: 8,
    ElementType.F8E4M3FNUZ: 8,
    ElementType.F8E5M2FNUZ: 8,
    ElementType.F8E8M0: 8,
    ElementType.F4E2M1: 4,
    ElementType.C64: 64,
    ElementType.C128: 128,
    ElementType.BOOLEAN: 8,
    ElementType.STRING: 0,
    ElementType.DYNAMIC: 0,
}

_FLOATS = frozenset(
    {
        ElementType.F64,
        ElementType.F32,
        ElementType.F16,
        ElementType.BF16,
        ElementType.NF4,
        ElementType.F8E4M3,
        ElementType.F8E5M2,
        ElementType.F8E4M3FNUZ,
        ElementType.F8E5M2FNUZ,
        ElementType.F8E8M0,
        ElementType.F4E2M1,
    }
)

#: The 8-bit floats that OpenVINO has. Its CPU plugin only moves and converts them.
EIGHT_BIT_FLOATS = frozenset({ElementType.F8E4M3, ElementType.F8E5M2, ElementType.F8E8M0})

_INTEGERS = frozenset(
    {
        ElementType.I64,
        ElementType.I32,
        ElementType.I16,
        ElementType.I8,
        ElementType.I4,
        ElementType.I2,
        ElementType.U64,
        ElementType.U32,
        ElementType.U16,
        ElementType.U8,
        ElementType.U6,
        ElementType.U4,
        ElementType.U3,
        ElementType.U2,
        ElementType.U1,
    }
)


@cache
def _numpy_names() -> dict[ElementType, np.dtype[Any]]:
    import ml_dtypes
    import numpy as np

    plain = {
        ElementType.F64: np.float64,
        ElementType.F32: np.float32,
        ElementType.F16: np.float16,
        ElementType.BF16: ml_dtypes.bfloat16,
        ElementType.I64: np.int64,
        ElementType.I32: np.int32,
        ElementType.I16: np.int16,
        ElementType.I8: np.int8,
        ElementType.I4: ml_dtypes.int4,
        ElementType.I2: ml_dtypes.int2,
        ElementType.U64: np.uint64,
        ElementType.U32: np.uint32,
        ElementType.U16: np.uint16,
        ElementType.U8: np.uint8,
        ElementType.U4: ml_dtypes.uint4,
        ElementType.U2: ml_dtypes.uint2,
        ElementType.F8E4M3: ml_dtypes.float8_e4m3fn,
        ElementType.F8E5M2: ml_dtypes.float8_e5m2,
        ElementType.F8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
        ElementType.F8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
        ElementType.F8E8M0: ml_dtypes.float8_e8m0fnu,
        ElementType.F4E2M1: ml_dtypes.float4_e2m1fn,
        ElementType.C64: np.complex64,
        ElementType.C128: np.complex128,
        ElementType.BOOLEAN: np.bool_,
        ElementType.STRING: np.object_,
        # NumPy and ml_dtypes have no types for these, so each code is held in one byte.
        ElementType.U6: np.uint8,
        ElementType.U3: np.uint8,
        ElementType.U1: np.uint8,
        ElementType.NF4: np.uint8,
    }
    return {element: np.dtype(kind) for element, kind in plain.items()}


@cache
def element_named(name: str | ElementType) -> ElementType:
    """Return the element type with the given name; an ElementType is returned unchanged.

    Raises:
        UsageError: when there is no such type.
    """
    if isinstance(name, ElementType):
        return name
    try:
        return ElementType(name)
    except ValueError as error:
        names = [str(item) for item in ElementType]
        raise UsageError(
            f"there is no element type {name!r}",
            expected="f32, i64, boolean, ...",
            found=repr(name),
            fix=did_you_mean(str(name), names, nearness=0.5),
        ) from error


def element_type_of(dtype: np.dtype[Any]) -> ElementType:
    """The element type of a NumPy array, by its dtype (uint8 is `U8`, str is `STRING`).

    Raises:
        ValueError: when no element type corresponds.
    """
    if dtype.kind in "OUS":
        return ElementType.STRING
    for element, candidate in _numpy_names().items():
        if candidate == dtype:
            return element
    raise ValueError(f"no element type corresponds to NumPy's {dtype}")


@dataclass(frozen=True, slots=True)
class DynamicDim:
    """A dimension whose size is known only at run time. It may have a range, a name, or neither."""

    low: int = 0
    high: int | None = None
    symbol: str | None = None

    def __str__(self) -> str:
        if self.symbol is not None:
            return self.symbol
        if self.low == 0 and self.high is None:
            return "?"
        return f"{self.low or ''}..{'' if self.high is None else self.high}"


Dim = int | DynamicDim
UNKNOWN_DIM = DynamicDim()


def _widen(left: Dim, right: Dim) -> Dim:
    if left == right:
        return left
    return UNKNOWN_DIM


def _refine(left: Dim, right: Dim) -> Dim | None:
    if isinstance(left, int):
        if isinstance(right, int) and left != right:
            return None
        return left
    if isinstance(right, int) or left == UNKNOWN_DIM:
        return right
    return left


class NoAxisError(InferenceError):
    """Raised if a tensor lacks an axis; inference names the operation that asked for the axis."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The dimensions of a tensor; `dims` is None when not even the rank is known."""

    dims: tuple[Dim, ...] | None

    @classmethod
    def of(cls, *dims: Dim | None) -> Shape:
        """A shape of known rank; None is an unknown dimension."""
        return cls(tuple(UNKNOWN_DIM if dim is None else dim for dim in dims))

    @classmethod
    def of_rank(cls, rank: int) -> Shape:
        """A shape of known rank and unknown dimensions."""
        return cls((UNKNOWN_DIM,) * rank)

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None if it is unknown."""
        return None if self.dims is None else len(self.dims)

    @property
    def is_static(self) -> bool:
        """Return whether every dimension is a known number."""
        return self.static() is not None

    def static(self) -> tuple[int, ...] | None:
        """All dimensions as integers, or None if one of them is not known."""
        if self.dims is None:
            return None
        # Passes call this for every value of a model, and a loop is faster than a generator.
        for dim in self.dims:
            if not isinstance(dim, int):
                return None
        return cast("tuple[int, ...]", self.dims)

    def count(self) -> int | None:
        """The number of elements, or None when it is not known."""
        dims = self.static()
        return None if dims is None else math.prod(dims)

    def dim(self, axis: int) -> Dim:
        """The dimension at `axis`; a negative axis counts from the end.

        If the rank of the shape is unknown, the result is an unknown dimension.

        Raises:
            NoAxisError: when there is no such axis.
        """
        if self.dims is None:
            return UNKNOWN_DIM
        if not -len(self.dims) <= axis < len(self.dims):
            raise NoAxisError(
                "a tensor lacks an axis that the operation needs",
                expected=f"axis {axis}",
                found=f"a tensor of rank {len(self.dims)}",
            )
        return self.dims[axis]

    def with_dim(self, axis: int, dim: Dim) -> Shape:
        """Return a copy of the shape in which the dimension at `axis` is `dim`.

        A shape of unknown rank is returned unchanged.
        """
        if self.dims is None:
            return self
        dims = list(self.dims)
        dims[axis] = dim
        return Shape(tuple(dims))

    def with_names(self, prefix: str) -> Shape:
        """The shape with a name, the prefix and the axis, for each dimension of which nothing is
        known.

        Inference compares sizes by their names.
        """
        if self.dims is None:
            return self
        dims = [
            DynamicDim(symbol=f"{prefix}_{axis}") if dim == UNKNOWN_DIM else dim
            for axis, dim in enumerate(self.dims)
        ]
        return Shape(tuple(dims))

    def widen(self, other: Shape) -> Shape:
        """The narrowest shape that covers both shapes, for results of loops and branches."""
        if self.dims is None or other.dims is None or len(self.dims) != len(other.dims):
            return UNKNOWN_SHAPE
        return Shape(tuple(map(_widen, self.dims, other.dims)))

    def refine(self, other: Shape) -> Shape | None:
        """The shape with all dimensions that are known in this shape or in `other`.

        The result is None if the two contradict each other.
        """
        if self.dims is None:
            return other
        if other.dims is None:
            return self
        if len(self.dims) != len(other.dims):
            return None
        dims = [_refine(left, right) for left, right in zip(self.dims, other.dims, strict=True)]
        known = tuple(dim for dim in dims if dim is not None)
        return Shape(known) if len(known) == len(dims) else None

    def __str__(self) -> str:
        if self.dims is None:
            return "[...]"
        return "[" + ",".join(str(dim) for dim in self.dims) + "]"


UNKNOWN_SHAPE = Shape(None)


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor: element type and shape."""

    element: ElementType
    shape: Shape

    def __str__(self) -> str:
        return f"{self.element}{self.shape}"


class SequenceType(Record):
    """An ONNX sequence of values of one type.

    `length` is the number of items if inference finds it. `mixed` is true if inference finds that
    the shapes of two items contradict each other. A file declares neither.
    """

    item: ValueType
    length: int | None = None
    mixed: bool = False

    def __str__(self) -> str:
        return f"seq({self.item})"


class OptionalType(Record):
    """An ONNX optional, which holds a value of this type or is empty."""

    item: ValueType

    def __str__(self) -> str:
        return f"optional({self.item})"


ValueType = TensorType | SequenceType | OptionalType
UNKNOWN_TYPE = TensorType(ElementType.DYNAMIC, UNKNOWN_SHAPE)


def refine_type(type: ValueType, other: ValueType) -> ValueType:
    """Return `type` with its unknown dimensions filled in from `other`.

    If the shapes contradict each other, the result is `type` itself.
    """
    if not isinstance(type, TensorType) or not isinstance(other, TensorType):
        return type
    shape = type.shape.refine(other.shape)
    return type if shape is None else TensorType(type.element, shape)


def widen_types(left: ValueType, right: ValueType) -> ValueType:
    """The narrowest type that covers both types.

    It is the type of a value that comes from either of two branches or iterations.
    """
    if left == right:
        return left
    if isinstance(left, TensorType) and isinstance(right, TensorType):
        element = left.element if left.element is right.element else ElementType.DYNAMIC
        return TensorType(element, left.shape.widen(right.shape))
    if isinstance(left, SequenceType) and isinstance(right, SequenceType):
        return _widen_sequences(left, right)
    if isinstance(left, OptionalType) and isinstance(right, OptionalType):
        return OptionalType(widen_types(left.item, right.item))
    return UNKNOWN_TYPE


def _widen_sequences(left: SequenceType, right: SequenceType) -> SequenceType:
    length = left.length if left.length == right.length else None
    mixed = left.mixed or right.mixed
    for empty, other in ((left, right), (right, left)):
        if empty.length == 0 and _same_element(empty.item, other.item):
            # An empty sequence has no items with another shape.
            return SequenceType(other.item, length, mixed)
    item = widen_types(left.item, right.item)
    return SequenceType(item, length, mixed or differ_in_shape(left.item, right.item))


def _same_element(left: ValueType, right: ValueType) -> bool:
    if not isinstance(left, TensorType) or not isinstance(right, TensorType):
        return False
    return left.element is right.element


def tensor_within(type: ValueType) -> TensorType:
    """Return the type of a tensor, or of the tensors that a sequence or an optional holds."""
    while isinstance(type, SequenceType | OptionalType):
        type = type.item
    return type


def differ_in_shape(left: ValueType, right: ValueType) -> bool:
    """Return whether the shapes of two tensors contradict each other."""
    if not isinstance(left, TensorType) or not isinstance(right, TensorType):
        return False
    return left.shape.refine(right.shape) is None


def broadcast_dims(left: Dim, right: Dim) -> Dim | None:
    """The dimension that two dimensions broadcast to by NumPy's rules; None if they cannot."""
    if left == right:
        return left
    if left == 1:
        return right
    if right == 1:
        return left
    if isinstance(left, int):
        return None if isinstance(right, int) else left
    return right if isinstance(right, int) else UNKNOWN_DIM


def broadcast_shapes(shapes: Iterable[Shape]) -> Shape | None:
    """The shape that operands broadcast to by NumPy's rules; None if they cannot be broadcast."""
    result: tuple[Dim, ...] = ()
    for shape in shapes:
        if shape.dims is None:
            return UNKNOWN_SHAPE
        rank = max(len(result), len(shape.dims))
        left = (1,) * (rank - len(result)) + result
        right = (1,) * (rank - len(shape.dims)) + shape.dims
        merged: list[Dim] = []
        for pair in zip(left, right, strict=True):
            dim = broadcast_dims(*pair)
            if dim is None:
                return None
            merged.append(dim)
        result = tuple(merged)
    return Shape(result)
