"""Lists the models of folders, patterns, archives, lists and stores, one entry at a time.

No listing is held in memory: local folders are read entry by entry, stores folder by folder or, if
the package of the store allows it, page by page.
"""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from irloop.errors import UsageError
from irloop.fleet import archives
from irloop.fleet.places import Place, fetching_from, is_local, place_of
from irloop.opening import SUFFIXES

__all__ = ["Entry", "Shard", "entries", "in_shard"]

MODELS = tuple(SUFFIXES)

#: Maximum number of weights that are kept until the model of the same name appears in a paged
#: listing.
WAITING = 10_000

#: The number of entries in a page.
PAGE = 1000


class Entry(NamedTuple):
    """One model: its address, and the facts in its listing.

    `size` includes the weights, if they were listed. `mark` changes when the files change; it is
    empty if the listing has no such fact. A model in an archive has the address of the archive in
    `archive`, and the name of the member in `address`. An archive that cannot be read is an entry
    of its own, with the reason in `problem`.
    """

    address: str
    size: int = 0
    mark: str = ""
    weights: str = ""
    archive: str = ""
    problem: str = ""

    @property
    def path(self) -> str:
        """The address of the model; for a model in an archive, ``archive!/member``."""
        return f"{self.archive}!/{self.address}" if self.archive else self.address


class Shard(NamedTuple):
    """Part `number` (from 1) of a sweep that is divided into `parts`."""

    number: int
    parts: int


EVERYTHING = Shard(1, 1)


class Listed(NamedTuple):
    """A file found in a folder or store: its path, its size in bytes, and a mark.

    The mark changes when the file changes. It is empty if a store lists neither a checksum nor the
    time of the last change.
    """

    path: str
    size: int
    mark: str


def in_shard(path: str, shard: Shard) -> bool:
    """Return whether the model at `path` belongs to `shard`, a part of a sweep.

    A hash of the path decides this, so the answer is the same in every process and on every
    machine.
    """
    digest = hashlib.blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % shard.parts == shard.number - 1


def entries(sources: Sequence[str], shard: Shard = EVERYTHING) -> Iterator[Entry]:
    """The models that belong to `shard`, from all sources.

    Raises:
        UsageError: for a source that does not exist or cannot be listed.
    """
    for source in sources:
        for entry in _of_source(source):
            if shard.parts == 1 or in_shard(entry.path, shard):
                yield entry


def _of_source(source: str) -> Iterator[Entry]:
    if source.startswith("@"):
        for line in _lines(source[1:]):
            yield from _of_source(line)
    elif _is_pattern(source):
        yield from _matching(source)
    else:
        yield from _named(source)


def _is_pattern(source: str) -> bool:
    if is_local(source):
        return glob.has_magic(source) and not os.path.lexists(source)
    # `?` is not a wildcard, because it begins the query of a web address.
    return "*" in source or "[" in source


def _lines(address: str) -> Iterator[str]:
    place = place_of(address)
    with fetching_from(address), place.fs.open(place.path, "rb") as stream:
        for raw in stream:
            line = raw.decode("utf-8", "surrogateescape").strip()
            if line and not line.startswith(("#", "@")):
                yield line


def _named(source: str) -> Iterator[Entry]:
    """List the models in a source that is a file, an archive or a folder.

    Raises:
        UsageError: when there is no such file or folder.
    """
    place = place_of(source)
    name = place.path.lower()
    if is_local(source) and not os.path.lexists(place.path):
        raise UsageError(f"{source}: no such file or folder")
    if is_local(source) and os.path.isdir(place.path):
        yield from _paired(_local_files(place.path), place)
    elif archives.is_archive(name):
        yield from _archived(place.address(place.path))
    elif name.endswith(MODELS):
        yield _one(place)
    else:
        yield from _paired(_remote_files(place), place)


def _one(place: Place) -> Entry:
    """The entry of the single model at `place`.

    For a remote model the size is 0, and is determined when the model is fetched.
    """
    if not place.local:
        return Entry(place.address(place.path))
    status = os.stat(place.path)
    found = Listed(place.path, status.st_size, f"{status.st_size}-{status.st_mtime_ns}")
    return next(_paired([found], place))


def _archived(address: str) -> Iterator[Entry]:
    """List the models in an archive; if it is damaged, those before the damage, and the archive."""
    try:
        for member in archives.models_in(address):
            yield Entry(member.name, member.size, member.mark, member.weights, address)
    except UsageError as error:
        yield Entry(address, problem=error.message)


def _matching(pattern: str) -> Iterator[Entry]:
    """Yield the model files that match a pattern such as ``zoo/**/*.xml``.

    A matching archive yields all models that it contains.
    """
    place = place_of(pattern)
    start = place.path
    while glob.has_magic(start):
        start = start.rpartition("/")[0]
    form = re.compile(_translated(place.path))
    base = place._replace(path=start or "/")
    files = _local_files(base.path) if place.local else _remote_files(base)
    for entry in _paired(files, base, archives_too=True):
        path = entry.address.removeprefix(place.prefix).removesuffix(place.suffix)
        if not form.fullmatch(path):
            continue
        if archives.is_archive(entry.address.lower()):
            yield from _archived(entry.address)
        else:
            yield entry


