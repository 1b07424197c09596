"""Constant data: windows into mapped files, arrays in memory, strings.

A `Tensor` is immutable. `raw()` gives its bytes as a file stores them (little-endian, packed
below 8 bits); `numpy()` gives one array item an element, a read-only view of the mapping
wherever the type and the alignment allow it.
"""

from __future__ import annotations

import mmap
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from io import BufferedReader, FileIO
from typing import TYPE_CHECKING, Any

from irloop.graph.types import ElementType, Shape, TensorType

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "ArrayTensor",
    "BytesTensor",
    "MappedFile",
    "MappedTensor",
    "ReshapedTensor",
    "StringTensor",
    "Tensor",
]


class Tensor(ABC):
    """The value of a constant."""

    __slots__ = ("element", "shape")

    element: ElementType
    shape: tuple[int, ...]

    @property
    def type(self) -> TensorType:
        """Element type and static shape."""
        return TensorType(self.element, Shape(self.shape))

    @property
    def count(self) -> int:
        """The number of elements."""
        total = 1
        for dim in self.shape:
            total *= dim
        return total

    @property
    def nbytes(self) -> int:
        """Bytes of `raw()`."""
        return self.element.nbytes(self.count)

    @abstractmethod
    def raw(self) -> memoryview:
        """The packed little-endian bytes, without a copy where the source allows it."""

    @abstractmethod
    def numpy(self) -> Array:
        """The elements, one array item each; do not write into it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.element}, {list(self.shape)})"


class MappedFile:
    """A file mapped into memory at first use; tensors are windows into it.

    Bytes are read when a tensor is looked into, never before, so a model of any size is
    read in the time its description takes.
    """

    __slots__ = ("_identity", "_size", "_view", "path")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._size: int | None = None
        self._view: memoryview | None = None
        self._identity: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """The size of the file in bytes.

        Raises:
            OSError: when the file cannot be looked at.
        """
        if self._size is None:
            self._size = os.stat(self.path).st_size
        return self._size

    def window(self, offset: int, nbytes: int) -> memoryview:
        """`nbytes` bytes from `offset`, unaligned offsets included.

        Raises:
            ValueError: when the window is not inside the file.
        """
        if offset < 0 or nbytes < 0 or offset + nbytes > self.size:
            raise ValueError(f"bytes {offset}..{offset + nbytes} of {self.path} do not exist")
        if nbytes == 0:
            return memoryview(b"")
        if self._view is None:
            with open(self.path, "rb") as file:
                # The views outlive this object, so the mapping is left to the garbage collector.
                self._view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
                self._identity = _identity(file)
        return self._view[offset : offset + nbytes]

    def chunks(self, offset: int, nbytes: int, step: int = 1 << 20) -> Iterator[memoryview]:
        """The bytes of a window in pieces, each valid until the next one is asked for.

        They come through a buffer where that is possible: going over a mapping page by page
        takes twice the time, and the pages would stay in memory.

        Raises:
            ValueError: when the window is not inside the file, or the file has become shorter.
            OSError: when it cannot be read.
        """
        view = self.window(offset, nbytes)
        with open(self.path, "rb", buffering=0) as file:
            # A file of this name that was put there since is not the one that is mapped.
            if _identity(file) == self._identity:
                file.seek(offset)
                buffer = memoryview(bytearray(min(step, nbytes)))
                while nbytes:
                    count = file.readinto(buffer[: min(step, nbytes)])
                    if not count:
                        raise ValueError(f"{self.path} has become shorter")
                    yield buffer[:count]
                    nbytes -= count
                return
        for start in range(0, nbytes, step):
            yield view[start : start + step]
            self.release(offset + start, step)

    def release(self, offset: int, nbytes: int) -> None:
        """Let go of the memory that holds these bytes; they are read again when needed."""
        mapping = None if self._view is None else self._view.obj
        if not isinstance(mapping, mmap.mmap) or not hasattr(mmap, "MADV_DONTNEED"):
            return
        start = -(-offset // mmap.PAGESIZE) * mmap.PAGESIZE
        length = min(offset + nbytes, self.size) - start
        if length > 0:
            mapping.madvise(mmap.MADV_DONTNEED, start, length)


def _identity(file: FileIO | BufferedReader) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino


class MappedTensor(Tensor):
    """A window of a mapped file; nothing is read until it is asked for."""

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

    def numpy(self) -> Array:
        return unpack(self.raw(), self.element, self.shape)


class ArrayTensor(Tensor):
    """A constant that lives in memory."""

    __slots__ = ("_array",)

    def __init__(self, array: Array, element: ElementType | None = None) -> None:
        """Wrap `array`; give `element` where the array type does not tell it (u1, nf4)."""
        import numpy as np

        from irloop.graph.types import element_type_of

        self.element = element_type_of(array.dtype) if element is None else element
        kind = self.element.numpy()
        view = np.asarray(array, dtype=kind).view()
        view.flags.writeable = False
        self._array = view
        self.shape = tuple(int(dim) for dim in view.shape)

    def raw(self) -> memoryview:
        return memoryview(pack(self._array, self.element))

    def numpy(self) -> Array:
        return self._array


class BytesTensor(Tensor):
    """A constant held as the bytes that a file would store; making one takes no NumPy."""

    __slots__ = ("_bytes",)

    def __init__(self, data: bytes, element: ElementType, shape: tuple[int, ...]) -> None:
        self._bytes = data
        self.element = element
        self.shape = shape

    @classmethod
    def of_integers(cls, *values: int) -> BytesTensor:
        """A vector of i64."""
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

    def numpy(self) -> Array:
        return self._source.numpy().reshape(self.shape)


class StringTensor(Tensor):
    """A constant of strings, each held as its UTF-8 bytes."""

    __slots__ = ("values",)

    def __init__(self, values: tuple[bytes, ...], shape: tuple[int, ...]) -> None:
        self.values = values
        self.shape = shape
        self.element = ElementType.STRING

    @property
    def nbytes(self) -> int:
        return len(self.raw())

    def raw(self) -> memoryview:
        """OpenVINO's table: i32 count, i32 0, i32 end offsets, then the bytes."""
        ends, total = [], 0
        for value in self.values:
            total += len(value)
            ends.append(total)
        table = b"".join(n.to_bytes(4, "little") for n in (len(self.values), 0, *ends))
        return memoryview(table + b"".join(self.values))

    def numpy(self) -> Array:
        import numpy as np

        array = np.empty(len(self.values), dtype=object)
        array[:] = [value.decode("utf-8", errors="replace") for value in self.values]
        return array.reshape(self.shape)


def _unpack_bits(codes: Array, bits: int, count: int) -> Array:
    import numpy as np

    if bits == 1:
        bits_of: Array = np.unpackbits(codes, bitorder="big")[:count]
        return bits_of
    if bits in (2, 4):
        # The first element sits in the low bits of its byte.
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        fields: Array = ((codes[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[:count]
        return fields
    stream = np.unpackbits(codes, bitorder="little")[: count * bits].reshape(count, bits)
    weights = (1 << np.arange(bits)).astype(np.uint8)
    total: Array = (stream * weights).sum(axis=1).astype(np.uint8)
    return total


def unpack(raw: memoryview | bytes, element: ElementType, shape: tuple[int, ...]) -> Array:
    """The elements in `raw` as an array of `shape`; a view where no unpacking is needed."""
    import numpy as np

    kind = element.numpy()
    if element.bits >= 8:
        array = np.frombuffer(raw, dtype=np.uint8)
        if element is ElementType.BOOLEAN:
            # A byte other than 0 and 1 still means true, but numpy would carry it on as it is.
            truth: Array = (array != 0).reshape(shape)
            return truth
        # A byte view allows any alignment; numpy copies where an operation needs aligned data.
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
    """The bytes a file stores for `array`: the inverse of `unpack`."""
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
