"""Models of other formats are recognised, and answered with the command that exports them."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from pathlib import Path

import pytest

import irloop


def _zip(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, b"x" * 40)
    return stream.getvalue()


def _safetensors() -> bytes:
    text = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(text)) + text + bytes(4)


#: Name, content, what the message says of it, and the command.
FILES = [
    ("m.tflite", b"\x1c\0\0\0TFL3" + bytes(40), "TensorFlow Lite", "--tflite"),
    ("m.pt", _zip("archive/data.pkl", "archive/version"), "PyTorch", "torch.onnx.export"),
    ("m.pth", b"\x80\x02\x8a\nl\xfc\x9cF\xf9", "PyTorch", "torch.onnx.export"),
    ("m.pt2", _zip("m/archive_format", "m/models/model.json"), ".pt2", "torch.export.load"),
    ("m.keras", _zip("metadata.json", "config.json", "model.weights.h5"), "Keras", ".export("),
    ("m.h5", b"\x89HDF\r\n\x1a\n" + bytes(64), "Keras", ".export("),
    ("saved_model.pb", b"\x08\x01\x12\x10" + bytes(16), "SavedModel", "--saved-model"),
    ("frozen.pb", b"\x0a\x2d\x0a\x01x\x12\x0bPlaceholder", "frozen TensorFlow", "--graphdef"),
    ("m.blob", b"\x7fELF\x02\x01\x01" + bytes(60), "compiled", "compiled from"),
    ("m.bin", b"RR_UPCVO\x01\0\0\0" + bytes(60), "compiled", "compiled from"),
    ("m.engine", b"ftrt\0\0\0\0" + bytes(60), "TensorRT", "compiled from"),
    ("m.mlmodel", b"\x08\x04\x12\x20" + bytes(40), "Core ML", "made from"),
    ("m.safetensors", _safetensors(), "safetensors", "optimum-cli export onnx"),
    ("m.gguf", b"GGUF\x03\0\0\0" + bytes(40), "GGUF", "made from"),
    ("m.pdmodel", b"\x0a\xdf\x01\x08\0" + bytes(40), "PaddlePaddle", "paddle2onnx"),
]


@pytest.mark.parametrize(
    ("name", "data", "what", "command"), FILES, ids=lambda item: str(item)[:14]
)
def test_files_of_other_formats_get_their_command(
    tmp_path: Path, name: str, data: bytes, what: str, command: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(irloop.ReadError) as caught:
        irloop.read_model(path)
    assert what in str(caught.value)
    assert command in caught.value.diagnostics[0].fix
    finding = irloop.validate(path).diagnostics[0]
    assert what in finding.message
    assert command in finding.fix


@pytest.mark.parametrize("suffix", [".xml", ".onnx"])
@pytest.mark.parametrize("name", ["m.tflite", "m.pt", "m.keras", "m.h5", "m.safetensors"])
def test_a_wrong_suffix_hides_nothing(tmp_path: Path, name: str, suffix: str) -> None:
    data, what = next((data, what) for other, data, what, _ in FILES if other == name)
    path = (tmp_path / name).with_suffix(suffix)
    path.write_bytes(data)
    with pytest.raises(irloop.ReadError, match=what):
        irloop.read_model(path)


@pytest.mark.parametrize(
    ("name", "file", "what"),
    [
        ("saved", "saved_model.pb", "SavedModel"),
        ("m.mlpackage", "Manifest.json", "Core ML"),
        ("hub", "model.safetensors", "safetensors"),
    ],
)
def test_folders_that_are_models_are_recognised(
    tmp_path: Path, name: str, file: str, what: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / file).write_bytes(b"\x08\x01")
    with pytest.raises(irloop.UsageError, match=what):
        irloop.read_model(folder)


def test_names_of_files_are_quoted(tmp_path: Path) -> None:
    path = tmp_path / 'a"; $(rm x) OUTPUT.tflite'
    path.write_bytes(FILES[0][1])
    with pytest.raises(irloop.ReadError) as caught:
        irloop.read_model(path)
    fix = caught.value.diagnostics[0].fix
    assert f"'{path}'" in fix
    keras = path.with_suffix(".h5")
    keras.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(64))
    with pytest.raises(irloop.ReadError) as caught:
        irloop.read_model(keras)
    assert f"load_model({str(keras)!r})" in caught.value.diagnostics[0].fix


def test_weights_and_unknown_files_are_told_apart(tmp_path: Path) -> None:
    for name, message in (("m.bin", "these are weights"), ("m.dat", "neither OpenVINO IR")):
        path = tmp_path / name
        path.write_bytes(b"\xff\x01\x02\x03" * 20)
        found = irloop.validate(path).diagnostics[0]
        assert (message in found.message) == (name == "m.bin")
        assert "were given" not in str(found)
