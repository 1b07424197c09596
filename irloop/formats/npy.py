"""Arrays in .npy and .npz files; sizes are checked before any array is created."""

from __future__ import annotations

import ast
import io
import math
import os
import zipfile
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np

from irloop.errors import UsageError
from irloop.graph.types import LARGEST_RANK
from irloop.opening import open_regular

__all__ = ["MOST_BYTES", "arrays_in"]

Array = np.ndarray[Any, np.dtype[Any]]

#: All arrays of one file together may take at most this many bytes.
MOST_BYTES = 8 << 30

#: Maximum number of bytes of a header (type, order and shape); NumPy refuses longer headers, too.
_LONGEST_HEADER = 10_000
_MOST_MEMBERS = 100_000
_LARGEST_CODE_POINT = 0x10FFFF
_STEP = 1 << 22

_EXPECTED = "a .npz or .npy file without pickled objects"
_FIX = "save strings as NumPy text: np.savez(path, x=np.array(['a', 'b']))"


class _Header(NamedTuple):
    dtype: np.dtype[Any]
    is_fortran: bool
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def arrays_in(path: str | os.PathLike[str]) -> tuple[bool, dict[str, Array]]:
    """Read a .npz or .npy; return whether it is a .npz, and its arrays, keyed by name.

    The single array of a .npy has an empty name.

    Raises:
        UsageError: when the file cannot be read, is neither a .npz nor a .npy, is damaged or
            encrypted, contains objects, or would take more than `MOST_BYTES`.
    """
    name = os.fspath(path)
    try:
        with io.BufferedReader(open_regular(name)) as file:
            size = os.fstat(file.fileno()).st_size
            start = file.read(4)
            file.seek(0)
            if start == b"\x93NUM":
                return False, {"": _array(file, size, name)}
            if start[:2] != b"PK":
                raise _refused(name, "it is neither a ZIP archive nor a NumPy array")
            return True, dict(_members(file, name))
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from error
    except UsageError:
        raise
    except MemoryError as error:
        raise UsageError(f"cannot read {name}: not enough memory for its arrays") from error
    except Exception as error:
        # zipfile, zlib and NumPy raise exceptions without a common base class for damaged files.
        raise _refused(name, f"it is damaged ({str(error) or type(error).__name__})") from error


def _refused(name: str, reason: str) -> UsageError:
    return UsageError(f"cannot read {name}: {reason}", expected=_EXPECTED, fix=_FIX)


def _members(file: IO[bytes], name: str) -> Iterator[tuple[str, Array]]:
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if len(members) > _MOST_MEMBERS:
            raise _refused(name, f"it has {len(members)} arrays, more than {_MOST_MEMBERS}")
        total = sum(member.file_size for member in members)
        if total > MOST_BYTES:
            raise _refused(name, f"its arrays take {total} bytes, more than {MOST_BYTES}")
        for member in members:
            where = f"{name}: {member.filename}"
            if member.flag_bits & 1:
                raise _refused(where, "it is encrypted")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise _refused(
                    where, f"it uses the unsupported compression method {member.compress_type}"
                )
            with archive.open(member) as stream:
                yield member.filename.removesuffix(".npy"), _array(stream, member.file_size, where)


def _array(stream: IO[bytes], size: int, name: str) -> Array:
    """Read one array; `size` is the number of bytes in `stream`, header included."""
    header = _header(stream, name)
    if header.nbytes > min(size, MOST_BYTES):
        reason = f"its header describes {header.nbytes} bytes, but the file has {size}"
        raise _refused(name, reason)
    data = bytearray(header.nbytes)
    view, done = memoryview(data), 0
    while done < len(data):
        part = stream.read(min(_STEP, len(data) - done))
        if not part:
            raise _refused(name, f"it ends after {done} of {len(data)} bytes")
        view[done : done + len(part)] = part
        done += len(part)
    array: Array = np.frombuffer(data, header.dtype)
    if header.dtype.kind == "U" and data:
        order = header.dtype.str[0] if header.dtype.str[0] in "<>" else "="
        if int(np.frombuffer(data, f"{order}u4").max()) > _LARGEST_CODE_POINT:
            raise _refused(name, "its text has characters that are not in Unicode")
    return array.reshape(header.shape, order="F" if header.is_fortran else "C")


def _header(stream: IO[bytes], name: str) -> _Header:
    start = stream.read(8)
    if len(start) < 8 or start[:6] != b"\x93NUMPY" or start[6] not in (1, 2, 3):
        raise _refused(name, f"it starts with {start!r}, not with the signature of a NumPy array")
    length = int.from_bytes(stream.read(2 if start[6] == 1 else 4), "little")
    if length > _LONGEST_HEADER:
        raise _refused(name, f"its header has {length} bytes, more than {_LONGEST_HEADER}")
    text = stream.read(length).decode("utf-8" if start[6] == 3 else "latin-1")
    try:
        header = ast.literal_eval(text.strip())
    except (MemoryError, RecursionError) as error:
        # The parser raises MemoryError for deep nesting, however much memory there is.
        raise _refused(name, "it is damaged (its header is nested too deeply)") from error
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise _refused(name, "its header lacks the element type, the order or the shape")
    shape, order = header["shape"], header["fortran_order"]
    is_shape = isinstance(shape, tuple) and all(type(dim) is int and dim >= 0 for dim in shape)
    if not is_shape or len(shape) > LARGEST_RANK or not isinstance(order, bool):
        raise _refused(
            name, f"its shape {str(shape)[:80]} or its order {str(order)[:20]} is not valid"
        )
    if not isinstance(header["descr"], str):
        raise _refused(name, "its elements are records")
    dtype = np.dtype(header["descr"])
    if dtype.hasobject or dtype.kind not in "biufcSU":
        raise _refused(name, f"its elements are of type {dtype.name}")
    return _Header(dtype, order, shape)
