"""The data of constants: windows into mapped files, arrays in memory, and strings.

A `Tensor` is immutable. `raw()` returns its bytes as a file stores them (little-endian, and packed
if elements have less than 8 bits). `numpy()` returns an array with one item for each element; it is
a read-only view of the mapping if the type and the alignment allow that.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from irloop.diagnostics import Location
from irloop.errors import LimitError, ReadError
from irloop.files import open_regular
from irloop.graph.types import ElementType, Shape, TensorType

if TYPE_CHECKING:
    from typing import BinaryIO

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


#: Windows of fewer bytes are read instead of mapped.
MAPPED = 1 << 16

#: Windows of at most this many bytes are taken from a page of `PAGE` bytes.
SMALL = 1 << 10
PAGE = 1 << 14

#: At most this many files stay open.
OPEN = 32

#: Number of bytes that are copied at a time.
PIECE = 1 << 20

#: Windows of at least this many bytes are copied by the system.
COPIED = 1 << 18

#: Number of bytes that the system copies at a time; signals are handled in between.
COPIED_AT_ONCE = 1 << 26


class Tensor(ABC):
    """The value of a constant."""

    __slots__ = ("element", "shape")

    element: ElementType
    shape: tuple[int, ...]

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


class MappedFile:
    """A file whose bytes are read only when the elements of a tensor are needed.

    Large weights therefore do not slow down reading a model. Small windows are read; large ones are
    mapped, after the size of the file is checked again: reading mapped bytes of a file that another
    process has truncated would kill this process. `read` and `chunks` never map.

    However many models there are, only a few files are open at a time. A file that is opened again
    must be the same file; if it was replaced in the meantime, an error is raised.
    """

    __slots__ = ("__weakref__", "_identity", "_page", "_size", "_view", "path")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._size: int | None = None
        self._identity: tuple[int, int] | None = None
        self._view: memoryview | None = None
        #: The bytes that were read last for a small window, and their offset in the file.
        self._page = (0, memoryview(b""))

    @property
    def size(self) -> int:
        """The size of the file in bytes, as found at the first access.

        Raises:
            OSError: when the file cannot be examined.
        """
        if self._size is None:
            self._look(os.stat(self.path))
        assert self._size is not None
        return self._size

    def _look(self, status: os.stat_result) -> None:
        self._size = status.st_size
        self._identity = status.st_dev, status.st_ino

    def window(self, offset: int, nbytes: int) -> memoryview:
        """Return the `nbytes` bytes that begin at `offset`, which need not be aligned.

        Raises:
            ValueError: when the window is not inside the file.
            ReadError: when the file cannot be read, has become shorter, or was replaced.
        """
        if nbytes <= SMALL:
            return self._small_window(offset, nbytes)
        if nbytes < MAPPED:
            return self.read(offset, nbytes)
        self._require_inside(offset, nbytes)
        opened = self._opened()
        if os.fstat(opened.handle).st_size < offset + nbytes:
            raise self._shorter()
        if self._view is None:
            try:
                # Views may outlive this object, so the mapping is left to the garbage collector.
                self._view = memoryview(_mapped(opened.handle))
            except (OSError, ValueError) as error:
                raise ReadError(f"{self.path} cannot be mapped: {error}") from error
        found = self._view[offset : offset + nbytes]
        if len(found) < nbytes:
            raise self._shorter()
        return found

    def _small_window(self, offset: int, nbytes: int) -> memoryview:
        """Return a window from the page that was read last, or read the page that it begins.

        Small constants of a model, such as axes and shapes, are usually next to each other, and a
        call of the system for each of them would take longer than all other work on them.
        """
        start, page = self._page
        if not 0 <= offset - start <= len(page) - nbytes:
            self._require_inside(offset, nbytes)
            page = self.read(offset, min(PAGE, self.size - offset))
            start = offset
            self._page = start, page
        return page[offset - start : offset - start + nbytes]

    def read(self, offset: int, nbytes: int) -> memoryview:
        """Read `nbytes` bytes from `offset` into newly allocated memory.

        Raises:
            ValueError: when some of these bytes are not inside the file.
            ReadError: when the file cannot be read, has become shorter, or was replaced.
        """
        self._require_inside(offset, nbytes)
        found = memoryview(bytearray(nbytes))
        self._fill(found, offset)
        return found.toreadonly()

    def chunks(self, offset: int, nbytes: int, step: int = 1 << 20) -> Iterator[memoryview]:
        """The bytes of a window in pieces, each valid until the next one is requested.

        Raises:
            ValueError: when the window is not inside the file.
            ReadError: when the file cannot be read, has become shorter, or was replaced.
        """
        self._require_inside(offset, nbytes)
        buffer = memoryview(bytearray(min(step, nbytes)))
        for start in range(0, nbytes, step):
            piece = buffer[: min(step, nbytes - start)]
            self._fill(piece, offset + start)
            yield piece

    def copy_to(self, stream: BinaryIO, offset: int, nbytes: int) -> None:
        """Write the bytes of a window at the position of `stream`.

        The system copies large windows if it can, so that they never enter this process.

        Raises:
            ValueError: when the window is not inside the file.
            OSError: when the bytes cannot be written.
            ReadError: when the file cannot be read, has become shorter, or was replaced.
        """
        self._require_inside(offset, nbytes)
        done = self._copied(stream, offset, nbytes) if nbytes >= COPIED else 0
        for piece in self.chunks(offset + done, nbytes - done):
            stream.write(piece)

    def _copied(self, stream: BinaryIO, offset: int, nbytes: int) -> int:
        """Let the system copy a window into `stream`; return how many bytes it has copied.

        These may be fewer than requested, because not every pair of files can be copied this way.
        """
        opened = self._opened()
        start = stream.tell()
        done = 0
        # Reading and writing the rest reports an error of the system, if it occurs again.
        with suppress(OSError):
            stream.flush()
            while done < nbytes and (
                count := opened.copy_to(
                    stream.fileno(), offset + done, start + done, min(nbytes - done, COPIED_AT_ONCE)
                )
            ):
                done += count
        stream.seek(start + done)
        return done

    def _require_inside(self, offset: int, nbytes: int) -> None:
        if offset < 0 or nbytes < 0 or offset + nbytes > self.size:
            raise ValueError(f"bytes {offset}..{offset + nbytes} of {self.path} do not exist")

    def _opened(self) -> _Descriptor:
        opened = _DESCRIPTORS.get(self)
        if opened is not None:
            return opened
        try:
            opened = _Descriptor(self.path)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ReadError(f"{self.path} cannot be read: {reason}") from error
        status = os.fstat(opened.handle)
        if self._identity is None:
            self._look(status)
        elif self._identity != (status.st_dev, status.st_ino):
            raise ReadError(
                f"{self.path} was replaced by another file since the model was read",
                location=Location(self.path),
                code="IRL302",
                cause="a new model was written to this path",
                fix="read the model again",
            )
        _DESCRIPTORS.keep(self, opened)
        return opened

    def _fill(self, buffer: memoryview, offset: int) -> None:
        if not buffer:
            return
        opened = self._opened()
        done = 0
        while done < len(buffer):
            try:
                count = opened.read_at(buffer[done:], offset + done)
            except OSError as error:
                raise ReadError(f"{self.path} cannot be read: {error.strerror}") from error
            if not count:
                raise self._shorter()
            done += count

    def _shorter(self) -> ReadError:
        return ReadError(
            f"{self.path} has become shorter since the model was read",
            location=Location(self.path),
            code="IRL302",
            expected=f"{self.size} bytes",
            cause="another process writes the file",
            fix="try again when it is complete",
        )


class _Descriptor:
    """A regular file that stays open for reading as long as this object exists."""

    __slots__ = ("handle",)

    def __init__(self, path: str) -> None:
        try:
            self.handle = _handle_of(path)
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            # If no descriptors are left, close the files that are only kept open to save time.
            _DESCRIPTORS.clear()
            self.handle = _handle_of(path)

    def __del__(self) -> None:
        handle = getattr(self, "handle", None)
        if handle is not None:
            os.close(handle)

    def read_at(self, buffer: memoryview, offset: int) -> int:
        """Read into `buffer` from `offset`; return the number of bytes, which is 0 at the end."""
        if hasattr(os, "preadv"):
            return os.preadv(self.handle, [buffer], offset)
        with _SEEKING:
            os.lseek(self.handle, offset, os.SEEK_SET)
            data = os.read(self.handle, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def copy_to(self, target: int, offset: int, place: int, nbytes: int) -> int:
        """Copy at most `nbytes` bytes at `offset` to position `place` of the file open as `target`.

        Returns the number of bytes copied, which is 0 at the end of the file, and on systems that
        cannot copy between files.
        """
        if not hasattr(os, "copy_file_range"):
            return 0
        return os.copy_file_range(self.handle, target, nbytes, offset, place)


class _Descriptors:
    """Keeps the descriptors of the files that were read last.

    A file stays open until newer files replace it. A thread that reads a file holds a reference to
    its descriptor, so that no other thread closes it.
    """

    def __init__(self) -> None:
        self._open: OrderedDict[int, _Descriptor] = OrderedDict()
        self._lock = threading.RLock()

    def get(self, file: MappedFile) -> _Descriptor | None:
        """The open descriptor of `file`; None if it has none."""
        with self._lock:
            found = self._open.get(id(file))
            if found is not None:
                self._open.move_to_end(id(file))
            return found

    def keep(self, file: MappedFile, opened: _Descriptor) -> None:
        """Keep the descriptor until `file` is deleted or `OPEN` newer descriptors are kept."""
        with self._lock:
            if id(file) not in self._open:
                weakref.finalize(file, self._drop, id(file)).atexit = False
            self._open[id(file)] = opened
            if len(self._open) > OPEN:
                self._open.popitem(last=False)

    def clear(self) -> None:
        """Close all files that are not being read."""
        with self._lock:
            self._open.clear()

    def _drop(self, key: int) -> None:
        with self._lock:
            self._open.pop(key, None)


_DESCRIPTORS = _Descriptors()
_SEEKING = threading.Lock()


def _handle_of(path: str) -> int:
    with open_regular(path) as file:
        return os.dup(file.fileno())


def _mapped(handle: int) -> mmap.mmap:
    """A mapping of the whole file; from Python 3.13 on it holds no descriptor of its own."""
    if sys.version_info >= (3, 13):
        return mmap.mmap(handle, 0, access=mmap.ACCESS_READ, trackfd=False)
    return mmap.mmap(handle, 0, access=mmap.ACCESS_READ)


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
    whole = kind.itemsize
    for dim in shape:
        whole *= max(dim, 1)
    if whole > sys.maxsize:
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
