"""Files whose bytes are read only when they are needed, such as the weights of a model."""

from __future__ import annotations

import errno
import mmap
import os
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from irloop.diagnostics import Location
from irloop.errors import ReadError
from irloop.opening import Path, open_regular

if TYPE_CHECKING:
    from typing import Any, BinaryIO

__all__ = ["MappedFile", "MemoryFile"]

#: Windows of fewer bytes are read instead of mapped.
MAPPED = 1 << 16

#: Windows of at most this many bytes are taken from a page of `PAGE` bytes.
SMALL = 1 << 10
PAGE = 1 << 14

#: At most this many files stay open.
OPEN = 32

#: Windows of at least this many bytes are copied by the system.
COPIED = 1 << 18

#: Number of bytes that the system copies at a time; signals are handled in between.
COPIED_AT_ONCE = 1 << 26


class MappedFile:
    """A file whose bytes are read only when the elements of a tensor are needed.

    Large weights therefore do not slow down reading a model. Small windows are read, and the last
    page that was read for one is kept; large windows are mapped, after the size of the file is
    checked again: reading mapped bytes of a file that another process has truncated would kill this
    process. `read` and `chunks` never map.

    However many models there are, only a few files are open at a time. A file that is opened again
    must be the same file; if it was replaced in the meantime, an error is raised.
    """

    __slots__ = (
        "__weakref__",
        "_identity",
        "_page",
        "_size",
        "_view",
        "path",
        "source",
        "was_read",
    )

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)
        #: The path as it was given: a `PathBelow` if a model names the file.
        self.source = path
        #: True once bytes of the file were read.
        self.was_read = False
        self._size: int | None = None
        self._identity: tuple[int, int] | None = None
        self._view: memoryview | None = None
        #: The bytes that were read last for a small window, and their offset in the file.
        self._page = (0, memoryview(b""))

    @property
    def size(self) -> int:
        """The size of the file in bytes, as found at the first access.

        Raises:
            OSError: when the file cannot be opened.
            ValueError: when its path cannot be a path, for example because it contains a NUL.
        """
        if self._size is None:
            with open_regular(self.source) as file:
                self._look(os.fstat(file.fileno()))
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
        part = self._view[offset : offset + nbytes]
        if len(part) < nbytes:
            raise self._shorter()
        return part

    def _small_window(self, offset: int, nbytes: int) -> memoryview:
        """Return a window from the page that was read last, or from a new page that it begins.

        Small constants of a model, such as axes and shapes, are usually next to each other, and a
        call of the system for each of them would take longer than all other work on them.
        """
        start, page = self._page
        first = offset - start
        if not 0 <= first <= first + nbytes <= len(page):
            self._require_inside(offset, nbytes)
            page, first = self.read(offset, min(PAGE, self.size - offset)), 0
            self._page = offset, page
        return page[first : first + nbytes]

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
            opened = _Descriptor(self.source)
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
        self.was_read = True
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


class MemoryFile(MappedFile):
    """Bytes in memory in place of a file; they are not copied, and must not change.

    It can be passed wherever the path of a file of weights can.
    """

    __slots__ = ("_data",)

    def __init__(self, data: Any, name: str = "<weights>") -> None:
        super().__init__(name)
        self._data = memoryview(data).cast("B").toreadonly()
        self._size = len(self._data)

    def __fspath__(self) -> str:
        return self.path

    def window(self, offset: int, nbytes: int) -> memoryview:
        self._require_inside(offset, nbytes)
        return self._data[offset : offset + nbytes]

    def read(self, offset: int, nbytes: int) -> memoryview:
        return self.window(offset, nbytes)

    def chunks(self, offset: int, nbytes: int, step: int = 1 << 20) -> Iterator[memoryview]:
        whole = self.window(offset, nbytes)
        for start in range(0, nbytes, step):
            yield whole[start : start + step]

    def copy_to(self, stream: BinaryIO, offset: int, nbytes: int) -> None:
        stream.write(self.window(offset, nbytes))


class _Descriptor:
    """A regular file that stays open for reading as long as this object exists."""

    __slots__ = ("handle",)

    def __init__(self, path: Path) -> None:
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
            descriptor = self._open.get(id(file))
            if descriptor is not None:
                self._open.move_to_end(id(file))
            return descriptor

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


def _handle_of(path: Path) -> int:
    with open_regular(path) as file:
        return os.dup(file.fileno())


def _mapped(handle: int) -> mmap.mmap:
    """A mapping of the whole file; from Python 3.13 on it holds no descriptor of its own."""
    if sys.version_info >= (3, 13):
        return mmap.mmap(handle, 0, access=mmap.ACCESS_READ, trackfd=False)
    return mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
