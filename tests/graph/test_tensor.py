"""Constants: packed types against bit patterns computed by hand, windows against their file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from irloop.errors import ReadError
from irloop.graph.mapped_file import COPIED, OPEN, PAGE, SMALL, MappedFile
from irloop.graph.tensor import ArrayTensor, MappedTensor, StringTensor, pack, unpack
from irloop.graph.types import ElementType

PACKED = [
    # The low nibble is first: 0x21 contains 1, 2 (measured on OpenVINO).
    (ElementType.U4, b"\x21\x03", (3,), [1, 2, 3]),
    (ElementType.I4, b"\xf8\x07", (3,), [-8, -1, 7]),
    # The most significant bit is first: 0x81 contains 1, 0, 0, 0, 0, 0, 0, 1.
    (ElementType.U1, b"\x81\x80", (9,), [1, 0, 0, 0, 0, 0, 0, 1, 1]),
    (ElementType.U2, b"\xe4", (4,), [0, 1, 2, 3]),
    (ElementType.I2, b"\xe4", (4,), [0, 1, -2, -1]),
    (ElementType.BOOLEAN, b"\x00\x01\x02", (3,), [False, True, True]),
    (ElementType.I16, b"\xff\xff\x01\x00", (2,), [-1, 1]),
    (ElementType.BF16, b"\x80\x3f\x00\xc0", (2,), [1.0, -2.0]),
    (ElementType.F16, b"\x00\x3c\x00\xc0", (2,), [1.0, -2.0]),
    (ElementType.F8E4M3, b"\x38\xb8", (2,), [1.0, -1.0]),
    (ElementType.F4E2M1, b"\x72", (2,), [1.0, 6.0]),
]


@pytest.mark.parametrize(("element", "raw", "shape", "values"), PACKED)
def test_unpack_reads_what_files_store(
    element: ElementType, raw: bytes, shape: tuple[int, ...], values: list[float]
) -> None:
    array = unpack(raw, element, shape)
    assert array.shape == shape
    assert array.astype(np.float64).tolist() == [float(value) for value in values]


@pytest.mark.parametrize(
    ("element", "raw", "shape"),
    [item[:3] for item in PACKED if item[0] is not ElementType.BOOLEAN],
)
def test_pack_is_the_inverse(element: ElementType, raw: bytes, shape: tuple[int, ...]) -> None:
    assert pack(unpack(raw, element, shape), element) == raw


def test_six_bit_types_fill_bytes_across_elements() -> None:
    values = np.array([1, 2, 63, 0], dtype=np.uint8)
    raw = pack(values, ElementType.U6)
    assert len(raw) == 3
    assert unpack(raw, ElementType.U6, (4,)).tolist() == [1, 2, 63, 0]


def test_a_window_is_read_from_an_unaligned_offset(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"\xff" + np.array([1.5, -2.5], np.float32).tobytes() + b"\xff")
    tensor = MappedTensor(MappedFile(path), 1, ElementType.F32, (2,))
    assert tensor.numpy().tolist() == [1.5, -2.5]
    assert bytes(tensor.raw()) == np.array([1.5, -2.5], np.float32).tobytes()


def test_a_window_outside_the_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"\x00" * 8)
    with pytest.raises(ValueError, match="do not exist"):
        MappedFile(path).window(4, 5)
    with pytest.raises(ValueError, match="do not exist"):
        MappedFile(path).window(-1, 4)


def test_small_windows_equal_the_file(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    data = random.bytes(3 * PAGE + 100)
    path = tmp_path / "model.bin"
    path.write_bytes(data)
    file = MappedFile(path)
    for _ in range(2000):
        size = int(random.integers(0, SMALL + 2))
        offset = int(random.integers(0, len(data) - size + 1))
        assert bytes(file.window(offset, size)) == data[offset : offset + size]
    for offset, size in ((len(data) - 1, 2), (-1, 1), (3, -1), (len(data) + 1, 0)):
        with pytest.raises(ValueError, match="do not exist"):
            file.window(offset, size)


def test_a_page_of_small_windows_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(bytes(range(64)))
    file = MappedFile(path)
    assert bytes(file.window(8, 4)) == bytes([8, 9, 10, 11])
    path.write_bytes(bytes(64))
    assert bytes(file.window(60, 4)) == bytes([60, 61, 62, 63])
    # This is before the page, so it is read from the file, which has changed.
    assert bytes(file.window(4, 4)) == bytes(4)


def test_a_file_is_mapped_only_when_elements_are_needed(tmp_path: Path) -> None:
    missing = MappedFile(tmp_path / "absent.bin")
    tensor = MappedTensor(missing, 0, ElementType.F32, (1_000_000_000,))
    assert tensor.nbytes == 4_000_000_000
    with pytest.raises(OSError, match="absent"):
        tensor.numpy()


def _copied(folder: Path, data: bytes, offset: int) -> bytes:
    """The content of a new file after one byte, a window of a file, and another byte."""
    (folder / "weights").write_bytes(bytes(offset) + data + b"rest")
    tensor = MappedTensor(MappedFile(folder / "weights"), offset, ElementType.U8, (len(data),))
    with (folder / "made").open("w+b") as stream:
        stream.write(b"<")
        tensor.write_to(stream)
        stream.write(b">")
    return (folder / "made").read_bytes()


@pytest.mark.parametrize("size", [0, 5, COPIED - 1, COPIED, 2 * COPIED + 3])
def test_a_window_is_copied_to_the_position_of_the_stream(tmp_path: Path, size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    assert _copied(tmp_path, data, 7) == b"<" + data + b">"


@pytest.mark.skipif(not hasattr(os, "pwrite"), reason="this system does not write at an offset")
@pytest.mark.parametrize("parts", [(), (0,), (100, 0), (4096, 5), (1 << 30,)])
def test_a_window_is_copied_whatever_the_system_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: tuple[int, ...]
) -> None:
    """The system copies the given numbers of bytes, and then fails."""
    left = list(parts)

    def copy(source: int, target: int, count: int, offset: int, place: int) -> int:
        if not left:
            raise OSError(errno.EXDEV, "not on this disk")
        done = min(count, left.pop(0))
        os.pwrite(target, os.pread(source, done, offset), place)
        return done

    monkeypatch.setattr(os, "copy_file_range", copy, raising=False)
    data = np.random.default_rng(1).bytes(COPIED + 9)
    assert _copied(tmp_path, data, 3) == b"<" + data + b">"
    assert left == []


def test_a_system_that_cannot_copy_files_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    data = np.random.default_rng(2).bytes(COPIED)
    assert _copied(tmp_path, data, 0) == b"<" + data + b">"


def test_a_file_that_becomes_shorter_is_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(bytes(2 * COPIED))
    tensor = MappedTensor(MappedFile(path), 0, ElementType.U8, (2 * COPIED,))
    assert tensor.file.size == 2 * COPIED
    os.truncate(path, COPIED + 1)
    with (
        (tmp_path / "made").open("w+b") as stream,
        pytest.raises(ReadError, match="has become shorter"),
    ):
        tensor.write_to(stream)


def test_empty_windows_need_no_bytes(tmp_path: Path) -> None:
    path = tmp_path / "empty.bin"
    path.write_bytes(b"")
    tensor = MappedTensor(MappedFile(path), 0, ElementType.F32, (0, 3))
    assert tensor.numpy().shape == (0, 3)


def test_an_array_tensor_cannot_be_written_through() -> None:
    tensor = ArrayTensor(np.array([1, 2], np.int64))
    assert tensor.element is ElementType.I64
    with pytest.raises(ValueError, match="read-only"):
        tensor.numpy()[0] = 5


def test_an_array_tensor_knows_ml_dtypes() -> None:
    tensor = ArrayTensor(np.array([1, -8], ml_dtypes.int4))
    assert tensor.element is ElementType.I4
    assert bytes(tensor.raw()) == b"\x81"


def test_strings_are_stored_as_openvino_stores_them() -> None:
    tensor = StringTensor((b"hello", "wö".encode(), b""), (3,))
    table = np.frombuffer(bytes(tensor.raw())[:20], np.int32).tolist()
    assert table == [3, 0, 5, 8, 8]
    assert len(tensor.raw()) == 28
    assert tensor.numpy().tolist() == ["hello", "wö", ""]


def test_arrays_of_strings_are_stored_as_string_constants_are() -> None:
    array = np.array([["hello", "wö"], ["", "x"]], object)
    tensor, values = ArrayTensor(array), (b"hello", "wö".encode(), b"", b"x")
    assert bytes(tensor.raw()) == bytes(StringTensor(values, (2, 2)).raw())
    assert tensor.nbytes == len(tensor.raw())


def test_a_table_of_no_strings_has_a_count() -> None:
    """OpenVINO refuses a constant of no bytes."""
    tensor = ArrayTensor(np.zeros((0, 2), object))
    assert (tensor.nbytes, bytes(tensor.raw())) == (8, bytes(8))


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="this system does not list them")
def test_many_models_keep_few_files_open(tmp_path: Path) -> None:
    """Otherwise a thousand models would use up the file descriptors of the process."""
    files = []
    before = len(os.listdir("/proc/self/fd"))
    for number in range(100):
        path = tmp_path / f"{number}.bin"
        path.write_bytes(bytes([number]) * 4)
        files.append(MappedFile(path))
        assert bytes(files[-1].read(0, 4)) == bytes([number]) * 4
    assert len(os.listdir("/proc/self/fd")) - before <= OPEN
    # Each can still be read, and closes its file when it is deleted.
    assert [file.read(3, 1)[0] for file in files] == list(range(100))
    files.clear()
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.skipif(os.name == "nt", reason="Windows replaces no file that is open")
def test_a_file_that_was_replaced_is_not_read_in_place_of_the_old_one(tmp_path: Path) -> None:
    path, other = tmp_path / "w.bin", tmp_path / "other.bin"
    path.write_bytes(b"old!")
    other.write_bytes(b"new!")
    opened, closed = MappedFile(path), MappedFile(path)
    assert bytes(opened.read(0, 4)) == b"old!"
    assert closed.size == 4
    other.replace(path)
    # A file that is open still reads the old content.
    assert bytes(opened.read(0, 4)) == b"old!"
    with pytest.raises(ReadError, match="was replaced by another file"):
        closed.read(0, 4)
