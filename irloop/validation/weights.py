"""Reads the .bin for validation: its size, its first bytes, and other parts piece by piece."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from io import BufferedReader
from typing import Any, BinaryIO, TypeVar

from irloop.formats.openvino.weights import disguise_of
from irloop.graph.mapped_file import MemoryFile
from irloop.opening import Path, open_regular

__all__ = ["Weights"]

Found = TypeVar("Found")

#: Results of `Weights.once`, keyed by file and by the argument `what`.
_KNOWN: dict[tuple[object, ...], Any] = {}
_MOST = 100_000


class Weights:
    """A weights file that is opened at the first read and never read as a whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None
        #: Why the file cannot be opened; None if it can, or if it was not tried yet.
        self.error: Exception | None = None

    @cached_property
    def size(self) -> int | None:
        """The size in bytes, or None if the file cannot be opened; `error` tells why."""
        if isinstance(self.path, MemoryFile):
            return self.path.size
        return None if self._status is None else self._status.st_size

    @cached_property
    def _status(self) -> os.stat_result | None:
        try:
            return os.fstat(self._opened().fileno())
        except (OSError, ValueError) as error:
            self.error = error
            return None

    def _opened(self) -> BinaryIO:
        if self._file is None:
            self._file = BufferedReader(open_regular(self.path))
        return self._file

    def once(self, what: tuple[object, ...], look: Callable[[], Found]) -> Found:
        """Return the result of `look`, cached for this file and `what`.

        Several models may share their weights, and reading them takes most of the time.
        """
        status = None if isinstance(self.path, MemoryFile) else self._status
        if status is None:
            return look()
        identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        key = (identity, *what)
        if key not in _KNOWN:
            if len(_KNOWN) >= _MOST:
                _KNOWN.clear()
            _KNOWN[key] = look()
        found: Found = _KNOWN[key]
        return found

    @cached_property
    def disguise(self) -> str | None:
        """What the file is instead of weights, such as "a web page"; None if it may be weights.

        The first 32 bytes of the file decide.
        """
        if not self.size:
            return None
        return disguise_of(self.read(0, 32))

    def read(self, offset: int, size: int) -> bytes:
        """Read `size` bytes from `offset`; fewer if the file ends before that or cannot be read."""
        if self.size is None:
            return b""
        if isinstance(self.path, MemoryFile):
            return bytes(self.path.read(min(offset, self.size), min(size, self.size - offset)))
        try:
            file = self._opened()
            file.seek(offset)
            return file.read(size)
        except (OSError, OverflowError, ValueError):
            return b""

    def chunks(self, offset: int, size: int, chunk: int = 1 << 20) -> Iterator[bytes]:
        """Yield the bytes of a range in pieces of at most `chunk` bytes."""
        end = offset + size
        while offset < end:
            data = self.read(offset, min(chunk, end - offset))
            if not data:
                return
            yield data
            offset += len(data)

    def close(self) -> None:
        """Close the file; a later read opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None
