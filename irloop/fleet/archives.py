"""Lists and extracts models in ZIP and tar archives, which may be hostile.

A member's name never becomes a path on this machine: the caller chooses the paths. Links, devices
and folders are skipped. The bytes written are counted, whatever size the archive declares.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from typing import IO, Any, NamedTuple

from irloop.errors import UsageError
from irloop.fleet.places import Place, fetching_from, place_of
from irloop.opening import SUFFIXES, open_regular

__all__ = ["Member", "TooBigError", "copy", "extract", "is_archive", "models_in"]

_TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")

#: Maximum size of the directory of a ZIP in bytes, about 500,000 names; zipfile keeps it in memory.
DIRECTORY = 48 << 20

#: Maximum size of a header in a tar (such as a long name) in bytes; tarfile keeps it in memory.
HEADER = 1 << 20

#: Maximum number of models without weights, and of weights without a model, that are kept while a
#: tar is read.
WAITING = 10_000

CHUNK = 1 << 20

#: A compressed tar may unpack to SPARE bytes and RATIO bytes for each of its own. gzip cannot reach
#: this ratio, but a few bytes of bzip2 or xz could keep a worker busy for hours.
SPARE = 256 << 20
RATIO = 1032

#: The exceptions that the readers of archives raise for damaged data.
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, ValueError)

#: Opens a member for reading.
_Opened = Callable[[], IO[bytes]]


class TooBigError(Exception):
    """Raised if a file is larger than allowed."""


class Member(NamedTuple):
    """A model in an archive; `size` and `weights` have the same meaning as in `sources.Entry`."""

    name: str
    size: int
    mark: str
    weights: str


def is_archive(name: str) -> bool:
    """Return whether `name`, which must be in lower case, is the name of an archive."""
    return name.endswith((".zip", *_TARS))


def models_in(address: str) -> Iterator[Member]:
    """The models in an archive, paired with their weights.

    Raises:
        UsageError: when the archive cannot be read, or has too many members.
    """
    with _opened(address) as (stream, mark):
        in_tar = ((info.name, info.size) for info, _ in _tar_members(stream))
        found = _zip_sizes(stream) if address.lower().endswith(".zip") else in_tar
        yield from _paired(found, mark)


def _paired(listed: Iterator[tuple[str, int]], mark: str) -> Iterator[Member]:
    """Yield the models in an archive; an IR model comes with its weights.

    `listed` has the names and sizes of the files in the archive. An ONNX model is yielded at once,
    and an IR model when both its .xml and its .bin were found. An IR model without a .bin is
    yielded at the end, or earlier if too many IR models are waiting. `mark` changes when the
    archive changes; it is empty if that is unknown.
    """
    weights: dict[str, tuple[str, int]] = {}
    models: dict[str, tuple[str, int]] = {}
    for name, size in listed:
        stem, suffix = os.path.splitext(name)
        kind = suffix.lower()
        own = f"{mark}:{size}" if mark else ""
        if SUFFIXES.get(kind) == "onnx":
            yield Member(name, size, own, "")
        elif kind == ".bin" and stem in models:
            model, so_far = models.pop(stem)
            yield Member(model, so_far + size, own, name)
        elif kind == ".bin" and len(weights) < WAITING:
            weights[stem] = (name, size)
        elif kind == ".xml" and stem in weights:
            partner, more = weights.pop(stem)
            yield Member(name, size + more, own, partner)
        elif kind == ".xml":
            if len(models) == WAITING:
                first = next(iter(models))
                yield Member(*models.pop(first), "", "")
            models[stem] = (name, size)
    for name, size in models.values():
        yield Member(name, size, f"{mark}:{size}" if mark else "", "")


def extract(address: str, wanted: Mapping[str, str], most: int) -> dict[str, str]:
    """Extract members of an archive to files; members that it does not have are left out.

    Args:
        address: the archive.
        wanted: the path to write for each member, by the name of the member.
        most: the largest allowed size of a file in bytes.

    Returns:
        A message for each member that is larger than `most` or cannot be read, keyed by its name.
        The file of such a member is incomplete or missing.

    Raises:
        UsageError: when the archive cannot be read.
    """
    problems: dict[str, str] = {}
    with _opened(address) as (stream, _):
        members = _zip_streams if address.lower().endswith(".zip") else _tar_streams
        for name, opened in members(stream, set(wanted)):
            try:
                with opened() as content, open(wanted[name], "wb") as file:
                    copy(content, file, most)
            except TooBigError:
                problems[name] = f"more than {most} bytes"
            except NotImplementedError:
                problems[name] = "its compression is not supported"
            except _DAMAGED:
                problems[name] = "the archive is damaged"
            except RuntimeError:
                problems[name] = "it is encrypted"
            except OSError as error:
                if error.errno is not None:
                    raise
                # bz2 has no exception of its own for damaged data.
                problems[name] = "the archive is damaged"
    return problems


def copy(source: Any, target: IO[bytes], most: int) -> None:
    """Copy a stream of at most `most` bytes.

    Raises:
        TooBigError: when there are more.
    """
    copied = 0
    while data := source.read(CHUNK):
        copied += len(data)
        if copied > most:
            raise TooBigError
        target.write(data)


class _Header(tarfile.TarInfo):
    """A header of a tar; a huge header is refused before it is read."""

    _LONG = (
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    )

    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        if self.type in self._LONG and self.size > HEADER:
            raise tarfile.ReadError(f"a header of {self.size} bytes")
        return super()._proc_member(archive)  # type: ignore[misc]


@contextmanager
def _opened(address: str) -> Iterator[tuple[Any, str]]:
    place = place_of(address)
    with fetching_from(address), _stream_of(place) as stream:
        info = place.fs.info(place.path)
        tags = (info.get(key) for key in ("ETag", "etag", "mtime", "LastModified"))
        tag = next((str(tag) for tag in tags if tag), "")
        yield stream, f"{info.get('size')}-{tag}" if tag else ""


def _stream_of(place: Place) -> Any:
    """Open an archive; on this machine it must be a file, because opening a pipe would block."""
    if place.local:
        return BufferedReader(open_regular(place.path))
    return place.fs.open(place.path, "rb")


def _zip_sizes(stream: Any) -> Iterator[tuple[str, int]]:
    with _zip(stream) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                yield info.filename, info.file_size


def _zip_streams(stream: Any, wanted: set[str]) -> Iterator[tuple[str, _Opened]]:
    with _zip(stream) as archive:
        names = wanted & set(archive.namelist())
        for name in sorted(names):
            yield name, partial(archive.open, name)


def _zip(stream: Any) -> zipfile.ZipFile:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - (1 << 16) - 100))
    tail = stream.read()
    stream.seek(0)
    at, at_64 = tail.rfind(b"PK\5\6"), tail.rfind(b"PK\6\6")
    directory = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    if at_64 >= 0:
        directory = int.from_bytes(tail[at_64 + 40 : at_64 + 48], "little")
    if directory > DIRECTORY:
        raise UsageError(
            f"a ZIP archive whose directory has {directory} bytes is not read",
            expected=f"at most {DIRECTORY} bytes",
            fix="make several archives, or a tar, which is read member by member",
        )
    return zipfile.ZipFile(stream)


def _tar_streams(stream: Any, wanted: set[str]) -> Iterator[tuple[str, _Opened]]:
    left = set(wanted)
    for info, archive in _tar_members(stream):
        if info.name in left:
            left.discard(info.name)
            yield info.name, partial(_member, archive, info)
        if not left:
            return


def _member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    content = archive.extractfile(info)
    # extractfile returns None only for members that are not regular files, and `_tar_members`
    # leaves those out.
    assert content is not None
    return content


def _tar_members(stream: Any) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
    """The regular files of a tar, read front to back without seeking."""
    with tarfile.open(fileobj=_unpacked(stream), mode="r|", tarinfo=_Header) as archive:
        for info in archive:
            # Otherwise the archive would keep every member that it has read.
            archive.members.clear()  # type: ignore[attr-defined]
            if info.isreg():
                yield info, archive


class _Again:
    """Reads a stream from its beginning, although its first bytes have been read already.

    `start` holds these first bytes, because a web server may be unable to send them again. `count`
    is the number of bytes that were read from this object.
    """

    def __init__(self, start: bytes, rest: Any) -> None:
        self._start = start
        self._rest = rest
        self.count = 0

    def read(self, size: int) -> bytes:
        content, self._start = self._start[:size], self._start[size:]
        content = content or bytes(self._rest.read(size))
        self.count += len(content)
        return content


class _Bounded:
    """The unpacked content of an archive, as a stream.

    Reading raises an error if the content is many times larger than the archive.
    """

    def __init__(self, content: Any, packed: _Again) -> None:
        self._content = content
        self._packed = packed
        self._count = 0

    def read(self, size: int) -> bytes:
        data = bytes(self._content.read(size))
        self._count += len(data)
        if self._count > SPARE + RATIO * self._packed.count:
            raise UsageError(
                "an archive that unpacks to a huge multiple of its size is not read",
                expected=f"at most {SPARE:,} bytes, and {RATIO:,} for each byte of the archive",
                found=f"{self._count:,} bytes after {self._packed.count:,} of the archive",
                cause="it is damaged, or made to keep its reader busy",
                fix="unpack it, and sweep the folder",
            )
        return data


def _unpacked(stream: Any) -> Any:
    """Open the content of a tar that may be compressed; it is decompressed while it is read.

    tarfile could decompress it, too, but its time grows with the square of the compression ratio.
    """
    start = stream.read(6)
    # The type is Any, because the decompressors declare a complete file object as their argument,
    # although they only read from it.
    packed: Any = _Again(start, stream)
    if start.startswith(b"\x1f\x8b"):
        return _Bounded(gzip.GzipFile(fileobj=packed, mode="rb"), packed)
    if start.startswith(b"BZh"):
        return _Bounded(bz2.BZ2File(packed), packed)
    if start.startswith((b"\xfd7zXZ\0", b"]\0\0\x80\0")):
        return _Bounded(lzma.LZMAFile(packed), packed)
    return packed
