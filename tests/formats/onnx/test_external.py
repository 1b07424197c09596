"""External data is mapped, only from the model's folder, and checked before use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from irloop.errors import ReadError, WriteError
from irloop.formats.onnx import reader, writer
from irloop.graph.mapped_file import MappedFile
from irloop.graph.model import Graph, Model
from irloop.graph.op import Constant
from irloop.graph.tensor import ArrayTensor, MappedTensor
from irloop.graph.types import ElementType

DATA = np.arange(1024, dtype=np.float32)


def external_model(location: str, **entries: str) -> onnx.ModelProto:
    """A model of y = x + w, in which the 1024 numbers of w are in another file."""
    value = helper.make_tensor_value_info
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1024])
    weight.data_location = TensorProto.EXTERNAL
    for key, text in {"location": location, **entries}.items():
        weight.external_data.add(key=key, value=text)
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"], name="add")],
        "g",
        [value("x", TensorProto.FLOAT, [1])],
        [value("y", TensorProto.FLOAT, [1024])],
        initializer=[weight],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def saved(folder: Path, location: str = "w.bin", **entries: str) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(external_model(location, **entries).SerializeToString())
    return path


def tensor_of(model: Model) -> Any:
    node = next(node for node in model.graph.nodes if isinstance(node.op, Constant))
    assert isinstance(node.op, Constant)
    return node.op.tensor


def run(path: Path) -> Any:
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.ones(1, np.float32)})[0]


def test_external_data_is_mapped_at_its_offset(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(b"abc" + DATA.tobytes() + b"more")
    tensor = tensor_of(reader.read(saved(tmp_path, offset="3", length="4096")))
    assert isinstance(tensor, MappedTensor)
    np.testing.assert_array_equal(tensor.numpy(), DATA)


def test_length_and_offset_may_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "w.bin").write_bytes(DATA.tobytes())
    np.testing.assert_array_equal(
        tensor_of(reader.read(saved(tmp_path, "sub/w.bin"))).numpy(), DATA
    )


@pytest.mark.parametrize(
    "location",
    [
        "/etc/hostname",
        "../w.bin",
        "sub/../../w.bin",
        "sub\\..\\..\\w.bin",
        "C:\\w.bin",
        "\\\\host\\share\\w.bin",
        "",
        "a\0b",
        "*/_ORT_MEM_ADDR_/*",
        "x" * 5000,
    ],
)
def test_places_outside_the_folder_are_refused(tmp_path: Path, location: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "w.bin").write_bytes(DATA.tobytes())
    with pytest.raises(ReadError, match="'w'"):
        reader.read(saved(inner, location))


def test_symbolic_links_that_lead_out_are_refused(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "w.bin").write_bytes(DATA.tobytes())
    (inner / "w.bin").symlink_to(tmp_path / "w.bin")
    with pytest.raises(ReadError, match="leads out of the model's folder"):
        reader.read(saved(inner))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "w.bin")
    with pytest.raises(ReadError, match="this is a pipe, not a file"):
        reader.read(saved(tmp_path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match=r"'w'.*'w\.bin' does not exist"):
        reader.read(saved(tmp_path))


def test_a_git_lfs_pointer_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    with pytest.raises(ReadError, match="git lfs pull"):
        reader.read(saved(tmp_path))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"offset": "4"}, "extends beyond the end of the file"),
        ({"length": "4000"}, "does not match shape"),
        ({"length": "9999"}, "does not match shape"),
        ({"offset": "-4"}, "offset of the external data is not a number"),
        ({"offset": "1e3"}, "offset of the external data is not a number"),
        ({"length": "99999999999999999999999"}, "length of the external data is not a number"),
        ({"offset": "9223372036854775807"}, "extends beyond the end of the file"),
    ],
)
def test_ranges_that_do_not_fit_are_refused(
    tmp_path: Path, entries: dict[str, str], message: str
) -> None:
    (tmp_path / "w.bin").write_bytes(DATA.tobytes())
    with pytest.raises(ReadError, match=message):
        reader.read(saved(tmp_path, **entries))


def test_a_model_without_a_file_has_no_external_data() -> None:
    with pytest.raises(ReadError, match="came without a file"):
        reader.from_proto(external_model("w.bin"))


def test_writing_external_data(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(DATA.tobytes())
    target = tmp_path / "out.onnx"
    files = writer.write(reader.read(saved(tmp_path)), target, external_data=True)
    assert files == (target, tmp_path / "out.onnx.data")
    assert (tmp_path / "out.onnx.data").read_bytes() == DATA.tobytes()
    onnx.checker.check_model(target, full_check=True)
    np.testing.assert_array_equal(run(target), DATA + 1)
    assert writer.write(reader.read(target), tmp_path / "in.onnx") == (tmp_path / "in.onnx",)
    assert not onnx.load(tmp_path / "in.onnx").graph.initializer[0].external_data


def test_equal_windows_are_stored_once_and_big_ones_start_on_a_page(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(1 << 20))
    file = MappedFile(tmp_path / "w.bin")
    graph = Graph("g")
    for number, (offset, count) in enumerate([(0, 500), (4, 1 << 15), (0, 500), (4, 1 << 15)]):
        tensor = MappedTensor(file, offset, ElementType.F32, (count,))
        name = f"w{number}"
        graph.add_result(graph.add_constant(tensor, name, (name,)), name)
    target = tmp_path / "out.onnx"
    writer.write(Model(graph, "onnx", 0, {"": 17}), target, external_data=True)
    proto = onnx.load(target, load_external_data=False)
    places = [
        {entry.key: entry.value for entry in item.external_data} for item in proto.graph.initializer
    ]
    assert [place["offset"] for place in places] == ["0", "4096", "0", "4096"]
    assert (tmp_path / "out.onnx.data").stat().st_size == 4096 + (1 << 17)


def test_shared_weights_refer_to_the_existing_file(tmp_path: Path) -> None:
    # The offset is odd, as in files of Model Optimizer.
    (tmp_path / "model.bin").write_bytes(b"abc" + DATA.tobytes())
    model = reader.read(saved(tmp_path, "model.bin", offset="3"))
    target = tmp_path / "out.onnx"
    assert writer.write(model, target, weights="share") == (target,)
    assert target.stat().st_size < 400
    np.testing.assert_array_equal(run(target), DATA + 1)


def test_sharing_across_folders_is_refused(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(DATA.tobytes())
    model = reader.read(saved(tmp_path))
    (tmp_path / "other").mkdir()
    with pytest.raises(WriteError, match=r"'w' cannot share its weights"):
        writer.write(model, tmp_path / "other" / "out.onnx", weights="share")
    assert not list((tmp_path / "other").iterdir())


def test_shared_weights_keep_constants_in_memory_inside_the_model(tmp_path: Path) -> None:
    graph = Graph("g")
    value = graph.add_constant(ArrayTensor(DATA), "w", ("w",))
    graph.add_result(value, "w")
    target = tmp_path / "out.onnx"
    writer.write(Model(graph, "onnx", 0, {"": 17}), target, weights="share")
    assert onnx.load(target).graph.initializer[0].raw_data == DATA.tobytes()


def test_a_model_may_be_written_over_its_own_data(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(DATA.tobytes())
    target = tmp_path / "out.onnx"
    writer.write(reader.read(saved(tmp_path)), target, external_data=True)
    for _ in range(2):
        writer.write(reader.read(target), target, external_data=True)
    np.testing.assert_array_equal(run(target), DATA + 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "model.onnx",
        "out.onnx",
        "out.onnx.data",
        "w.bin",
    ]


MEMORY = """
import resource, sys
from irloop.formats.onnx import reader, writer
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
writer.write(reader.read(sys.argv[1]), sys.argv[2], external_data=sys.argv[3] == "True")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted in KiB on Linux only")
@pytest.mark.parametrize("external", [True, False])
def test_weights_are_never_held_in_memory(tmp_path: Path, external: bool) -> None:
    size = 1 << 28
    with open(tmp_path / "w.bin", "wb") as file:
        file.truncate(size)
    proto = external_model("w.bin")
    proto.graph.initializer[0].dims[0] = size // 4
    proto.graph.output[0].type.tensor_type.shape.dim[0].dim_value = size // 4
    source = tmp_path / "model.onnx"
    source.write_bytes(proto.SerializeToString())
    target = tmp_path / "out.onnx"
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(source), str(target), str(external)],
        capture_output=True,
        text=True,
        check=True,
    )
    # The weights have 256 MB.
    assert int(done.stdout) < 100
    # A single file with all weights is read in the same way.
    assert isinstance(tensor_of(reader.read(target)), MappedTensor)


def test_a_model_too_large_for_a_protobuf_gets_external_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irloop.formats.onnx.store.MARGIN", (1 << 31) - 4000)
    (tmp_path / "w.bin").write_bytes(DATA.tobytes())
    target = tmp_path / "out.onnx"
    files = writer.write(reader.read(saved(tmp_path)), target)
    assert files == (target, tmp_path / "out.onnx.data")
    np.testing.assert_array_equal(run(target), DATA + 1)


def test_a_model_too_large_for_a_protobuf_without_external_data_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irloop.formats.onnx.store.PROTOBUF_LIMIT", 4000)
    (tmp_path / "w.bin").write_bytes(DATA.tobytes())
    with pytest.raises(WriteError, match="a protobuf is limited to 2 GiB"):
        writer.write(reader.read(saved(tmp_path)), tmp_path / "out.onnx", external_data=False)
    assert not (tmp_path / "out.onnx").exists()
