"""Constants in the .bin: every type, bounds checks, and writing."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.errors import ReadError
from irloop.formats.openvino.reader import read
from irloop.formats.openvino.weights import WeightsWriter
from irloop.graph.mapped_file import MappedFile
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor, MappedTensor, StringTensor, Tensor
from irloop.graph.types import ElementType

IrFile = Callable[..., Path]


def const(
    element: str = "f32", shape: str = "2", offset: object = 0, size: object = 8, extra: str = ""
) -> str:
    data = f'element_type="{element}" shape="{shape}" offset="{offset}" size="{size}"'
    return (
        f'<layer id="0" name="c" type="Const" version="opset1"><data {data} {extra}/>'
        '<output><port id="0" precision="FP32" names="c"/></output></layer>'
        '<layer id="1" name="r" type="Result" version="opset1">'
        '<input><port id="0"/></input></layer>'
    )


def tensor_of(path: Path) -> Tensor:
    (value,) = read(path).graph.outputs
    assert isinstance(value.producer.op, Constant)
    return value.producer.op.tensor


#: The values are computed by hand from the bytes.
CASES: list[tuple[str, bytes, str, list[object]]] = [
    ("f32", struct.pack("<2f", 1.5, -2), "2", [1.5, -2.0]),
    ("f64", struct.pack("<d", 0.1), "1", [0.1]),
    ("f16", struct.pack("<2e", 1.5, -2), "2", [1.5, -2.0]),
    ("bf16", bytes.fromhex("803f 00c0"), "2", [1.0, -2.0]),
    ("i64", struct.pack("<q", -(2**40)), "1", [-(2**40)]),
    ("i8", b"\xff\x01", "2", [-1, 1]),
    ("u64", struct.pack("<Q", 2**63), "1", [2**63]),
    ("boolean", b"\x00\x01\x02", "3", [False, True, True]),
    ("u4", b"\x21\x03", "3", [1, 2, 3]),
    ("i4", b"\x2f\x08", "3", [-1, 2, -8]),
    ("u1", b"\x81", "8", [1, 0, 0, 0, 0, 0, 0, 1]),
    ("u2", b"\xe4", "4", [0, 1, 2, 3]),
    ("nf4", b"\xf0", "2", [0, 15]),
    ("f8e4m3", b"\x38\xb8", "2", [1.0, -1.0]),
    ("f8e5m2", b"\x3c\xbc", "2", [1.0, -1.0]),
    ("F32", struct.pack("<f", 3), "", [3.0]),
]


@pytest.mark.parametrize(("element", "raw", "shape", "values"), CASES)
def test_constants_of_every_element_type_are_read(
    ir_file: IrFile, element: str, raw: bytes, shape: str, values: list[object]
) -> None:
    # The constant begins at byte 3, because nothing is aligned in a .bin.
    tensor = tensor_of(
        ir_file(const(element, shape, 3, len(raw)), "0.0 > 1.0", weights=b"abc" + raw)
    )
    assert isinstance(tensor, MappedTensor)
    assert bytes(tensor.raw()) == raw
    assert tensor.numpy().reshape(-1).astype(object).tolist() == values


def test_string_constants_are_read(ir_file: IrFile) -> None:
    raw = struct.pack("<5i", 3, 0, 5, 8, 8) + "hellowö".encode()
    tensor = tensor_of(ir_file(const("string", "3", 0, 28), "0.0 > 1.0", weights=raw))
    assert isinstance(tensor, StringTensor)
    assert tensor.values == (b"hello", "wö".encode(), b"")
    assert bytes(tensor.raw()) == raw


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        struct.pack("<2i", 2, 0),
        struct.pack("<5i", 2**30, 0, 0, 0, 0),
        struct.pack("<5i", 3, 0, 5, 4, 8) + bytes(8),
        struct.pack("<5i", 3, 0, 5, 8, 80) + bytes(8),
        struct.pack("<5i", -3, 0, -5, 8, 8) + bytes(8),
    ],
)
def test_damaged_string_constants_are_refused(ir_file: IrFile, raw: bytes) -> None:
    path = ir_file(const("string", "3", 0, len(raw)), "0.0 > 1.0", weights=raw)
    with pytest.raises(ReadError, match="table of strings"):
        read(path)


def test_more_bytes_than_needed_are_fine(ir_file: IrFile) -> None:
    tensor = tensor_of(ir_file(const(size=12), "0.0 > 1.0", weights=bytes(12)))
    assert tensor.nbytes == 8


def test_empty_constants_need_no_bytes(ir_file: IrFile) -> None:
    tensor = tensor_of(ir_file(const("i64", "0,3", 0, 0), "0.0 > 1.0", weights=b""))
    assert tensor.numpy().shape == (0, 3)


@pytest.mark.parametrize(
    ("layers", "code"),
    [
        (const(offset=1), "IRL302"),
        (const(offset=2**62, size=8), "IRL302"),
        (const(shape="3"), "IRL303"),
        (const(shape="9999999999,9999999999,9999999999"), "IRL303"),
        (const(shape=",".join(["9" * 18] * 64)), "IRL303"),
        (const(shape=",".join(["9" * 18] * 2000)), "IRL112"),
        (const(shape="1,?"), "IRL305"),
        (const(shape="-2"), "IRL112"),
        (const(offset="-1"), "IRL104"),
        (const(size="0x8"), "IRL104"),
        (const(size="9" * 40), "IRL104"),
        (const("FP32"), "IRL111"),
        (const("dynamic"), "IRL111"),
        (const().replace('offset="0"', ""), "IRL305"),
        (const().replace("<data", "<no"), "IRL305"),
    ],
)
def test_invalid_constants_are_refused(ir_file: IrFile, layers: str, code: str) -> None:
    with pytest.raises(ReadError) as caught:
        read(ir_file(layers, "0.0 > 1.0", weights=bytes(8)))
    (finding,) = caught.value.diagnostics
    assert finding.code == code
    assert (finding.location.path, finding.location.layer_id) == ("c", "0")
    assert finding.location.line is not None


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "does not exist"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        (b'<?xml version="1.0"?><net/>', "XML"),
    ],
)
def test_a_file_that_is_not_weights_is_refused(
    ir_file: IrFile, content: bytes | None, says: str
) -> None:
    with pytest.raises(ReadError, match=says) as caught:
        read(ir_file(const(), "0.0 > 1.0", weights=content))
    (finding,) = caught.value.diagnostics
    assert "model.bin" in finding.message
    assert (finding.code, finding.location.path) == ("IRL301", "c")


def test_a_missing_bin_matters_only_to_constants(ir_file: IrFile) -> None:
    layers = (
        '<layer id="5" name="p" type="Parameter" version="opset1">'
        '<data shape="2" element_type="f32"/>'
        '<output><port id="0" precision="FP32"/></output></layer>'
    )
    assert read(ir_file(const() + layers, "5.0 > 1.0")).graph.inputs


def test_weights_of_another_path_are_read(ir_file: IrFile, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere.weights"
    other.write_bytes(struct.pack("<2f", 4, 5))
    model = read(ir_file(const(), "0.0 > 1.0"), other)
    op = model.graph.outputs[0].producer.op
    assert isinstance(op, Constant)
    assert op.tensor.numpy().tolist() == [4.0, 5.0]


def test_reading_opens_no_mapping(ir_file: IrFile) -> None:
    tensor = tensor_of(ir_file(const(), "0.0 > 1.0", weights=bytes(8)))
    assert isinstance(tensor, MappedTensor)
    assert tensor.file._view is None


def placed(*tensors: Tensor) -> tuple[list[tuple[int, int]], bytes]:
    stream = io.BytesIO()
    writer = WeightsWriter(stream)
    places = [writer.place(tensor) for tensor in tensors]
    writer.finish()
    return places, stream.getvalue()


def test_equal_bytes_are_written_once() -> None:
    one = ArrayTensor(np.array([1, 0], np.int32))
    same = ArrayTensor(np.array([1], np.int64))
    other = ArrayTensor(np.array([2, 0], np.int32))
    places, data = placed(one, same, other, one)
    assert places == [(0, 8), (0, 8), (8, 8), (0, 8)]
    assert data == struct.pack("<4i", 1, 0, 2, 0)


def test_large_constants_with_equal_ends_are_kept_apart() -> None:
    base = np.zeros(5000, np.float32)
    tensors = []
    for place in (2000, 2500, 3000):
        array = base.copy()
        array[place] = 1
        tensors.append(ArrayTensor(array))
    twin = ArrayTensor(tensors[1].numpy().copy())
    places, data = placed(*tensors, twin)
    assert [offset for offset, _ in places] == [0, 20032, 40064, 20032]
    assert data[20032 : 20032 + 20000] == bytes(twin.raw())


def test_windows_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "w.bin"
    rng = np.random.default_rng(0)
    content = rng.integers(0, 256, 10_000_000, np.uint8).tobytes()
    path.write_bytes(content)
    tensor = MappedTensor(MappedFile(path), 7, ElementType.U8, (9_000_001,))
    places, data = placed(tensor, tensor)
    assert places == [(0, 9_000_001)] * 2
    assert data == content[7 : 7 + 9_000_001]


def test_a_file_with_nothing_but_empty_constants_is_not_empty() -> None:
    # OpenVINO cannot map an empty .bin, and then has no data for the constant, so one byte is
    # written.
    places, data = placed(ArrayTensor(np.zeros((0, 2), np.float32)))
    assert places == [(0, 0)]
    assert data == bytes(8)
    assert placed()[1] == b""


def test_a_file_that_was_replaced_is_still_the_mapped_one(tmp_path: Path) -> None:
    path = tmp_path / "w.bin"
    old, new = bytes(range(256)) * 12_000, bytes(256 * 12_000)
    path.write_bytes(old)
    tensor = MappedTensor(MappedFile(path), 5, ElementType.U8, (3_000_000,))
    tensor.raw()
    (tmp_path / "other.bin").write_bytes(new)
    (tmp_path / "other.bin").replace(path)
    assert placed(tensor)[1] == old[5:3_000_005]
    again = MappedTensor(MappedFile(path), 5, ElementType.U8, (3_000_000,))
    assert placed(again)[1] == new[5:3_000_005]
