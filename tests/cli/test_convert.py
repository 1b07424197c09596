"""``irloop convert``: both directions, refused models, and that no partial output is left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import irloop as api

Irloop = Callable[..., Result]
Process = Callable[..., "subprocess.CompletedProcess[str]"]

X = {
    "recurrent": np.linspace(-1, 1, 18, dtype=np.float32).reshape(1, 6, 3),
    "halving": np.array([[10, -3]], np.float32),
}


@pytest.fixture(params=["recurrent", "halving"])
def source(request: pytest.FixtureRequest, recurrent: Path, halving: Path) -> Path:
    """Each of the example models."""
    return {"recurrent": recurrent, "halving": halving}[request.param]


def outputs(path: Path) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    x = X["halving" if len(api.read_model(path).graph.results[1].name) == 6 else "recurrent"]
    return api.run(str(path), [x])


def test_a_round_trip_keeps_names_order_and_numbers(
    irloop: Irloop, source: Path, tmp_path: Path
) -> None:
    onnx, back = tmp_path / "m.onnx", tmp_path / "back.xml"
    there = irloop("convert", source, "-o", onnx)
    assert (there.exit_code, there.stderr) == (0, f"wrote {onnx}\n")
    assert irloop("convert", onnx, "-o", back).exit_code == 0
    expected = outputs(source)
    for path in (onnx, back):
        found = outputs(path)
        assert list(found) == list(expected)
        for name, array in expected.items():
            np.testing.assert_allclose(found[name], array, rtol=1e-6, atol=1e-7)
    assert api.read_model(back).version == 10
    assert sorted(path.name for path in tmp_path.iterdir()) == ["back.bin", "back.xml", "m.onnx"]


def test_onnx_runtime_agrees(irloop: Irloop, source: Path, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    path = tmp_path / "m.onnx"
    assert irloop("convert", source, "-o", path).exit_code == 0
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options)
    x = X[source.parent.name]
    for found, expected in zip(session.run(None, {"x": x}), outputs(source).values(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("version", [10, 11])
def test_an_ir_can_be_rewritten_in_either_version(
    irloop: Irloop, source: Path, tmp_path: Path, version: int
) -> None:
    path = tmp_path / "again.xml"
    assert irloop("convert", source, "-o", path, "--ir-version", version).exit_code == 0
    assert api.read_model(path).version == version
    assert irloop("validate", path).exit_code == 0


def test_version_10_is_the_default(irloop: Irloop, recurrent: Path, tmp_path: Path) -> None:
    newer, older = tmp_path / "newer.xml", tmp_path / "older.xml"
    irloop("convert", recurrent, "-o", newer, "--ir-version", 11)
    irloop("convert", newer, "-o", older)
    assert api.read_model(older).version == 10


def test_the_requested_opset_is_written(irloop: Irloop, recurrent: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    assert irloop("convert", recurrent, "-o", path, "--opset", 18).exit_code == 0
    assert api.read_model(path).opsets[""] == 18


def test_shared_weights_stay_in_the_bin(irloop: Irloop, tmp_path: Path) -> None:
    source, output = large(tmp_path), tmp_path / "m.onnx"
    size = source.with_suffix(".bin").stat().st_size
    assert irloop("convert", source, "-o", output, "--weights", "share").exit_code == 0
    assert output.stat().st_size < size / 4
    x = np.ones((1, 64), np.float32)
    (expected,), (found,) = (api.run(str(path), [x]).values() for path in (source, output))
    np.testing.assert_array_equal(found, expected)


def test_external_data_is_written_beside(irloop: Irloop, tmp_path: Path) -> None:
    source, folder = large(tmp_path), tmp_path / "out"
    folder.mkdir()
    result = irloop("convert", source, "-o", folder / "m.onnx", "--external-data")
    assert result.exit_code == 0
    written = sorted(path.name for path in folder.iterdir())
    assert written == ["m.onnx", "m.onnx.data"]
    assert result.stderr.splitlines() == [f"wrote {folder / name}" for name in written]


def large(folder: Path) -> Path:
    """A model that computes x @ W; W is 64 x 64 and in the .bin."""
    weights = np.arange(64 * 64, dtype=np.float32)
    path = folder / "large.xml"
    path.with_suffix(".bin").write_bytes(weights.tobytes())
    path.write_text(
        """<?xml version="1.0"?>
