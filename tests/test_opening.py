"""Files that a model names are opened only if they are weights in its folder."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import irloop
from irloop import opening
from irloop.opening import (
    PathBelow,
    RefusedFileError,
    location_below,
    open_regular,
    weights_beside,
)

RECURRENT = Path(__file__).parent / "fixtures" / "models" / "recurrent" / "model.xml"

#: Names that exporters give to files of weights: PyTorch, Optimum, ONNX Runtime, tf2onnx, irloop.
WEIGHTS = (
    "model.onnx.data",
    "model.onnx_data",
    "model_q4.onnx_data_1",
    "weights.pb",
    "model.bin",
    "onnx__MatMul_123",
    "model.layers.0.self_attn.q_proj.weight",
    "encoder.embed.bias",
    "Constant_12_attr__value",
    "_v_1.weight_quantized",
    "sub/__MatMul_3_external",
    ".hidden.onnx.data",
    "./w",
)

OTHERS = (
    ".git/config",
    ".env",
    "sub/.cache/w.data",
    ".github/workflows/ci.bin",
    "settings.yml",
    "Settings.YAML",
    "creds.json",
    "gha-creds-12ab.json",
    "deploy.pem",
    "server.key",
    "id_rsa",
    "sub/id_ed25519",
    "setup.py",
    "notes.txt",
    "terraform.tfstate",
    "secret",
    "credentials",
)


def model_with(folder: Path, location: str, count: int = 2) -> Path:
    """An ONNX model that adds `count` f32 numbers of external data to its input."""
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[count])
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value=location)
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [info("x", TensorProto.FLOAT, [count])],
        [info("y", TensorProto.FLOAT, [count])],
        [weight],
    )
    path = folder / "m.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )
    return path


REFUSED = r"is hidden|does not have the name of"


def content(path: PathBelow) -> bytes:
    with open_regular(path) as file:
        return file.readall()


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


@pytest.mark.parametrize("name", WEIGHTS)
def test_names_of_weights_are_accepted(tmp_path: Path, name: str) -> None:
    put(tmp_path / name, np.array([1, 2], "<f4").tobytes())
    (output,) = irloop.run(model_with(tmp_path, name), {"x": np.zeros(2, np.float32)}).values()
    np.testing.assert_array_equal(output, [1, 2])


@pytest.mark.parametrize("name", OTHERS)
def test_hidden_files_and_other_files_are_refused(tmp_path: Path, name: str) -> None:
    put(tmp_path / name, bytes(8))
    with pytest.raises(irloop.ReadError, match=REFUSED):
        irloop.read_model(model_with(tmp_path, name))
    # A link with an innocent name is no way around.
    (tmp_path / "w.data").symlink_to(name)
    with pytest.raises(irloop.ReadError, match=REFUSED):
        irloop.read_model(model_with(tmp_path, "w.data"))
    shutil.copy(RECURRENT, tmp_path / "m.xml")
    (tmp_path / "m.bin").symlink_to(name)
    with pytest.raises(irloop.ReadError, match=REFUSED):
        irloop.read_model(tmp_path / "m.xml")


@pytest.mark.parametrize("has_descriptors", [True, False])
def test_links_are_followed_inside_the_folder_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_descriptors: bool
) -> None:
    if not has_descriptors:
        monkeypatch.setattr(os, "supports_dir_fd", set())
    home = tmp_path / "home"
    put(home / "sub" / "w", b"inside")
    put(tmp_path / "out" / "w", b"outside")
    (home / "near").symlink_to("sub/../sub/w")
    (home / "folder").symlink_to("sub")
    (home / "whole").symlink_to(home / "sub" / "w")
    for name in ("sub/w", "near", "folder/w", "whole"):
        assert content(PathBelow(home, name)) == b"inside"
    (home / "out").symlink_to("../out")
    (home / "far").symlink_to("near2")
    (home / "near2").symlink_to(tmp_path / "out" / "w")
    (home / "up").symlink_to("..")
    for name in ("out/w", "far", "near2", "up/out/w", "up/home/../out/w", "up"):
        with pytest.raises(RefusedFileError, match="leads out of the model's folder"):
            open_regular(PathBelow(home, name))
    (home / "self").symlink_to("self")
    (home / "gone").symlink_to("nothing")
    for name in ("self", "gone", "sub", "nothing", "sub/w/x"):
        with pytest.raises(OSError, match=r"link|No such|a folder|Not a directory"):
            open_regular(PathBelow(home, name))
    # The model's folder itself may be reached by any link.
    (tmp_path / "link").symlink_to(home)
    assert content(PathBelow(tmp_path / "link", "near")) == b"inside"


def test_a_link_that_appears_after_the_check_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process replaces a folder by a link after all links were resolved."""
    home = tmp_path / "home"
    put(home / "sub" / "w", b"inside")
    put(tmp_path / "out" / "w", b"outside")
    (home / "near").symlink_to("sub/w")
    walked = opening._walked

    def late(folder: str, parts: list[str], path: PathBelow) -> int:
        if parts == ["sub", "w"]:
            os.rename(home / "sub", home / "old")
            (home / "sub").symlink_to("../out")
        return walked(folder, parts, path)

    monkeypatch.setattr(opening, "_walked", late)
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        open_regular(PathBelow(home, "near"))


def test_locations_outside_the_folder_are_refused(tmp_path: Path) -> None:
    for location in ("", "/w", "../w", "a/../../w", "a\\..\\..\\w", "C:\\w", "\\\\h\\s\\w", "a\0b"):
        with pytest.raises(RefusedFileError, match="is not inside"):
            location_below(tmp_path, location)


def test_the_weights_of_an_ir_may_not_be_a_link_out_of_its_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(RECURRENT, home / "m.xml")
    shutil.copy(RECURRENT.with_suffix(".bin"), tmp_path / "w.bin")
    (home / "m.bin").symlink_to("../w.bin")
    assert [item.code for item in irloop.validate(home / "m.xml")] == ["IRL301"]
    with pytest.raises(irloop.ReadError, match="leads out of the model's folder") as caught:
        irloop.read_model(home / "m.xml")
    assert "--bin" in caught.value.diagnostics[0].fix
    # Naming the file is the way around, as for the links in a hub's cache.
    assert not irloop.validate(home / "m.xml", home / "m.bin").has_errors
    (tmp_path / "link.xml").symlink_to(home / "m.xml")
    (tmp_path / "link.bin").symlink_to(tmp_path / "w.bin")
    irloop.read_model(home / "m.xml", home / "m.bin")
    irloop.read_model(tmp_path / "link.xml")
    assert os.fspath(weights_beside(tmp_path / "link.xml")) == str(tmp_path / "link.bin")
