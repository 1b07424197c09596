"""Converts TensorProto in both directions: raw, typed, packed, sparse and external data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import onnx

from irloop.errors import ReadError
from irloop.formats.onnx.external import ExternalFiles, entries_of
from irloop.formats.onnx.types import data_type_of, element_type, require_rank
from irloop.graph.tensor import ArrayTensor, BytesTensor, StringTensor, Tensor, unpack
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = ["describe", "sparse_from_proto", "tensor_from_proto"]

#: A sparse tensor is refused if its dense form has more elements or bytes than this.
DENSE_LIMIT = 1 << 31

#: NumPy refuses arrays whose extent exceeds the address space, even if they are empty.
EXTENT_LIMIT = 1 << 56

#: The field that holds the elements of a type if they are not raw; other types use int32_data.
_FIELDS = {
    ElementType.F32: "float_data",
    ElementType.C64: "float_data",
    ElementType.F64: "double_data",
    ElementType.C128: "double_data",
    ElementType.I64: "int64_data",
    ElementType.U32: "uint64_data",
    ElementType.U64: "uint64_data",
}


def tensor_from_proto(proto: onnx.TensorProto, files: ExternalFiles, where: str) -> Tensor:
    """The tensor of a TensorProto; external data is mapped, and read only when it is needed.

    Raises:
        ReadError: when data and shape do not match, when the element type is missing or unknown, or
            when external data cannot be used (see `ExternalFiles.tensor`).
    """
    element = element_type(proto.data_type, where)
    shape = _shape(proto.dims, where)
    if element is ElementType.DYNAMIC:
        raise ReadError(f"{where} has no element type")
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        if element is ElementType.STRING:
            raise ReadError(f"{where}: strings cannot be external data")
        return files.tensor(entries_of(proto), element, shape, where)
    if proto.HasField("segment"):
        raise ReadError(f"{where} is stored in segments, which no version of ONNX describes")
    if element is ElementType.STRING:
        return _strings(proto, shape, where)
    if proto.HasField("raw_data"):
        raw = proto.raw_data
        embedded = files.embedded(raw, element, shape, where)
        return _from_raw(raw, element, shape, where) if embedded is None else embedded
    return _typed(proto, element, shape, where)


def _from_raw(raw: bytes, element: ElementType, shape: tuple[int, ...], where: str) -> Tensor:
    expected = element.nbytes(math.prod(shape))
    if len(raw) != expected:
        raise ReadError(
            f"{where}: the size of the data does not match shape {list(shape)} of {element}",
            expected=f"{expected} bytes",
            found=f"{len(raw)} bytes",
        )
    if element is ElementType.BOOLEAN:
        # Bytes other than 0 and 1 also mean true, and an array has only these two.
        return ArrayTensor(unpack(raw, element, shape), element)
    return BytesTensor(raw, element, shape)


def _shape(dims: Any, where: str) -> tuple[int, ...]:
    shape = tuple(dims)
    extent = 1
    for dim in shape:
        extent *= max(dim, 1)
        if dim < 0 or extent > EXTENT_LIMIT:
            raise ReadError(f"{where} has an impossible shape", found=str(list(shape))[:200])
    require_rank(len(shape), where)
    return shape


def _strings(proto: onnx.TensorProto, shape: tuple[int, ...], where: str) -> Tensor:
    if proto.HasField("raw_data"):
        raise ReadError(f"{where}: strings cannot be raw data")
    values = tuple(proto.string_data)
    _require_count(len(values), math.prod(shape), shape, where)
    return StringTensor(values, shape)


def _require_count(found: int, expected: int, shape: tuple[int, ...], where: str) -> None:
    if found != expected:
        raise ReadError(
            f"{where}: the number of elements does not match shape {list(shape)}",
            expected=f"{expected} entries",
            found=f"{found} entries",
        )


def _typed(
    proto: onnx.TensorProto, element: ElementType, shape: tuple[int, ...], where: str
) -> Tensor:
    import numpy as np

    field = _FIELDS.get(element, "int32_data")
    data = getattr(proto, field)
    count = math.prod(shape)
    if element in (ElementType.C64, ElementType.C128):
        _require_count(len(data), 2 * count, shape, where)
        part = np.float32 if element is ElementType.C64 else np.float64
        return ArrayTensor(np.array(data, dtype=part).view(element.numpy()).reshape(shape), element)
    if element.bits < 8:
        # Each entry holds one byte of packed elements.
        _require_count(len(data), element.nbytes(count), shape, where)
        packed = np.array(data, dtype=np.int32).astype(np.uint8).tobytes()
        return ArrayTensor(unpack(packed, element, shape), element)
    _require_count(len(data), count, shape, where)
    if field == "int32_data" and element.is_float:
        # Each entry holds the bits of one element.
        bits = np.array(data, dtype=np.int32).astype(f"u{element.bits // 8}")
        return ArrayTensor(bits.view(element.numpy()).reshape(shape), element)
    kinds = {"float_data": "f4", "double_data": "f8", "int64_data": "i8", "uint64_data": "u8"}
    array = np.array(data, dtype=kinds.get(field, "i4"))
    return ArrayTensor(array.astype(element.numpy()).reshape(shape), element)


def sparse_from_proto(proto: onnx.SparseTensorProto, files: ExternalFiles, where: str) -> Tensor:
    """The dense tensor of a SparseTensorProto.

    Raises:
        ReadError: when indices, values and shape do not match, or the dense tensor would be too
            large.
    """
    import numpy as np

    shape = _shape(proto.dims, where)
    values = tensor_from_proto(proto.values, files, f"{where} (values)")
    indices = tensor_from_proto(proto.indices, files, f"{where} (indices)")
    element, count = values.element, math.prod(shape)
    if max(element.nbytes(count), count) > DENSE_LIMIT:
        raise ReadError(
            f"{where}: the sparse tensor is too large to be stored as a dense one", found=f"{shape}"
        )
    if len(values.shape) != 1 or indices.element is not ElementType.I64:
        raise ReadError(f"{where}: a sparse tensor needs values [NNZ] and indices of i64")
    positions = indices.numpy()
    if positions.ndim == 2 and positions.shape == (values.shape[0], len(shape)):
        if bool(((positions < 0) | (positions >= np.array(shape, dtype=np.int64))).any()):
            raise ReadError(f"{where}: an index of the sparse tensor is outside its shape")
        weights = np.cumprod((1, *shape[:0:-1]), dtype=np.int64)[::-1]
        positions = (positions * weights[: len(shape)]).sum(axis=1)
    elif positions.shape != values.shape:
        raise ReadError(
            f"{where}: indices and values of the sparse tensor have contradictory shapes",
            expected=f"indices [{values.shape[0]}] or [{values.shape[0]},{len(shape)}]",
            found=f"{list(positions.shape)}",
        )
    flat = np.asarray(positions, dtype=np.int64).reshape(-1)
    if bool(((flat < 0) | (flat >= count)).any()):
        raise ReadError(f"{where}: an index of the sparse tensor is outside its shape")
    if isinstance(values, StringTensor):
        strings = [b""] * count
        for position, value in zip(flat.tolist(), values.values, strict=True):
            strings[position] = value
        return StringTensor(tuple(strings), shape)
    dense = np.zeros(count, dtype=element.numpy())
    dense[flat] = values.numpy()
    return ArrayTensor(dense.reshape(shape), element)


def describe(proto: onnx.TensorProto, tensor: Tensor, name: str, where: str) -> None:
    """Write the type, shape and name of `tensor` into `proto`, an empty TensorProto.

    The elements are written only if they are strings. `where` names the tensor's place in the error
    message.

    Raises:
        WriteError: for an element type that ONNX does not have.
    """
    proto.data_type = data_type_of(tensor.element, where)
    proto.dims.extend(tensor.shape)
    if name:
        proto.name = name
    if isinstance(tensor, StringTensor):
        proto.string_data.extend(tensor.values)
    elif tensor.element is ElementType.STRING:
        texts = tensor.numpy().reshape(-1).tolist()
        proto.string_data.extend(
            text if isinstance(text, bytes) else str(text).encode() for text in texts
        )
