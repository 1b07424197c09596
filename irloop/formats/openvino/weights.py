"""Reads constants from the .bin of an IR, lazily and with checks, and writes the .bin."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import BinaryIO

from irloop.formats.openvino import problems
from irloop.formats.openvino.document import Extra, Layer
from irloop.graph.mapped_file import MappedFile, MemoryFile
from irloop.graph.tensor import AbsentTensor, MappedTensor, StringTensor, Tensor
from irloop.graph.types import ElementType
from irloop.opening import Path, open_regular

__all__ = [
    "Weights",
    "WeightsWriter",
    "disguise_of",
    "element_count",
    "strings_in",
]

#: The beginnings of files that are not weights (in lower case), and what the files are.
_DISGUISES = (
    (b"version https://git-lfs", "a Git LFS pointer"),
    (b"<?xml", "an XML file"),
    (b"<net", "an XML file"),
    (b"<!doctype", "a web page"),
    (b"<html", "a web page"),
)


def disguise_of(head: bytes) -> str | None:
    """The kind of file that the first bytes `head` indicate; None if they may be weights."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return next((kind for text, kind in _DISGUISES if start.startswith(text)), None)


class Weights:
    """One .bin file. It is opened for the first constant, but its bytes are read only when needed.

    Reading a model therefore takes no longer if it has large weights.
    """

    def __init__(self, path: Path, file: str, *, absent: bool = False) -> None:
        self.path = path
        #: True to read no constants, so that the file need not exist.
        self.absent = absent
        #: The .xml, in which errors are located.
        self.file = file
        self._file: MappedFile | None = None

    def tensor(
        self,
        layer: Layer,
        element: ElementType,
        shape: tuple[int, ...],
        place: tuple[int, int],
        blob: Extra | None = None,
    ) -> Tensor:
        """The constant of this type and shape in the bytes at `place`: the offset and the size.

        `blob` is the element of an old layer that names the bytes.

        Raises:
            ReadError: when the file cannot be read or does not contain weights, or when the bytes
                are missing or too few.
        """
        if self.absent and element is not ElementType.STRING:
            return AbsentTensor(element, shape)
        file = self._file or self._opened(layer)
        available, (offset, size) = file.size, place
        if offset + size > available:
            problem = problems.outside_weights(layer, offset, size, available, blob)
            raise problem.error(self.file)
        count = element_count(shape)
        if element is ElementType.STRING:
            values = strings_in(file.window(offset, size), count)
            if isinstance(values, str):
                raise problems.bad_strings(layer, values).error(self.file)
            return StringTensor(values, shape)
        needed = element.nbytes(count)
        if size < needed:
            raise problems.too_few_bytes(layer, needed, size).error(self.file)
        return MappedTensor(file, offset, element, shape)

    def _opened(self, layer: Layer) -> MappedFile:
        if isinstance(self.path, MemoryFile):
            self._file = self.path
            return self.path
        file = MappedFile(self.path)
        try:
            with open_regular(self.path) as stream:
                head = stream.read(32)
            size = file.size
        except (OSError, ValueError) as error:
            raise problems.no_weights(layer, self.path, error).error(self.file) from error
        disguise = disguise_of(head)
        if disguise is not None:
            problem = problems.disguised_weights(layer, file.path, disguise, size)
            raise problem.error(self.file)
        self._file = file
        return file


def element_count(shape: tuple[int, ...]) -> int:
    """The number of elements of `shape`; if it exceeds `_LARGEST`, any number above `_LARGEST`.

    No file can hold more than `_LARGEST` elements.
    """
    if 0 in shape:
        return 0
    total = 1
    for dim in shape:
        total *= dim
        if total > _LARGEST:
            break
    return total


