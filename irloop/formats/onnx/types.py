"""Converts element types and value types between ONNX and the graph."""

from __future__ import annotations

from collections.abc import Iterable

import onnx

from irloop.errors import ReadError, WriteError
from irloop.graph.types import (
    LARGEST_RANK,
    LARGEST_SIZE,
    UNKNOWN_DIM,
    UNKNOWN_SHAPE,
    UNKNOWN_TYPE,
    Dim,
    DynamicDim,
    ElementType,
    OptionalType,
    SequenceType,
    Shape,
    TensorType,
    ValueType,
)

__all__ = [
    "DATA_TYPES",
    "ELEMENT_TYPES",
    "data_type_name",
    "data_type_of",
    "element_type",
    "not_text",
    "require_rank",
    "require_text",
    "type_from_proto",
    "type_to_proto",
]

#: Element types, keyed by TensorProto.DataType (onnx.proto of IR version 14).
ELEMENT_TYPES: dict[int, ElementType] = {
    0: ElementType.DYNAMIC,
    1: ElementType.F32,
    2: ElementType.U8,
    3: ElementType.I8,
    4: ElementType.U16,
    5: ElementType.I16,
    6: ElementType.I32,
    7: ElementType.I64,
    8: ElementType.STRING,
    9: ElementType.BOOLEAN,
    10: ElementType.F16,
    11: ElementType.F64,
    12: ElementType.U32,
    13: ElementType.U64,
    14: ElementType.C64,
    15: ElementType.C128,
    16: ElementType.BF16,
    17: ElementType.F8E4M3,
    18: ElementType.F8E4M3FNUZ,
    19: ElementType.F8E5M2,
    20: ElementType.F8E5M2FNUZ,
    21: ElementType.U4,
    22: ElementType.I4,
    23: ElementType.F4E2M1,
    24: ElementType.F8E8M0,
    25: ElementType.U2,
    26: ElementType.I2,
}
DATA_TYPES: dict[ElementType, int] = {element: code for code, element in ELEMENT_TYPES.items()}


def require_text(strings: Iterable[str], where: str) -> None:
    """Refuse strings that are not UTF-8, which protobuf returns as bytes.

    `where` describes the strings in the error message, for example "a name of a node".

    Raises:
        ReadError: when one of the strings is not UTF-8.
    """
    try:
        "".join(strings)
    except TypeError:
        raise not_text(where) from None


def not_text(where: str) -> ReadError:
    """Make the error for a string that is not UTF-8; `where` describes the string."""
    cause = "the file is damaged, or not an ONNX model"
    return ReadError(f"{where} is not UTF-8 text", cause=cause)


def require_rank(rank: int, where: str) -> None:
    """Refuse a tensor with more dimensions than an array can have; `where` describes it.

    Raises:
        ReadError: when there are too many dimensions.
    """
    if rank > LARGEST_RANK:
        raise ReadError(f"{where} has {rank} dimensions", expected=f"at most {LARGEST_RANK}")


def data_type_name(code: int) -> str:
    """ONNX's name for a TensorProto.DataType, or its number if it has no name."""
    names = {value: name for name, value in onnx.TensorProto.DataType.items()}
    return str(names.get(code, code))


def element_type(code: int, where: str) -> ElementType:
    """The element type with this number; `where` describes its location in an error.

    Raises:
        ReadError: for a number without an element type.
    """
    element = ELEMENT_TYPES.get(code)
    if element is None:
        raise ReadError(
            f"{where} has the element type {data_type_name(code)}, which irloop does not know",
            expected="an element type of TensorProto.DataType up to INT2 (26)",
            found=data_type_name(code),
        )
    return element


def data_type_of(element: ElementType, where: str) -> int:
    """The TensorProto.DataType of an element type.

    Raises:
        WriteError: when ONNX has no such type (u1, u3, u6, nf4).
    """
    code = DATA_TYPES.get(element)
    if code is None:
        raise WriteError(
            f"{where} has the element type {element}, which ONNX does not have",
            fix="convert the values to an element type of ONNX first",
        )
    return code


def type_from_proto(proto: onnx.TypeProto) -> ValueType:
    """Return the graph type for a TypeProto.

    The result is the unknown type if the graph has no such type, for example for a map.

    Raises:
        ReadError: when the type has too many dimensions, or the name of one is not UTF-8.
    """
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        tensor = proto.tensor_type
        require_rank(len(tensor.shape.dim), "a type")
        element = ELEMENT_TYPES.get(tensor.elem_type, ElementType.DYNAMIC)
        shape = (
            Shape(tuple(map(_dim, tensor.shape.dim))) if tensor.HasField("shape") else UNKNOWN_SHAPE
        )
        return TensorType(element, shape)
    if kind == "sequence_type":
        return SequenceType(type_from_proto(proto.sequence_type.elem_type))
    if kind == "optional_type":
        return OptionalType(type_from_proto(proto.optional_type.elem_type))
    return UNKNOWN_TYPE


def _dim(proto: onnx.TensorShapeProto.Dimension) -> Dim:
    # Some files write -1 for an unknown size; 0 is a real size.
    if proto.HasField("dim_value") and proto.dim_value >= 0:
        return int(proto.dim_value)
    if proto.HasField("dim_param") and proto.dim_param:
        require_text([proto.dim_param], "the name of a dimension")
        return DynamicDim(symbol=proto.dim_param)
    return UNKNOWN_DIM


def type_to_proto(type: ValueType, where: str) -> onnx.TypeProto:
    """The TypeProto of a type.

    Raises:
        WriteError: for an element type that ONNX does not have, or a dimension beyond 64 bits.
    """
    proto = onnx.TypeProto()
    if isinstance(type, SequenceType):
        proto.sequence_type.elem_type.CopyFrom(type_to_proto(type.item, where))
        return proto
    if isinstance(type, OptionalType):
        proto.optional_type.elem_type.CopyFrom(type_to_proto(type.item, where))
        return proto
    proto.tensor_type.elem_type = data_type_of(type.element, where)
    if type.shape.dims is not None:
        proto.tensor_type.shape.SetInParent()
        for dim in type.shape.dims:
            entry = proto.tensor_type.shape.dim.add()
            if isinstance(dim, int) and dim > LARGEST_SIZE:
                raise WriteError(
                    f"{where} has a dimension that is too large for ONNX",
                    expected="sizes of 64 bits",
                    found=str(dim),
                )
            if isinstance(dim, int):
                entry.dim_value = dim
            elif dim.symbol:
                entry.dim_param = dim.symbol
    return proto
