"""Stores the weights of a model that is being written to a file.

The weights go into the model's file, or into a data file next to it. If the model shares weights
with existing files, it only refers to these files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import onnx

from irloop.errors import ReadError, WriteError
from irloop.files import reason_of, replacing
from irloop.formats.onnx.source import PROTOBUF_LIMIT
from irloop.formats.onnx.tensors import describe
from irloop.formats.onnx.text_format import MOST_WEIGHTS, text_of
from irloop.formats.onnx.wire_format import Piece, Tokens, size_of, splice
from irloop.graph.tensor import MappedTensor, Tensor
from irloop.graph.types import ElementType
from irloop.opening import RefusedFileError, is_onnx_text, location_below

__all__ = ["Store"]

#: Tensors of fewer bytes, such as shapes, axes and scalars, always stay in the protobuf.
SMALL = 1024
#: External tensors of at least this size are aligned to a page, so that they can be mapped.
PAGED = 1 << 16
PAGE = 4096
ALIGNMENT = 64

#: Number of bytes of a protobuf that are reserved for everything except the weights.
MARGIN = 1 << 26

#: The path of a file to write, and its contents.
_Output = tuple[Path, Iterable[Piece]]


@dataclass(slots=True, eq=False, repr=False)
class _Entry:
    """A large weight of the model: its TensorProto, which holds `token` instead of the data.

    When the model is saved, the data of `tensor` replaces the token or goes to another file.
    `where` names the weight in error messages.
    """

    proto: onnx.TensorProto
    token: bytes
    tensor: Tensor
    where: str


class Store:
    """The weights of one model that is being written to `target`.

    TensorProtos contain tokens instead of weights; `save` writes the data piece by piece, so that a
    model of any size needs only the memory of its description.
    """

    def __init__(self, target: Path | None, *, external: bool | None, share: bool) -> None:
        self._target = target
        self._external = external
        self._share = share
        self._tokens = Tokens()
        self._entries: list[_Entry] = []

    def put(self, proto: onnx.TensorProto, tensor: Tensor, name: str, where: str) -> None:
        """Fill `proto`, an empty TensorProto of the model, with the contents of `tensor`.

        A large weight is represented by a token until the model is saved. `name` is the name to
        store, or empty for none. `where` names the tensor's place in error messages.

        Raises:
            WriteError: for an element type that ONNX does not have.
        """
        describe(proto, tensor, name, where)
        if tensor.element is ElementType.STRING:
            return
        if tensor.nbytes < SMALL:
            proto.raw_data = bytes(tensor.raw())
            return
        token = self._tokens.new()
        proto.raw_data = token
        self._entries.append(_Entry(proto, token, tensor, where))

    @contextmanager
    def with_empty_file(self, folder: str) -> Iterator[None]:
        """Let all weights refer to a file without data, within a `with` statement.

        The file is created in `folder`. It lets the ONNX checker check a model of any size, because
        the checker looks only at the file's size. The file is as large as the largest tensor, but
        sparse, so it takes no disk space.
        """
        size = max((entry.tensor.nbytes for entry in self._entries), default=0)
        with open(os.path.join(folder, "weights"), "wb") as file:
            file.truncate(size)
        for entry in self._entries:
            _make_external(entry, "weights", 0)
        try:
            yield
        finally:
            for entry in self._entries:
                entry.proto.ClearField("data_location")
                entry.proto.ClearField("external_data")
                entry.proto.raw_data = entry.token

    def fill(self) -> None:
        """Put all weights into their TensorProtos."""
        for entry in self._entries:
            entry.proto.raw_data = bytes(entry.tensor.raw())

    @property
    def is_empty(self) -> bool:
        """Return whether the protobuf itself holds all weights."""
        return not self._entries

    def save(self, proto: onnx.ModelProto, encoded: bytes | None = None) -> tuple[Path, ...]:
        """Write the model file and, if needed, the data file; return the written paths.

        A caller that has already serialised `proto` passes the bytes as `encoded`, so that they are
        not computed again. This is allowed only if this store is empty.

        Raises:
            WriteError: when a file cannot be written, the model is too large for a protobuf, or
                weights cannot be shared; the old files are unchanged then.
        """
        assert self._target is not None
        target = self._target
        beside: list[_Output] = []
        if self._share:
            self._point(target)
        elif self._is_external():
            data = self._lay_out(f"{target.name}.data")
            beside = [(target.with_name(f"{target.name}.data"), data)] if data else []
        if is_onnx_text(target):
            return _saved([(target, [self._text(proto)]), *beside])
        weights = {entry.token: entry.tensor for entry in self._entries}
        if encoded is None:
            encoded = proto.SerializeToString(deterministic=True)
        pieces = splice(encoded, self._tokens, weights)
        size = sum(map(size_of, pieces))
        if size > PROTOBUF_LIMIT:
            raise WriteError(
                f"{target} cannot hold the model: a protobuf is limited to 2 GiB",
                found=f"{size} bytes",
                fix="store the weights as external data",
            )
        return _saved([(target, pieces), *beside])

    def _text(self, proto: onnx.ModelProto) -> bytes:
        """The model in ONNX's text format, with the weights that are not in another file."""
        for entry in self._entries:
            if not entry.proto.external_data:
                entry.proto.raw_data = bytes(entry.tensor.raw())
        return text_of(proto, str(self._target))

    def _is_external(self) -> bool:
        if self._external is not None:
            return self._external
        most = (
            MOST_WEIGHTS
            if self._target is not None and is_onnx_text(self._target)
            else PROTOBUF_LIMIT - MARGIN
        )
        return sum(entry.tensor.nbytes for entry in self._entries) > most

    def _lay_out(self, location: str) -> list[Piece]:
        """Assign each entry a place in the data file `location`; return the file's content.

        Entries with the same data share one place. The content includes padding for alignment.
        """
        pieces: list[Piece] = []
        offsets: dict[object, int] = {}
        end = 0
        for entry in self._entries:
            tensor = entry.tensor
            key: object = id(tensor)
            if isinstance(tensor, MappedTensor):
                key = (tensor.file.path, tensor.offset, tensor.nbytes)
            if key not in offsets:
                step = PAGE if tensor.nbytes >= PAGED else ALIGNMENT
                start = -(-end // step) * step
                if start > end:
                    pieces.append(bytes(start - end))
                offsets[key], end = start, start + tensor.nbytes
                pieces.append(tensor)
            _make_external(entry, location, offsets[key])
        return pieces

    def _point(self, target: Path) -> None:
        """Leave mapped tensors in their files, and let the model refer to them as external data.

        No bytes are copied: each TensorProto gets the path of the file, relative to the folder of
        `target`, and the offset in the file.

        Raises:
            WriteError: when such a file is outside the folder of `target`, or is `target` itself.
        """
        folder = target.parent.resolve()
        for entry in self._entries:
            tensor = entry.tensor
            if not isinstance(tensor, MappedTensor):
                continue
            path = Path(tensor.file.path).resolve()
            if path == target.resolve() or not _may_refer_to(folder, path):
                raise WriteError(
                    f"{entry.where} cannot share its weights with {path}",
                    expected=f"a file in {folder}, not the one that is written",
                    fix=f"write the model into {path.parent}, or copy the weights",
                )
            _make_external(entry, path.relative_to(folder).as_posix(), tensor.offset)


def _may_refer_to(folder: Path, path: Path) -> bool:
    """Return whether the reader accepts a file as external data of a model in `folder`."""
    try:
        location_below(folder, path.relative_to(folder).as_posix())
    except (RefusedFileError, ValueError):
        return False
    return True


def _make_external(entry: _Entry, location: str, offset: int) -> None:
    proto = entry.proto
    proto.ClearField("raw_data")
    proto.data_location = onnx.TensorProto.EXTERNAL
    places = {"location": location, "offset": str(offset), "length": str(entry.tensor.nbytes)}
    for key, value in places.items():
        proto.external_data.add(key=key, value=value)


def _saved(outputs: list[_Output]) -> tuple[Path, ...]:
    """Write all `outputs` completely, or none of them; return the paths.

    The files are moved to their targets only when all are written. The model comes first in
    `outputs` and is moved last, after its data file.

    Raises:
        WriteError: when a file cannot be written or read.
    """
    model = outputs[0][0]
    try:
        with replacing(*(target for target, _ in outputs)) as streams:
            for stream, (_, pieces) in zip(streams, outputs, strict=True):
                for piece in pieces:
                    if isinstance(piece, Tensor):
                        piece.write_to(stream)
                    else:
                        stream.write(piece)
    except (OSError, ReadError) as error:
        reason = reason_of(error, model) if isinstance(error, OSError) else error.message
        raise WriteError(
            f"{model} cannot be written: {reason}",
            fix="choose an existing folder that is writable and has enough space",
        ) from error
    return tuple(path for path, _ in outputs)
