"""Arrays in hostile files are refused with a reason before memory is allocated."""

from __future__ import annotations

import io
import random
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from irloop.formats import npy


def npy_bytes(header: str, data: bytes = b"", version: int = 1) -> bytes:
    text = header.encode("utf-8") + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes((version, 0)) + length + text + data


def described(descr: str, shape: str) -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return stream.getvalue()


FINE = npy_bytes(described("'<f4'", "(2,)"), np.array([1, 2], "<f4").tobytes())


def encrypted() -> bytes:
    data = bytearray(zipped({"x.npy": FINE}, zipfile.ZIP_STORED))
    data[data.index(b"PK\x03\x04") + 6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def packed_strangely() -> bytes:
    data = bytearray(zipped({"x.npy": FINE}, zipfile.ZIP_STORED))
    data[data.index(b"PK\x03\x04") + 8] = 99
    data[data.index(b"PK\x01\x02") + 10] = 99
    return bytes(data)


def damaged() -> bytes:
    data = bytearray(zipped({"x.npy": FINE + bytes(range(256)) * 16}))
    start = data.index(b"x.npy") + len(b"x.npy")
    data[start + 8 : start + 40] = b"\xff" * 32
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (encrypted(), "encrypted"),
        (packed_strangely(), "unsupported compression method 99"),
        (damaged(), "damaged"),
        (zipped({"a.txt": b"hello"}), "starts with"),
        (npy_bytes(described("'<f4'", "(1099511627776,)")), "4398046511104 bytes"),
        (zipped({"x.npy": npy_bytes(described("'<f8'", "(9, 9)"))}), "648 bytes"),
        (npy_bytes(described("'<f4'", "(-1,)")), "its shape"),
        (npy_bytes(described("'<f4'", "(1,) * 9")), "damaged"),
        (npy_bytes(described("'<f4'", f"({'1,' * 99})")), "its shape"),
        (npy_bytes("{'descr': '<f4'"), "damaged"),
        (npy_bytes("("), "damaged"),
        (npy_bytes("\0"), "damaged"),
        (npy_bytes("-" * 9000 + "1"), "damaged"),
        (npy_bytes("[" * 9000), "damaged"),
        (npy_bytes("1" * 9000), "damaged|does not tell"),
        (npy_bytes(described("'|O'", "(1,)"), b"\x80\x04N."), "type object"),
        (npy_bytes(described("'<M8[s]'", "(1,)"), bytes(8)), "type datetime64"),
        (npy_bytes(described("[('a', '<f4')]", "(1,)"), bytes(4)), "records"),
        (npy_bytes(described("'<U1'", "(1,)"), b"\xff\xff\xff\x7f"), "Unicode"),
        (npy_bytes(described("'|S2'", "(1,)"), b"\xff\xfe"), "UTF-8"),
        (npy_bytes("{}" + " " * 20_000), "header has"),
        (b"\x93NUMPY\x09\x00", "starts with"),
        (b"\x93NUM", "starts with"),
        (b"PK\x05\x06", "damaged"),
        (b"", "neither a ZIP"),
        (b"hello", "neither a ZIP"),
    ],
)
def test_a_damaged_file_is_refused_with_the_reason(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(data)
    with pytest.raises(irloop.UsageError, match=said):
        irloop.read_arrays(path)


def test_the_total_size_of_all_arrays_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npy, "MOST_BYTES", 10_000)
    path = tmp_path / "x.npz"
    a = np.zeros(1000, np.float32)
    np.savez_compressed(path, a=a, b=a, c=a)
    with pytest.raises(irloop.UsageError, match="more than 10000"):
        irloop.read_arrays(path)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype="<f8").reshape(2, 3)),
        np.array(3 + 1j, np.complex64),
        np.zeros((0, 3), np.bool_),
        np.array(["é", "模型", ""]),
        np.array(["a", "bcd"], dtype=">U3"),
        np.array([b"x", b"yz"]),
    ],
)
def test_arrays_are_those_that_numpy_wrote(tmp_path: Path, array: Any, version: int) -> None:
    path = tmp_path / "x.npy"
    with path.open("wb") as file:
        np.lib.format.write_array(file, array, version=(version, 0))
    (found,) = irloop.read_arrays(path).values()
    expected = np.char.decode(array) if array.dtype.kind == "S" else array
    np.testing.assert_array_equal(found, expected)
    assert found.shape == array.shape


def test_damage_of_any_kind_is_a_usage_error(tmp_path: Path) -> None:
    """Reading a damaged file returns arrays or raises irloop's exception."""
    draw = random.Random(7)  # noqa: S311
    stream = io.BytesIO()
    np.savez_compressed(stream, x=np.arange(50), y__bf16=np.zeros(3, np.uint16), z=np.array(["a"]))
    path = tmp_path / "x.npz"
    refused = 0
    for _ in range(400):
        data = bytearray(draw.choice([stream.getvalue(), FINE]))
        for _ in range(draw.randint(1, 6)):
            at = draw.randrange(len(data))
            data[at : at + draw.choice([0, 1, 1, 1, 4])] = draw.randbytes(draw.choice([0, 1, 1, 3]))
        path.write_bytes(data)
        try:
            found = irloop.read_arrays(path)
        except irloop.UsageError:
            refused += 1
        else:
            assert all(isinstance(item, np.ndarray | None) for item in found.values())
    assert refused > 100
