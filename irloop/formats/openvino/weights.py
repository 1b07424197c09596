"""The .bin of an IR: constants as windows into it, checked before they are made; and writing it."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from irloop.diagnostics import Location
from irloop.errors import ReadError
from irloop.files import open_regular
from irloop.formats.openvino.attributes import AttributeProblem
from irloop.graph.tensor import MappedFile, MappedTensor, StringTensor, Tensor
from irloop.graph.types import ElementType

__all__ = ["Weights", "WeightsWriter", "default_weights"]

_LFS = b"version https://git-lfs"
_MARKUP = (b"<?xml", b"<net", b"<html", b"<!doctype")
_LARGEST = 2**63 - 1


def default_weights(path: str | os.PathLike[str]) -> str:
    """The .bin that belongs to an .xml: the same name beside it."""
    return os.fspath(Path(path).with_suffix(".bin"))


class Weights:
    """One .bin. It is looked at when the first constant is asked for, and mapped when its
    bytes are: reading a model costs nothing for its weights."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._file: MappedFile | None = None

    def tensor(
        self, element: ElementType, shape: tuple[int, ...], offset: int, size: int
    ) -> Tensor:
        """The constant of this type and shape in bytes `offset` to `offset + size`.

        Raises:
            AttributeProblem: when the bytes are not there or are too few.
            ReadError: when the file cannot be read or holds no weights.
        """
        file = self._opened()
        count = _count(shape)
        if offset + size > file.size:
            raise AttributeProblem(
                f"lies outside {self.path}",
                expected=f"bytes within 0..{file.size}, the size of the file",
                found=f"offset {offset} + size {size} = {offset + size}",
                code="IRL302",
            )
        if element is ElementType.STRING:
            return _strings(file.window(offset, size), count, shape)
        needed = element.nbytes(count)
        if size < needed:
            raise AttributeProblem(
                "has fewer bytes than its shape and type need",
                expected=f"{needed} bytes for {count} elements of {element}",
                found=f"size {size}",
                code="IRL303",
            )
        return MappedTensor(file, offset, element, shape)

    def _opened(self) -> MappedFile:
        if self._file is None:
            file = MappedFile(self.path)
            try:
                with open_regular(self.path) as stream:
                    head = stream.read(32)
                size = file.size
            except OSError as error:
                raise self._missing(error) from error
            _refuse_disguise(self.path, head, size)
            self._file = file
        return self._file

    def _missing(self, error: OSError) -> ReadError:
        reason = error.strerror or type(error).__name__
        return ReadError(
            f"the weights cannot be read: {reason}",
            location=Location(self.path),
            code="IRL301",
            expected="the .bin that belongs to the .xml",
            cause="the .xml was copied without its .bin, or the .bin has another name",
            fix="put the .bin beside the .xml, or name it (weights)",
        )


def _refuse_disguise(path: str, head: bytes, size: int) -> None:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if start.startswith(_LFS):
        raise ReadError(
            "this is a Git LFS pointer, not the weights themselves",
            location=Location(path),
            code="IRL301",
            found=f"{size} bytes that begin with {head[:23]!r}",
            cause="the repository was cloned without its large files",
            fix="run 'git lfs pull' to fetch the weights",
        )
    if start.startswith(_MARKUP):
        raise ReadError(
            "this is XML or HTML, not weights",
            location=Location(path),
            code="IRL301",
            found=f"a file that begins with {head[:23]!r}",
            cause="the .xml was given in the place of the .bin, or a web page was saved",
            fix="give the .bin of this model",
        )


def _count(shape: tuple[int, ...]) -> int:
    if 0 in shape:
        return 0
    total = 1
    for dim in shape:
        total *= dim
        if total > _LARGEST:
            raise AttributeProblem(
                "has more elements than 64 bits can count",
                expected="a shape whose bytes are in the .bin",
                found=f"{len(shape)} dimensions, {dim} among them",
                code="IRL303",
            )
    return total


def _strings(raw: memoryview, count: int, shape: tuple[int, ...]) -> StringTensor:
    """Strings from OpenVINO's table: i32 count, i32 0, i32 end offsets, then the bytes."""
    if len(raw) < 8:
        # No strings at all may be stored as nothing at all.
        if count == 0:
            return StringTensor((), shape)
        raise _bad_table(f"{len(raw)} bytes")
    (stored,) = struct.unpack_from("<i", raw)
    if stored != count or len(raw) < 8 + 4 * count:
        raise _bad_table(f"a table of {stored} strings in {len(raw)} bytes for {count} elements")
    ends = struct.unpack_from(f"<{count}i", raw, 8)
    text = raw[8 + 4 * count :]
    starts = (0, *ends[:-1])
    if any(not first <= last <= len(text) for first, last in zip(starts, ends, strict=False)):
        raise _bad_table("end offsets that do not ascend or leave the constant")
    values = tuple(bytes(text[first:last]) for first, last in zip(starts, ends, strict=False))
    return StringTensor(values, shape)


def _bad_table(found: str) -> AttributeProblem:
    return AttributeProblem(
        "is no table of strings",
        expected="i32 count, i32 0, an i32 end offset a string, then their bytes",
        found=found,
        code="IRL303",
    )


class WeightsWriter:
    """Appends constants to a .bin that is being written; equal bytes are stored once.

    Bytes are compared whatever type and shape they have, as OpenVINO's own writer does it. No
    constant is ever in memory as a whole.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._end = 0
        self._has_empty = False
        #: Tensors by what they look like from outside; told apart by digests where that is equal.
        self._seen: dict[_Look, _Entry] = {}
        self._digests: dict[tuple[_Look, bytes], int] = {}

    def place(self, tensor: Tensor) -> tuple[int, int]:
        """Offset and size of the constant, which is written when it is not there yet."""
        size = tensor.nbytes
        if size == 0:
            self._has_empty = True
            return 0, 0
        look = (size, *tensor.ends(_SAMPLE))
        known = self._seen.get(look)
        if known is None:
            self._seen[look] = _Entry(tensor, offset := self._append(tensor, size))
            return offset, size
        if size <= 2 * _SAMPLE or known.tensor is tensor:
            return known.offset, size
        if not known.has_digest:
            known.has_digest = True
            self._digests[look, _digest(known.tensor)] = known.offset
        key = look, _digest(tensor)
        if key not in self._digests:
            self._digests[key] = self._append(tensor, size)
        return self._digests[key], size

    def finish(self) -> None:
        """Write what the file still needs: OpenVINO refuses a constant in an empty file."""
        if self._has_empty and self._end == 0:
            self._stream.write(bytes(8))

    def _append(self, tensor: Tensor, size: int) -> int:
        # Aligned data can be used in place by whoever maps the file.
        step = 64 if size >= 4096 else 8
        start = -(-self._end // step) * step
        self._stream.write(bytes(start - self._end))
        for chunk in tensor.pieces():
            self._stream.write(chunk)
        self._end = start + size
        return start


#: Bytes at both ends of a constant that are compared before anything is hashed.
_SAMPLE = 64
_Look = tuple[int, bytes, bytes]


@dataclass(slots=True)
class _Entry:
    tensor: Tensor
    offset: int
    has_digest: bool = False


def _digest(tensor: Tensor) -> bytes:
    # Writing alone needs it; a validation that loads it too starts a twentieth later.
    from hashlib import blake2b

    state = blake2b(digest_size=32)
    for chunk in tensor.pieces():
        state.update(chunk)
    return state.digest()