def strings_in(raw: bytes | memoryview, count: int) -> tuple[bytes, ...] | str:
    """Read the strings of a constant from the table in which OpenVINO stores them.

    The table consists of i32 numbers (the number of strings, 0, and the offset at which
    each string ends), followed by the bytes of all strings.

    If `raw` is not such a table with `count` strings, the result is a description of the bytes for
    an error message.
    """
    if len(raw) < 8:
        # An empty table may also be stored as no bytes.
        return f"{len(raw)} bytes" if count else ()
    (stored,) = struct.unpack_from("<i", raw)
    if stored != count or len(raw) < 8 + 4 * count:
        return f"a table of {stored} strings in {len(raw)} bytes for {count} elements"
    ends = struct.unpack_from(f"<{count}i", raw, 8)
    text = raw[8 + 4 * count :]
    starts = (0, *ends[:-1])
    if any(not first <= last <= len(text) for first, last in zip(starts, ends, strict=False)):
        return "end offsets that do not ascend or leave the constant"
    return tuple(bytes(text[first:last]) for first, last in zip(starts, ends, strict=False))


#: The largest 64-bit integer; no file has more elements.
_LARGEST = 2**63 - 1


class WeightsWriter:
    """Appends constants to a .bin that is being written; equal bytes are stored only once.

    Bytes are compared independently of type and shape, as in OpenVINO's own writer. No constant is
    ever in memory as a whole.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._end = 0
        self._has_empty = False
        #: For each size and sample of bytes, the first tensor. `_digests` tells later tensors with
        #: the same size and sample apart.
        self._seen: dict[_Look, _Entry] = {}
        self._digests: dict[tuple[_Look, bytes], int] = {}

    def place(self, tensor: Tensor) -> tuple[int, int]:
        """Write the constant unless it is already in the file; return its offset and size."""
        size = tensor.nbytes
        if size == 0:
            self._has_empty = True
            return 0, 0
        look = (size, *tensor.ends(_SAMPLE))
        known = self._seen.get(look)
        if known is None:
            self._seen[look] = _Entry(tensor, offset := self._append(tensor, size))
            return offset, size
        if size <= 2 * _SAMPLE or _are_equal(known.tensor, tensor):
            return known.offset, size
        if not known.has_digest:
            known.has_digest = True
            self._digests[look, _digest(known.tensor)] = known.offset
        key = look, _digest(tensor)
        if key not in self._digests:
            self._digests[key] = self._append(tensor, size)
        return self._digests[key], size

    def finish(self) -> None:
        """Pad the file if it holds only empty constants.

        OpenVINO refuses constants if the .bin is empty.
        """
        if self._has_empty and self._end == 0:
            self._stream.write(bytes(8))

    def _append(self, tensor: Tensor, size: int) -> int:
        # Readers that map the file can use aligned data in place.
        step = 64 if size >= 4096 else 8
        start = -(-self._end // step) * step
        self._stream.write(bytes(start - self._end))
        tensor.write_to(self._stream)
        self._end = start + size
        return start


#: The number of bytes at both ends of a constant that are compared before anything is hashed.
_SAMPLE = 64
#: The number of bytes of a constant that are compared at a time.
_PIECE = 1 << 16
_Look = tuple[int, bytes, bytes]


@dataclass(slots=True, eq=False, repr=False)
class _Entry:
    """A tensor in the .bin, and where it begins."""

    tensor: Tensor
    offset: int
    has_digest: bool = False


def _are_equal(one: Tensor, other: Tensor) -> bool:
    """Return whether two constants of the same size have the same bytes.

    Comparing two constants is much faster than hashing them.
    """
    if one is other:
        return True
    if one.nbytes <= _PIECE:
        return bytes(one.raw()) == bytes(other.raw())
    # Pieces are small, because each larger piece would need new pages of memory.
    pieces = zip(one.pieces(_PIECE), other.pieces(_PIECE), strict=True)
    return all(bytes(first) == bytes(second) for first, second in pieces)


def _digest(tensor: Tensor) -> bytes:
    # Only writing needs hashlib; importing it above would slow down the start of validation by 5 %.
    from hashlib import blake2b

    state = blake2b(digest_size=32)
    for chunk in tensor.pieces():
        state.update(chunk)
    return state.digest()
