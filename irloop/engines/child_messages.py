"""Messages between a process and its child: a JSON header, followed by the bytes of the arrays.

A message is the length of its header (8 bytes, little-endian), the header, and the bytes of its
arrays in order. Values may have any NumPy or ml_dtypes type, or be strings, sequences or None.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import IO, Any

import ml_dtypes
import numpy as np

__all__ = ["receive", "send"]


def send(stream: IO[bytes], head: dict[str, Any], values: Sequence[Any] = ()) -> None:
    """Write one message to `stream`, and flush it.

    `head` holds the entries of the JSON header. `values` are sent with it: arrays, strings,
    sequences or None.
    """
    blobs: list[Any] = []
    described = [_describe(value, blobs) for value in values]
    text = json.dumps({**head, "values": described}).encode()
    stream.write(len(text).to_bytes(8, "little"))
    stream.write(text)
    for blob in blobs:
        stream.write(blob)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], list[Any]] | None:
    """The header and the values of the next message.

    None if the stream ends before the message does.
    """
    size = stream.read(8)
    if len(size) < 8:
        return None
    text = stream.read(int.from_bytes(size, "little"))
    try:
        head = json.loads(text)
        values = [_read(item, stream) for item in head.pop("values")]
    except (ValueError, EOFError):
        # The process at the other end died while writing.
        return None
    return head, values


def _describe(value: Any, blobs: list[Any]) -> Any:
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return {"items": [_describe(item, blobs) for item in value]}
    array = np.asarray(value)
    shape = list(array.shape)
    if array.dtype.kind in "OUS":
        # Strings are converted to text, whatever type an engine uses for them.
        return {"shape": shape, "strings": [str(item) for item in array.reshape(-1)]}
    native = array.dtype.newbyteorder("=") if array.dtype.kind in "iufc" else array.dtype
    flat = np.ascontiguousarray(array, native).reshape(-1)
    blobs.append(flat.view(np.uint8).data)
    return {"shape": shape, "dtype": native.name}


def _read(message: Any, stream: IO[bytes]) -> Any:
    if message is None:
        return None
    if "items" in message:
        return [_read(part, stream) for part in message["items"]]
    shape = tuple(message["shape"])
    if "strings" in message:
        words = np.empty(len(message["strings"]), object)
        words[:] = message["strings"]
        return words.reshape(shape)
    own = getattr(ml_dtypes, message["dtype"], None)
    dtype = np.dtype(message["dtype"] if own is None else own)
    array = np.empty(shape, dtype)
    view = array.reshape(-1).view(np.uint8).data
    start = 0
    while start < len(view):
        part = stream.read(len(view) - start)
        if not part:
            raise EOFError
        view[start : start + len(part)] = part
        start += len(part)
    return array
