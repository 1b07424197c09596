"""The data of constants: windows into mapped files, arrays in memory, and strings.

A `Tensor` is immutable. `raw()` returns its bytes as a file stores them (little-endian, and packed
if elements have less than 8 bits). `numpy()` returns an array with one item for each element; it is
a read-only view of the mapping if the type and the alignment allow that.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from irloop.errors import LimitError, ReadError
from irloop.graph.mapped_file import MappedFile
from irloop.graph.types import ElementType, Shape, TensorType

if TYPE_CHECKING:
    from typing import BinaryIO

    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "AbsentTensor",
    "ArrayTensor",
    "BytesTensor",
    "MappedTensor",
    "ReshapedTensor",
    "StringTensor",
    "Tensor",
]


#: Number of bytes that are copied at a time.
PIECE = 1 << 20


class Tensor(ABC):
    """The value of a constant."""

    __slots__ = ("element", "shape")

    element: ElementType
    shape: tuple[int, ...]
    #: True if the elements are not there, because the model was read without its weights.
    is_absent: ClassVar[bool] = False

    @property
    def type(self) -> TensorType:
        """Element type and static shape."""
        return _type_of(self.element, self.shape)

    @property
    def count(self) -> int:
        """The number of elements."""
        total = 1
        for dim in self.shape:
            total *= dim
        return total

    @property
    def nbytes(self) -> int:
        """The number of bytes of `raw()`."""
        if self.element is ElementType.STRING:
            return len(self.raw())
        return _nbytes_of(self.element, self.shape)

    @abstractmethod
    def raw(self) -> memoryview:
        """The packed little-endian bytes, without a copy where the source allows it."""

    @abstractmethod
    def numpy(self) -> Array:
        """The elements as an array that must not be written to.

        Each element is one item of the array, even if several elements share a byte in the file.
        """

    def pieces(self, step: int = PIECE) -> Iterator[memoryview]:
        """The bytes of `raw()` in pieces, each valid until the next one is requested."""
        raw = self.raw()
        for start in range(0, len(raw), step):
            yield raw[start : start + step]

    def write_to(self, stream: BinaryIO) -> None:
        """Write the bytes of `raw()` at the position of `stream`, piece by piece to save memory.

        Raises:
            OSError: when they cannot be written.
            ReadError: when the file that they come from cannot be read.
        """
        for piece in self.pieces():
            stream.write(piece)

    def ends(self, count: int) -> tuple[bytes, bytes]:
        """The first and the last `count` bytes of `raw()`; all bytes twice if there are fewer."""
        raw = self.raw()
        return bytes(raw[:count]), bytes(raw[-count:])

    def loaded(self) -> Array:
        """Return the array as `numpy` does, but never as a view of a file.

        So later changes of the file do not affect it.
        """
        return self.numpy()

    def __repr__(self) -> str:
        # Without the class: texts of two models with equal constants, stored differently, are
        # equal.
        return f"Tensor({self.element}, {list(self.shape)})"


@lru_cache(maxsize=4096)
def _type_of(element: ElementType, shape: tuple[int, ...]) -> TensorType:
    # Many constants of a model have one type. The cache is bounded, because a process may read any
    # number of models.
    return TensorType(element, Shape(shape))


@lru_cache(maxsize=4096)
def _nbytes_of(element: ElementType, shape: tuple[int, ...]) -> int:
    return element.nbytes(math.prod(shape))


class AbsentTensor(Tensor):
    """A constant of a model that was read without its weights: only type and shape are known."""

    __slots__ = ()
    is_absent = True

    def __init__(self, element: ElementType, shape: tuple[int, ...]) -> None:
        self.element = element
        self.shape = shape

    def raw(self) -> memoryview:
        raise ReadError(
            "the model was read without its weights", fix="read it again, with its .bin"
        )

    def numpy(self) -> Array:
        self.raw()
        raise AssertionError("there are no bytes")


class MappedTensor(Tensor):
    """A window of a mapped file; nothing is read until it is needed."""

    __slots__ = ("file", "offset")

    def __init__(
        self, file: MappedFile, offset: int, element: ElementType, shape: tuple[int, ...]
    ) -> None:
        self.file = file
        self.offset = offset
        self.element = element
        self.shape = shape

    def raw(self) -> memoryview:
        return self.file.window(self.offset, self.nbytes)

    def pieces(self, step: int = PIECE) -> Iterator[memoryview]:
        return self.file.chunks(self.offset, self.nbytes, step)

    def write_to(self, stream: BinaryIO) -> None:
        self.file.copy_to(stream, self.offset, self.nbytes)

    def ends(self, count: int) -> tuple[bytes, bytes]:
        size = min(count, self.nbytes)
        last = self.offset + self.nbytes - size
        return bytes(self.file.read(self.offset, size)), bytes(self.file.read(last, size))

    def numpy(self) -> Array:
        return unpack(self.raw(), self.element, self.shape)

    def loaded(self) -> Array:
        return unpack(self.file.read(self.offset, self.nbytes), self.element, self.shape)


class ArrayTensor(Tensor):
    """A constant that lives in memory."""

    __slots__ = ("_array",)

    def __init__(self, array: Array, element: ElementType | None = None) -> None:
        """Wrap `array`; pass `element` if the array type does not determine it (u1, nf4)."""
        import numpy as np

        from irloop.graph.types import element_type_of

        self.element = element_type_of(array.dtype) if element is None else element
        kind = self.element.numpy()
        view = np.asarray(array, dtype=kind).view()
        view.flags.writeable = False
        self._array = view
        self.shape = tuple(int(dim) for dim in view.shape)

    def raw(self) -> memoryview:
        if self.element is ElementType.STRING:
            texts = self._array.reshape(-1).tolist()
            return _string_table([_utf8(text) for text in texts])
        return memoryview(pack(self._array, self.element))

    def numpy(self) -> Array:
        return self._array


class BytesTensor(Tensor):
    """A constant that holds its elements as bytes, exactly as a model file stores them.

    It can be created and written without NumPy.
    """

    __slots__ = ("_bytes",)

    def __init__(self, data: bytes, element: ElementType, shape: tuple[int, ...]) -> None:
        self._bytes = data
        self.element = element
        self.shape = shape

    @classmethod
    def of_integers(cls, *values: int) -> BytesTensor:
        """Make a constant that is an i64 vector of `values`."""
        data = b"".join(value.to_bytes(8, "little", signed=True) for value in values)
        return cls(data, ElementType.I64, (len(values),))

    def raw(self) -> memoryview:
        return memoryview(self._bytes)

    def numpy(self) -> Array:
        return unpack(self._bytes, self.element, self.shape)


class ReshapedTensor(Tensor):
    """The elements of another tensor, in the same order, in another shape."""

    __slots__ = ("_source",)

    def __init__(self, source: Tensor, shape: tuple[int, ...]) -> None:
        self._source = source
        self.element = source.element
        self.shape = shape

    def raw(self) -> memoryview:
        return self._source.raw()

    def pieces(self, step: int = PIECE) -> Iterator[memoryview]:
        return self._source.pieces(step)

    def write_to(self, stream: BinaryIO) -> None:
        self._source.write_to(stream)

    def ends(self, count: int) -> tuple[bytes, bytes]:
        return self._source.ends(count)

    def numpy(self) -> Array:
        return self._source.numpy().reshape(self.shape)

    def loaded(self) -> Array:
        return self._source.loaded().reshape(self.shape)


class StringTensor(Tensor):
    """A constant of strings, each held as its UTF-8 bytes."""

    __slots__ = ("values",)

    def __init__(self, values: tuple[bytes, ...], shape: tuple[int, ...]) -> None:
        self.values = values
        self.shape = shape
        self.element = ElementType.STRING

    def raw(self) -> memoryview:
        return _string_table(self.values)

    def numpy(self) -> Array:
        import numpy as np

        array = np.empty(len(self.values), dtype=object)
        array[:] = [value.decode("utf-8", errors="replace") for value in self.values]
        return array.reshape(self.shape)


def _string_table(values: Sequence[bytes]) -> memoryview:
    """Encode strings as OpenVINO stores them: positions, then the bytes of all strings.

    The positions are i32 numbers: the count, 0, and the position where each string ends.
    """
    ends, total = [], 0
    for value in values:
        total += len(value)
        ends.append(total)
    table = b"".join(n.to_bytes(4, "little") for n in (len(values), 0, *ends))
    return memoryview(table + b"".join(values))


def _utf8(text: Any) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()


def _unpack_bits(codes: Array, bits: int, count: int) -> Array:
    import numpy as np

    if bits == 1:
        bits_of: Array = np.unpackbits(codes, bitorder="big")[:count]
        return bits_of
    if bits in (2, 4):
        # The first element is in the low bits of its byte.
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        fields: Array = ((codes[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[:count]
        return fields
    stream = np.unpackbits(codes, bitorder="little")[: count * bits].reshape(count, bits)
    weights = (1 << np.arange(bits)).astype(np.uint8)
    total: Array = (stream * weights).sum(axis=1).astype(np.uint8)
    return total


def unpack(raw: memoryview | bytes, element: ElementType, shape: tuple[int, ...]) -> Array:
    """Convert the bytes of a constant to an array of `shape`.

    The array is a view of `raw` unless the elements must be unpacked, or are booleans.

    Raises:
        LimitError: when no memory can hold an array of this shape.
    """
    import numpy as np

    kind = element.numpy()
    size = kind.itemsize
    for dim in shape:
        size *= max(dim, 1)
    if size > sys.maxsize:
        # NumPy refuses such sizes even if there are no elements.
        raise LimitError(
            "an array has sizes that no memory can hold",
            code="LIM001",
            expected=f"at most {sys.maxsize:,} bytes, counting sizes of 0 as 1",
            found=f"the shape {list(shape)}",
        )
    if element.bits >= 8:
        array = np.frombuffer(raw, dtype=np.uint8)
        if element is ElementType.BOOLEAN:
            # Bytes other than 0 and 1 also mean true, but NumPy would keep their value.
            truth: Array = (array != 0).reshape(shape)
            return truth
        # A view of bytes allows any alignment; NumPy copies the data if an operation needs it
        # aligned.
        typed: Array = array.view(kind.newbyteorder("<") if kind.kind in "iufc" else kind)
        return typed.reshape(shape)
    count = 1
    for dim in shape:
        count *= dim
    codes = _unpack_bits(np.frombuffer(raw, dtype=np.uint8), element.bits, count)
    if element is ElementType.I4:
        codes = ((codes.astype(np.int8) ^ 8) - 8).astype(kind)
    elif element is ElementType.I2:
        codes = ((codes.astype(np.int8) ^ 2) - 2).astype(kind)
    elif element is ElementType.F4E2M1:
        codes = codes.view(kind)
    elif codes.dtype != kind:
        codes = codes.astype(kind)
    return codes.reshape(shape)


def pack(array: Array, element: ElementType) -> bytes:
    """Convert `array` to the bytes that a model file stores for a constant of type `element`.

    Elements of fewer than 8 bits are packed without gaps. `unpack` is the inverse.
    """
    import numpy as np

    if element.bits >= 8:
        return np.ascontiguousarray(array, dtype=element.numpy()).tobytes()
    flat = np.ascontiguousarray(array).reshape(-1)
    codes = flat.view(np.uint8) if element is ElementType.F4E2M1 else flat.astype(np.int16)
    codes = (codes & ((1 << element.bits) - 1)).astype(np.uint8)
    bits = element.bits
    if bits == 1:
        return np.packbits(codes, bitorder="big").tobytes()
    if bits in (2, 4):
        per_byte = 8 // bits
        padded = np.zeros(-(-len(codes) // per_byte) * per_byte, dtype=np.uint8)
        padded[: len(codes)] = codes
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        packed = np.bitwise_or.reduce(padded.reshape(-1, per_byte) << shifts, axis=1)
        return bytes(packed.astype(np.uint8))
    stream = (codes[:, None] >> np.arange(bits, dtype=np.uint8)) & 1
    blob: bytes = np.packbits(stream.reshape(-1), bitorder="little").tobytes()
    return blob
