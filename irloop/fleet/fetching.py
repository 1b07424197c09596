"""Brings a model with its weights to this machine and computes its digest."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from irloop.errors import UsageError
from irloop.fleet import archives
from irloop.fleet.archives import CHUNK, TooBigError
from irloop.fleet.places import is_local, place_of
from irloop.fleet.sources import Entry
from irloop.opening import (
    Path,
    RefusedFileError,
    dialect_of,
    location_below,
    open_regular,
    weights_beside,
)

__all__ = ["Fetched", "add_data", "fetch", "needs_copy"]

_LFS_POINTER = b"version https://git-lfs"

#: A word that every external data entry of an ONNX model contains.
_LOCATION = b"location"


@dataclass(slots=True)
class Fetched:
    """A model on this machine.

    `files` maps the name of each file, as the model uses it, to the digest of the file; the model
    is first. `verdict` and `detail` are set if no step can run on the model. `may_have_data` is
    true for an .onnx model that may have external data. Once the names of the data files are
    known, `add_data` fetches these files.
    """

    entry: Entry
    folder: str
    path: str
    size: int = 0
    files: dict[str, str] = field(default_factory=dict)
    may_have_data: bool = False
    verdict: str = ""
    detail: str = ""
    #: The path without its suffix, and the suffix in lower case.
    stem: str = field(init=False)
    suffix: str = field(init=False)

    def __post_init__(self) -> None:
        self.stem, suffix = os.path.splitext(self.path)
        self.suffix = suffix.lower()

    @property
    def is_copy(self) -> bool:
        """Return whether the files are copies in `folder`; otherwise this folder does not exist."""
        return bool(self.entry.archive) or self.path != self.entry.address

    @property
    def digest(self) -> str:
        """The SHA-256 of the model, or of the digests and names of its files if it has several."""
        if len(self.files) == 1:
            return next(iter(self.files.values()))
        text = "\n".join(f"{digest} {name}" for name, digest in self.files.items())
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def fetch(entries: Sequence[Entry], folder: str, most: int) -> Iterator[Fetched]:
    """Fetch models with their weights, one by one, in the order of the entries.

    Files on this machine stay where they are. Consecutive members of one archive are extracted
    together. A model that cannot be fetched is a `Fetched` with a verdict.

    Args:
        entries: the models.
        folder: an empty folder for copies; each model gets a subfolder.
        most: the largest allowed size of a file in bytes.
    """
    numbered = enumerate(entries)
    for archive, group in itertools.groupby(numbered, key=lambda item: item[1].archive):
        models = [_new(entry, f"{folder}{os.sep}{number}") for number, entry in group]
        if archive:
            _extract_all(archive, models, most)
        for model in models:
            if not model.verdict:
                with _problems_of(model, most):
                    _fetch(model, most)
            yield model


def needs_copy(entry: Entry) -> bool:
    """Return whether `entry` is in an archive or a store; other files stay where they are."""
    return bool(entry.archive) or not is_local(entry.address)


def _new(entry: Entry, folder: str) -> Fetched:
    if entry.problem:
        return Fetched(entry, folder, entry.address, verdict="unavailable", detail=entry.problem)
    if not needs_copy(entry):
        return Fetched(entry, folder, entry.address)
    os.mkdir(folder)
    suffix = os.path.splitext(entry.address)[1].lower()
    return Fetched(entry, folder, os.path.join(folder, f"model{suffix}"))


@contextmanager
def _problems_of(fetched: Fetched, most: int) -> Iterator[None]:
    """Record an exception raised inside the block in `fetched`, as its verdict and detail.

    `most` is the largest number of bytes that a file may have. It appears in the detail if a file
    is larger.
    """
    try:
        yield
    except TooBigError:
        fetched.verdict, fetched.detail = "too-big", f"a file of it has more than {most} bytes"
    except UsageError as error:
        fetched.verdict, fetched.detail = "unavailable", error.message
    except ValueError as error:  # a NUL in a name
        fetched.verdict, fetched.detail = "unavailable", str(error)
    except FileNotFoundError:
        fetched.verdict, fetched.detail = "unavailable", "there is no such file"
    except OSError as error:
        fetched.verdict, fetched.detail = "unavailable", error.strerror or type(error).__name__


def _weights_path(found: Fetched) -> str:
    """The path of the weights of an IR; empty for other models."""
    return os.fspath(weights_beside(found.path)) if found.suffix == ".xml" else ""


def _fetch(fetched: Fetched, most: int) -> None:
    entry = fetched.entry
    weights = _weights_path(fetched)
    if fetched.is_copy and not entry.archive:
        _copy(entry.address, fetched.path, most)
        if weights:
            _copy_weights(entry, weights, most)
    head = _add(fetched, f"model{fetched.suffix}", fetched.path, most)
    if weights and os.path.isfile(weights):
        _add_named(fetched, "model.bin", weights_beside(fetched.path), most)
    elif weights and b"<net" not in head and not fetched.verdict:
        fetched.verdict, fetched.detail = "no-model", "this XML is no OpenVINO IR"


def _extract_all(archive: str, models: Sequence[Fetched], most: int) -> None:
    """Extract the models in `models` and their weights in one pass over their archive.

    Each model is written to its `path`. A model that cannot be extracted gets a verdict; no error
    is raised. `most` is the largest allowed size of a file in bytes.
    """
    paths: dict[str, str] = {}
    owners: dict[str, Fetched] = {}
    for model in models:
        stem = os.path.splitext(model.entry.address)[0]
        names = {model.entry.address: model.path}
        if weights := _weights_path(model):
            names[model.entry.weights or f"{stem}.bin"] = weights
        paths |= names
        owners |= dict.fromkeys(names, model)
    try:
        problems = archives.extract(archive, paths, most)
    except UsageError as error:
        for model in models:
            model.verdict, model.detail = "unavailable", error.message
        return
    for name, problem in problems.items():
        verdict = "too-big" if problem.startswith("more than") else "unreadable"
        owners[name].verdict, owners[name].detail = verdict, f"{name}: {problem}"
    for model in models:
        if not model.verdict and not os.path.exists(model.path):
            model.verdict, model.detail = "unavailable", "it is not in the archive any more"


def _copy(address: str, path: Path, most: int) -> None:
    place = place_of(address)
    try:
        with place.fs.open(place.path, "rb") as source, open(path, "wb") as target:
            archives.copy(source, target, most)
    except (TooBigError, OSError):
        raise
    except Exception as error:
        raise UsageError(f"cannot be read: {type(error).__name__}") from error


def _copy_weights(entry: Entry, path: str, most: int) -> None:
    """Copy the weights of an IR to `path`.

    If no weights are listed, the .bin with the name of the model is copied, if it exists. `most` is
    the largest number of bytes that the weights may have.
    """
    stem, _ = os.path.splitext(entry.address)
    address = entry.weights or f"{stem}.bin"
    if not entry.weights:
        place = place_of(address)
        if not place.fs.exists(place.path):
            return
    _copy(address, path, most)


def _add(fetched: Fetched, name: str, path: Path, most: int) -> bytes:
    """Read the file at `path`, and record its size and hash in `fetched` under `name`.

    `name` is the name that the model uses for the file, such as "model.bin". If the file is a Git
    LFS pointer, the verdict of `fetched` becomes "lfs-pointer". Returns the first bytes of the
    file.

    Raises:
        TooBigError: when the file has more than `most` bytes.
    """
    digest = hashlib.sha256()
    head, before = b"", b""
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > most:
            raise TooBigError
        # The buffer is not larger than the file, because allocating a large buffer takes longer
        # than reading a small file.
        while data := stream.read(min(CHUNK, size + 1)):
            head = head or data[:4096]
            digest.update(data)
            if dialect_of(name) == "onnx" and not fetched.may_have_data:
                fetched.may_have_data = _LOCATION in before + data
                before = data[-len(_LOCATION) :]
    fetched.size += size
    fetched.files[name] = digest.hexdigest()
    if head.startswith(_LFS_POINTER):
        fetched.verdict = "lfs-pointer"
        if fetched.suffix == ".xml" or name == f"model{fetched.suffix}":
            # The digest calls all models the same; the user knows the file by its own name.
            stem, _ = os.path.splitext(fetched.entry.address)
            name = f"{stem}{os.path.splitext(name)[1]}"
        fetched.detail = f"{os.path.basename(name)} is a Git LFS pointer: run `git lfs pull`"
    return head


def add_data(model: Fetched, names: Sequence[str], most: int) -> None:
    """Fetch the external data files of an ONNX model and add them to the digest in `model`.

    `names` are their paths relative to the model, and `most` is the largest size of a file in
    bytes. If this fails, `model` gets a verdict instead. Names that lead out of the model's folder
    are skipped: the reader will refuse the model.
    """
    with _problems_of(model, most):
        for name in names:
            _add_data_file(model, name, most)


def _add_data_file(fetched: Fetched, name: str, most: int) -> None:
    try:
        path = location_below(os.path.dirname(fetched.path), name)
    except RefusedFileError:
        return
    entry, parts = fetched.entry, re.split(r"[/\\]", name)
    if fetched.is_copy:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        beside = "/".join([*entry.address.split("/")[:-1], *parts])
        if entry.archive and archives.extract(entry.archive, {beside: os.fspath(path)}, most):
            raise TooBigError
        place = None if entry.archive else place_of(beside)
        if place is not None and place.fs.exists(place.path):
            _copy(beside, path, most)
    if os.path.isfile(path):
        _add_named(fetched, name, path, most)


def _add_named(model: Fetched, name: str, path: Path, most: int) -> None:
    """Add a file that the model names; one that the reader will refuse is left out."""
    with suppress(RefusedFileError):
        _add(model, name, path, most)
