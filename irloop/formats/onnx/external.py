"""External weights: opened lazily, and only if they are inside the folder of the model."""

from __future__ import annotations

import contextlib
import errno
import math
import re
from pathlib import Path

import onnx

from irloop.errors import ReadError
from irloop.formats.onnx.types import require_text
from irloop.graph.mapped_file import MappedFile
from irloop.graph.tensor import MappedTensor
from irloop.graph.types import ElementType
from irloop.opening import RefusedFileError, location_below, open_regular

__all__ = ["LFS_POINTER", "ExternalFiles", "entries_of"]

#: The beginning of a file that Git LFS has not fetched yet.
LFS_POINTER = b"version https://git-lfs"


class ExternalFiles:
    """The external data files of one model, each mapped only once.

    `folder` is the folder of the model file; None for a model that is not in a file.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._files: dict[str, MappedFile] = {}
        self._own: MappedFile | None = None
        self._windows: dict[bytes, tuple[int, int]] = {}

    @property
    def were_read(self) -> bool:
        """Return whether bytes of an external data file were read."""
        return any(file.was_read for file in self._files.values())

    def keep(self, file: MappedFile, windows: dict[bytes, tuple[int, int]]) -> None:
        """Remember the position of each large weight that stays in the model file.

        `windows` maps the token that replaces a weight to the offset and size of the weight in
        `file`.
        """
        self._own = file
        self._windows = windows

    def embedded(
        self, token: bytes, element: ElementType, shape: tuple[int, ...], where: str
    ) -> MappedTensor | None:
        """Return the weight that `token` replaces, mapped from the model file.

        Large weights stay in the model file, and the ModelProto contains tokens instead. Returns
        None if `token` is not one of these tokens, but the bytes of a small weight.

        Raises:
            ReadError: when the number of bytes does not match the shape.
        """
        if token not in self._windows or self._own is None:
            return None
        offset, size = self._windows[token]
        nbytes = element.nbytes(math.prod(shape))
        if size != nbytes:
            raise ReadError(
                f"{where}: the size of the data does not match shape {list(shape)} of {element}",
                expected=f"{nbytes} bytes",
                found=f"{size} bytes",
            )
        return MappedTensor(self._own, offset, element, shape)

    def tensor(
        self,
        entries: dict[str, str],
        element: ElementType,
        shape: tuple[int, ...],
        where: str,
    ) -> MappedTensor:
        """The tensor that the `external_data` entries of a TensorProto describe.

        Raises:
            ReadError: for a path outside the model's folder, a missing file, or a range that is
                outside the file or does not match the shape.
        """
        location = entries.get("location", "")
        file = self._files.get(location)
        if file is None:
            file = self._files[location] = self._open(location, where)
        nbytes = element.nbytes(math.prod(shape))
        offset = _number(entries, "offset", where) or 0
        length = _number(entries, "length", where)
        if length is not None and length != nbytes:
            raise ReadError(
                f"{where}: the size of the external data does not match shape {list(shape)} of "
                f"{element}",
                expected=f"{nbytes} bytes",
                found=f"length {length}",
            )
        if offset + nbytes > file.size:
            raise ReadError(
                f"{where}: the external data extends beyond the end of the file {location!r}",
                expected=f"bytes {offset}..{offset + nbytes}",
                found=f"a file of {file.size} bytes",
                cause=_why_short(file),
            )
        return MappedTensor(file, offset, element, shape)

    def _open(self, location: str, where: str) -> MappedFile:
        if self._folder is None:
            raise ReadError(
                f"{where} has external data in {location!r}, but the model came without a file",
                fix="read the model from its path",
            )
        try:
            file = MappedFile(location_below(self._folder, location))
            file.size  # noqa: B018 (opens the file)
        except RefusedFileError as error:
            raise ReadError(
                f"{where}: the external data location {location!r} {error.strerror}",
                expected=error.expected,
                found=repr(location),
                cause=error.cause,
                fix="put the data file itself next to the model, as model.onnx.data for example",
            ) from None
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in (errno.EINVAL, errno.EACCES):
                raise ReadError(
                    f"{where}: the external data {location!r} cannot be read: {error.strerror}"
                ) from None
            raise ReadError(
                f"{where}: the external data file {location!r} does not exist",
                found=f"no file {self._folder / location}",
                fix="put the data file next to the model, under this name",
            ) from None
        return file


def _why_short(file: MappedFile) -> str:
    with contextlib.suppress(OSError), open_regular(file.source) as stream:
        if stream.read(len(LFS_POINTER)) == LFS_POINTER:
            return "it is a Git LFS pointer, not the file it points to: run `git lfs pull`"
    return "the file was cut short, or belongs to another model"


def entries_of(tensor: onnx.TensorProto) -> dict[str, str]:
    """The `external_data` entries of a TensorProto, keyed by name."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    require_text([*entries, *entries.values()], "an external data entry")
    return entries


def _number(entries: dict[str, str], key: str, where: str) -> int | None:
    text = entries.get(key)
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,19}", text):
        raise ReadError(
            f"{where}: {key} of the external data is not a number",
            expected="a number of bytes",
            found=repr(text[:80]),
        )
    return int(text)
