"""Named values in a .npz (or one in a .npy): arrays, strings, sequences, absent optionals.

NumPy's format has no bfloat16, 8-bit floats or sequences. Suffixes of the keys represent them:

==========================  ==========================================================
key                         holds
==========================  ==========================================================
``x``                       an array; strings as NumPy text (``<U``)
``x__bf16``                 the bit patterns of a bfloat16 array, as uint16
``x__float8_e4m3fn`` ...    the bit patterns of another ml_dtypes array, as uint8
``x__none``                 an absent optional (the value does not matter)
``x__seq_len``              the length of a sequence, its items in ``x__seq_0`` ...
==========================  ==========================================================
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from irloop.errors import UsageError, WriteError
from irloop.files import reason_of, replacing
from irloop.formats.npy import arrays_in
from irloop.graph.types import ElementType
from irloop.opening import what_else

__all__ = ["read", "write"]

Array = np.ndarray[Any, np.dtype[Any]]

#: An array, None for an absent optional, or a list of items for a sequence.
Item = Any

_SUFFIX_OF = {
    element.numpy(): element.numpy().name
    for element in ElementType
    if element is not ElementType.DYNAMIC and element.numpy().type.__module__ == "ml_dtypes"
} | {np.dtype(ml_dtypes.bfloat16): "bf16"}
_DTYPE_OF = {suffix: dtype for dtype, suffix in _SUFFIX_OF.items()}
_LONGEST_SEQUENCE = 1_000_000


def read(path: str | os.PathLike[str]) -> dict[str, Item]:
    """The values of a .npz by name, in the order of the file; a .npy has one value named "in0".

    Raises:
        UsageError: when the file cannot be opened, has another format, or contains pickled objects.
    """
    name = os.fspath(path)
    is_archive, raw = arrays_in(name)
    if not is_archive:
        return {"in0": _plain(raw[""], name)}
    return _assemble(raw, name)


def write(path: str | os.PathLike[str], values: Mapping[str, Item]) -> None:
    """Write a .npz completely or not at all.

    Raises:
        WriteError: when the file cannot be written; no partial file is left.
    """
    name = os.fspath(path)
    if kind := what_else(name):
        raise WriteError(f"cannot write {name}: this is {kind}, not a file")
    arrays: dict[str, Array] = {}
    for key, value in values.items():
        _flatten(key, value, arrays)
    try:
        with replacing(name) as (file,):
            # savez would interpret a key named "file" as its own argument.
            _write_archive(file, arrays)
    except OSError as error:
        raise WriteError(f"cannot write {name}: {reason_of(error, name)}") from error


def _write_archive(file: Any, arrays: Mapping[str, Array]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for key, array in arrays.items():
            # A fixed date makes the bytes of equal values equal.
            entry = zipfile.ZipInfo(f"{key}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(entry, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def _flatten(key: str, value: Item, into: dict[str, Array]) -> None:
    if value is None:
        into[f"{key}__none"] = np.zeros((), np.int64)
        return
    if isinstance(value, (list, tuple)):
        into[f"{key}__seq_len"] = np.array(len(value), np.int64)
        for index, item in enumerate(value):
            _flatten(f"{key}__seq_{index}", item, into)
        return
    array = np.asarray(value)
    if array.dtype.kind == "O":
        array = array.astype("U")
    suffix = _SUFFIX_OF.get(array.dtype)
    if suffix is not None:
        bits = np.uint16 if array.dtype.itemsize == 2 else np.uint8
        key, array = f"{key}__{suffix}", array.copy(order="C").view(bits)
    into[key] = array


def _assemble(raw: Mapping[str, Array], file: str) -> dict[str, Item]:
    values: dict[str, Item] = {}
    inside: set[str] = set()
    for key in raw:
        stem, mark, _ = key.partition("__seq_")
        if mark and f"{stem}__seq_len" in raw:
            if stem not in inside:
                values[stem] = _sequence(stem, raw, file)
                inside.add(stem)
            continue
        name, value = _single(key, raw[key])
        values[name] = value
    return values


def _sequence(stem: str, raw: Mapping[str, Array], file: str) -> list[Item]:
    stored = raw[f"{stem}__seq_len"]
    if stored.size != 1 or stored.dtype.kind not in "iu":
        raise UsageError(f"{file}: {stem}__seq_len is not one integer")
    length = int(stored.reshape(()))
    if not 0 <= length <= _LONGEST_SEQUENCE:
        raise UsageError(
            f"{file}: {stem}__seq_len is not a possible number of items",
            expected=f"0 to {_LONGEST_SEQUENCE}",
            found=str(length),
        )
    items: dict[str, Item] = {}
    prefix = f"{stem}__seq_"
    for key, array in raw.items():
        if key.startswith(prefix) and key != f"{prefix}len":
            name, value = _single(key.removeprefix(prefix), array)
            items[name] = value
    missing = [index for index in range(length) if str(index) not in items]
    if missing:
        raise UsageError(f"{file}: {stem} has {length} items and {prefix}{missing[0]} is missing")
    return [items[str(index)] for index in range(length)]


def _single(key: str, array: Array) -> tuple[str, Item]:
    name, mark, suffix = key.rpartition("__")
    if mark and suffix == "none":
        return name, None
    if mark and suffix in _DTYPE_OF and array.dtype.itemsize == _DTYPE_OF[suffix].itemsize:
        return name, array.view(_DTYPE_OF[suffix])
    return key, _plain(array, key)


def _plain(array: Array, name: str) -> Array:
    if array.dtype.kind not in "US":
        return array
    try:
        text: Array = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} holds text that is not UTF-8: {error}") from error
    return text.astype(object)