def _translated(pattern: str) -> str:
    """The regular expression for a pattern; ``**/`` matches any number of folders."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", pattern)
    return "".join(
        parts.get(piece) or (_translated_set(piece) if at % 2 else re.escape(piece))
        for at, piece in enumerate(pieces)
    )


def _translated_set(piece: str) -> str:
    """Translate a set of characters such as ``[a-c]`` to a regular expression.

    The expression never matches a slash.
    """
    # Without what stands around the set: (?s:...) and the mark of the end.
    return f"(?!/){fnmatch.translate(piece)[4:-3]}"


def _paired(
    files: Iterable[Listed], place: Place, *, archives_too: bool = False
) -> Iterator[Entry]:
    """The models among files; weights listed near a model are paired with it."""
    waiting: OrderedDict[str, Listed] = OrderedDict()
    forgotten = False
    for file in files:
        stem, suffix = os.path.splitext(file.path)
        kind = suffix.lower()
        if SUFFIXES.get(kind) == "onnx":
            yield Entry(place.address(file.path), file.size, file.mark)
        elif kind == ".xml" and place.local:
            yield _local_pair(file, f"{stem}.bin")
        elif kind == ".xml":
            blob = waiting.pop(stem, None)
            if blob is None:
                # In a listing sorted by name, weights precede their model, so this model has none.
                mark = f"{file.mark}+none" if file.mark and not forgotten else ""
                yield Entry(place.address(file.path), file.size, mark)
                continue
            mark = f"{file.mark}+{blob.mark}" if file.mark and blob.mark else ""
            size = file.size + blob.size
            weights = place.address(blob.path)
            yield Entry(place.address(file.path), size, mark, weights)
        elif kind == ".bin" and not place.local:
            waiting[stem] = file
            if len(waiting) > WAITING:
                waiting.popitem(last=False)
                forgotten = True
        elif archives_too and archives.is_archive(file.path.lower()):
            yield Entry(place.address(file.path), file.size)


def _local_pair(file: Listed, weights: str) -> Entry:
    try:
        status = os.stat(weights)
    except (OSError, ValueError):
        return Entry(file.path, file.size, f"{file.mark}+none")
    mark = f"{file.mark}+{status.st_size}-{status.st_mtime_ns}"
    return Entry(file.path, file.size + status.st_size, mark, weights)


def _local_files(folder: str) -> Iterator[Listed]:
    """The regular files below a folder; links to places outside are not followed."""
    home = os.path.realpath(folder)
    pending = [folder]
    while pending:
        try:
            scan = os.scandir(pending.pop())
        except OSError as error:
            raise UsageError(f"{error.filename}: {error.strerror}") from error
        with scan:
            for entry in scan:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                    continue
                real = Path(os.path.realpath(entry.path)) if entry.is_symlink() else None
                if real is not None and not real.is_relative_to(home):
                    continue
                if not entry.is_file():
                    continue
                status = entry.stat()
                mark = f"{status.st_size}-{status.st_mtime_ns}"
                yield Listed(entry.path, status.st_size, mark)


def _remote_files(place: Place) -> Iterator[Listed]:
    """Yield the files in a folder of a remote store and in its subfolders."""
    with fetching_from(place.address(place.path)):
        if hasattr(place.fs, "_iterdir") and hasattr(place.fs, "split_path"):
            yield from _paged(place)
            return
        pending = [place.path]
        while pending:
            # In a listing sorted by name, weights (.bin) precede their model (.xml).
            found = sorted(place.fs.ls(pending.pop(), detail=True), key=_name)
            place.fs.invalidate_cache()
            pending += [_name(item) for item in found if item.get("type") == "directory"]
            yield from (_listed(item) for item in found if item.get("type") == "file")


def _name(item: dict[str, Any]) -> str:
    return str(item["name"])


def _listed(info: dict[str, Any]) -> Listed:
    tags = (info.get(key) for key in ("ETag", "etag", "md5Hash", "sha256", "blob_id"))
    mark = next((str(tag).strip('"') for tag in tags if tag), "")
    if not mark:
        times = (info.get(key) for key in ("LastModified", "mtime", "created", "last_modified"))
        time = next((str(time) for time in times if time), "")
        mark = f"{info.get('size')}-{time}" if time else ""
    return Listed(_name(info), int(info.get("size") or 0), mark)


def _paged(place: Place) -> Iterator[Listed]:
    """The files of an S3 store, page by page in the order of their names."""
    from fsspec.asyn import sync

    bucket, key, _ = place.fs.split_path(place.path)
    prefix = f"{key.rstrip('/')}/" if key else ""
    pages = place.fs._iterdir(bucket, delimiter="", prefix=prefix)

    async def page() -> list[dict[str, Any]]:
        infos: list[dict[str, Any]] = []
        async for item in pages:
            infos.append(item)
            if len(infos) == PAGE:
                break
        return infos

    while items := sync(place.fs.loop, page):
        yield from (_listed(item) for item in items if item.get("type", "file") == "file")