<net name="large" version="10">
 <layers>
  <layer id="0" name="x" type="Parameter" version="opset1">
   <data shape="1,64" element_type="f32"/>
   <output><port id="0" precision="FP32"><dim>1</dim><dim>64</dim></port></output>
  </layer>
  <layer id="1" name="W" type="Const" version="opset1">
   <data element_type="f32" shape="64,64" offset="0" size="16384"/>
   <output><port id="0" precision="FP32"><dim>64</dim><dim>64</dim></port></output>
  </layer>
  <layer id="2" name="product" type="MatMul" version="opset1">
   <data transpose_a="false" transpose_b="false"/>
   <input>
    <port id="0" precision="FP32"><dim>1</dim><dim>64</dim></port>
    <port id="1" precision="FP32"><dim>64</dim><dim>64</dim></port>
   </input>
   <output><port id="2" precision="FP32"><dim>1</dim><dim>64</dim></port></output>
  </layer>
  <layer id="3" name="y" type="Result" version="opset1">
   <input><port id="0" precision="FP32"><dim>1</dim><dim>64</dim></port></input>
  </layer>
 </layers>
 <edges>
  <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
  <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
  <edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
 </edges>
</net>
""",
        encoding="utf-8",
    )
    return path


def test_an_invalid_input_stops_before_anything_is_written(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    path, output = tmp_path / "broken.xml", tmp_path / "out" / "m.onnx"
    output.parent.mkdir()
    text = recurrent.read_text(encoding="utf-8")
    path.write_text(text.replace('to-layer="4" to-port="0"', 'to-layer="4" to-port="7"'), "utf-8")
    shutil.copy(recurrent.with_suffix(".bin"), tmp_path / "broken.bin")
    result = irloop("convert", path, "-o", output)
    assert result.exit_code == 1
    assert "error IRL203" in result.stdout
    assert result.stderr == "nothing was written\n"
    assert list(output.parent.iterdir()) == []


def unknown_operations(recurrent: Path, folder: Path) -> Path:
    """The recurrent model with two operations of an extension, one of them in the body."""
    text = recurrent.read_text(encoding="utf-8")
    text = text.replace(
        'name="h_next" type="Tanh" version="opset1"', 'name="h_next" type="Foo" version="extension"'
    ).replace('name="sum" type="Add" version="opset1"', 'name="sum" type="Bar" version="extension"')
    path = folder / "unknown.xml"
    path.write_text(text, "utf-8")
    shutil.copy(recurrent.with_suffix(".bin"), path.with_suffix(".bin"))
    return path


def test_all_operations_that_cannot_be_converted_are_reported_together(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    path = unknown_operations(recurrent, tmp_path)
    output = tmp_path / "m.onnx"
    result = irloop("convert", path, "-o", output, "--no-validate", "--format", "json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["written"] == []
    findings = report["findings"]
    assert {item["code"] for item in findings} == {"CNV001"}
    assert [item["path"] for item in findings] == ["rnn/body/sum", "rnn/body/h_next"]
    assert all(item["line"] and item["file"] == str(path) for item in findings)
    assert not output.exists()


def test_an_old_output_survives_a_failure(irloop: Irloop, recurrent: Path, tmp_path: Path) -> None:
    path = unknown_operations(recurrent, tmp_path)
    output = tmp_path / "m.onnx"
    output.write_bytes(b"the old one")
    assert irloop("convert", path, "-o", output, "--no-validate").exit_code == 1
    assert output.read_bytes() == b"the old one"


def test_the_input_and_its_weights_are_never_written_over(
    irloop: Irloop, recurrent: Path, tmp_path: Path
) -> None:
    model, weights = tmp_path / "m.xml", tmp_path / "w.bin"
    shutil.copy(recurrent, model)
    shutil.copy(recurrent.with_suffix(".bin"), weights)
    before = (model.read_bytes(), weights.read_bytes())
    (tmp_path / "link.xml").symlink_to(model)
    for output in ("m.xml", "w.xml", "link.xml", "./m.xml"):
        result = irloop("convert", model, "--bin", weights, "-o", tmp_path / output)
        assert (result.exit_code, result.stdout) == (2, ""), output
        assert "would be written over" in result.stderr
    assert (model.read_bytes(), weights.read_bytes()) == before


def test_the_external_data_of_an_onnx_model_is_not_written_over(
    irloop: Irloop, tmp_path: Path
) -> None:
    source, model = large(tmp_path), tmp_path / "m.onnx"
    irloop("convert", source, "-o", model, "--weights", "share")
    before = source.with_suffix(".bin").read_bytes()
    result = irloop("convert", model, "-o", tmp_path / "large.xml")
    assert result.exit_code == 2
    assert source.with_suffix(".bin").read_bytes() == before


@pytest.mark.parametrize(
    ("output", "options"),
    [
        ("m.txt", []),
        ("m", []),
        ("no/such/folder/m.onnx", []),
        ("m.onnx", ["--ir-version", "99"]),
        ("m.xml", ["--ir-version", "9"]),
        ("m.onnx", ["--target", "openvino-2021.4"]),
        ("m.xml", ["--opset", "99"]),
        ("m.xml", ["--weights", "share"]),
        ("m.xml", ["--external-data"]),
        ("m.onnx", ["--opset", "nonsense"]),
        ("m.xml", ["--target", "openvino-1999"]),
    ],
)
def test_contradicting_options_are_wrong_usage(
    irloop: Irloop, recurrent: Path, tmp_path: Path, output: str, options: list[str]
) -> None:
    result = irloop("convert", recurrent, "-o", tmp_path / output, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_missing_input_is_wrong_usage(irloop: Irloop, tmp_path: Path) -> None:
    result = irloop("convert", tmp_path / "no.xml", "-o", tmp_path / "m.onnx")
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_model_that_the_target_cannot_read_is_refused_with_the_reason(
    irloop: Irloop, recurrent: Path, halving: Path, tmp_path: Path
) -> None:
    output = tmp_path / "m.xml"
    old = ("--target", "openvino-2021.4")
    assert irloop("convert", recurrent, "-o", output, *old).exit_code == 0
    output.unlink()
    result = irloop("convert", halving, "-o", output, *old)
    assert result.exit_code == 1
    assert "error CNV004: 'halve': openvino-2021.4 reads static shapes only" in result.stdout
    assert not output.exists()


def test_equal_inputs_convert_to_equal_bytes(irloop: Irloop, source: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        irloop("convert", source, "-o", folder / "m.onnx")
        irloop("convert", source, "-o", folder / "m.xml")
    for name in ("m.onnx", "m.xml", "m.bin"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


HOSTILE = {
    "m.onnx": [b"", b"\x08", b"\xff" * 64, b"<html></html>", b"\x08\x08\x3a\xff\xff\xff\xff\x0f"],
    "m.xml": [b"", b"<net", b"\x00" * 64, b'<net version="10"><layers/></net>'],
}


@pytest.mark.parametrize("options", [[], ["--no-validate"]])
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_files_are_findings(
    irloop: Irloop, tmp_path: Path, name: str, options: list[str]
) -> None:
    for content in HOSTILE[name]:
        path = tmp_path / name
        path.write_bytes(content)
        other = tmp_path / ("out.xml" if name == "m.onnx" else "out.onnx")
        result = irloop("convert", path, "-o", other, *options)
        assert result.exit_code == 1, (content, result.output)
        assert "error" in result.stdout
        assert os.listdir(tmp_path) == [name]


def test_the_written_file_is_reported_on_stderr(
    process: Process, recurrent: Path, tmp_path: Path
) -> None:
    output = tmp_path / "m.onnx"
    done = process("convert", recurrent, "-o", output)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", f"wrote {output}\n")
    assert process("convert", recurrent, "-o", output, "-q").stderr == ""
