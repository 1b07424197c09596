"""IR of versions 2 to 7: every stored case of one layer, judged by the engine of 2020."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import irloop
from benchmarks.old_ir import Judge
from irloop.diagnostics import Diagnostic
from irloop.errors import ReadError
from irloop.validation.engine import validate
from tests.archives import unpacked

#: Cases of one layer each, with inputs and the outputs of the Inference Engine 2020.1.
CASES = unpacked("legacy_ir") / "synthetic"

#: Cases that irloop answers differently, with the reason.
DIFFERENT = {
    "Int8__statistics": "stored are the results of 8-bit arithmetic, not those of the f32 weights",
    "Resample__cubic": "refused: the engine accepted the type, but did not compute it",
    "SimplerNMS__b": "refused: the engine left rows uninitialised",
}


NAMES = sorted(path.parent.name for path in CASES.glob("*/out0.npz"))


@pytest.fixture(scope="session")
def judge() -> Judge:
    pytest.importorskip("openvino")
    pytest.importorskip("onnxruntime")
    return Judge()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in DIFFERENT])
def test_results_are_those_of_the_engine_of_2020(name: str, judge: Judge) -> None:
    """In the built-in executor, in OpenVINO of today, and in ONNX Runtime."""
    assert judge.verdict(CASES / name) == "right"


@pytest.mark.parametrize("name", sorted(DIFFERENT))
def test_no_difference_is_silent(name: str, judge: Judge) -> None:
    assert judge.verdict(CASES / name).partition(":")[0] in ("wrong", "refused")


def test_an_order_that_no_document_knows_is_noted(tmp_path: Path) -> None:
    _, notes = irloop.convert(CASES / "DepthToSpace__b2" / "model.xml", "onnx")
    (note,) = (item for item in notes if item.severity.name == "WARNING")
    assert note.code == "CNV113"
    assert "neither blocks first" in note.message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Pooling__avg_3d_pads", "count only the pads of their last axis"),
        ("BinaryConvolution__biases", "ignored, and irloop ignores, too"),
        ("Eltwise__coeff_bcast", "ignored the coefficients"),
    ],
)
def test_what_the_engine_ignored_or_did_otherwise_is_noted(name: str, message: str) -> None:
    for notes in (irloop.validate(CASES / name / "model.xml"), _notes(name)):
        (note,) = (item for item in notes if item.severity.name == "WARNING")
        assert message in note.message


def test_a_memory_that_the_engine_overwrote_too_early_is_noted(tmp_path: Path) -> None:
    """The concatenation is written at once; a reader that it does not need comes too late."""
    assert all(item.severity.name == "INFO" for item in _notes("Memory__shift"))
    exp = """<layer id="9" name="late" type="Exp" precision="FP32"><input><port id="0"><dim>1</dim>
<dim>12</dim></port></input><output><port id="1"><dim>1</dim><dim>12</dim></port></output></layer>
</layers>"""
    edge = '<edges><edge from-layer="1" from-port="0" to-layer="9" to-port="0"/>'
    path = _changed("Memory__shift", {"</layers>": exp, "<edges>": edge}, tmp_path)
    (note,) = (item for item in irloop.validate(path) if item.severity.name == "WARNING")
    assert "did not wait" in note.message


def _notes(name: str) -> list[Diagnostic]:
    return irloop.convert(CASES / name / "model.xml", "openvino")[1]


def _changed(name: str, changes: dict[str, str], folder: Path) -> Path:
    """A copy of a case whose XML has other texts."""
    text = (CASES / name / "model.xml").read_text()
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "model.xml").write_text(text)
    (folder / "model.bin").write_bytes((CASES / name / "model.bin").read_bytes())
    return folder / "model.xml"


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (
            "Pooling__avg_floor",
            {
                'pads_end="0,0"': 'pads_end="7,0"',
                "<dim>3</dim><dim>4</dim></port>": "<dim>7</dim><dim>4</dim></port>",
            },
            "without an element",
        ),
        ("MVN__ac0_nv0", {"<dim>6</dim>": ""}, "4 or 5 dimensions"),
        ("PreProcess__order", {'channel id="2"': 'channel id="3"'}, "count from 0"),
        ("PreProcess__order", {'precision="FP32"': 'precision="U8"'}, "mean for integers"),
        (
            "FakeQuantize__mixed",
            {'offset="0"': 'offset="X"', 'offset="16"': 'offset="0"', 'offset="X"': 'offset="16"'},
            "input low above",
        ),
    ],
)
def test_what_the_engine_left_open_is_refused(
    name: str, changes: dict[str, str], message: str, tmp_path: Path
) -> None:
    path = _changed(name, changes, tmp_path)
    with pytest.raises(ReadError, match=message):
        irloop.read_model(path)
    assert any(message in item.message for item in irloop.validate(path))


def test_every_case_that_can_be_read_is_valid_and_no_other() -> None:
    wrong = []
    for path in sorted(CASES.glob("*/model.xml")):
        codes = {item.code for item in validate(path).diagnostics if item.severity.name == "ERROR"}
        try:
            irloop.read_model(path)
        except ReadError as error:
            if error.diagnostics[0].code not in codes:
                wrong.append(f"{path.parent.name}: {error.message} is not in {codes}")
        else:
            wrong += [f"{path.parent.name}: {code}" for code in codes]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("version", [4, 5, 6, 7])
def test_versions_of_one_case_read_alike(version: int, tmp_path: Path) -> None:
    """The names of attributes were those of version 5 in later versions, too."""
    source = CASES / "FullyConnected__4d"
    text = (source / "model.xml").read_text()
    changed = re.sub(r'version="\d+"', f'version="{version}"', text, count=1)
    (tmp_path / "model.xml").write_text(changed)
    (tmp_path / "model.bin").write_bytes((source / "model.bin").read_bytes())
    inputs = dict(np.load(source / "in0.npz"))
    first = irloop.run(source / "model.xml", inputs)
    again = irloop.run(tmp_path / "model.xml", inputs)
    assert list(first) == list(again)
    for name, value in first.items():
        np.testing.assert_array_equal(again[name], value)


RELU = """<?xml version="1.0"?>
<net name="m" version="5" batch="1">
<layers>
<layer id="0" name="x" type="Input" precision="FP32">
  <output><port id="0"><dim>1</dim><dim>2</dim></port></output></layer>
<layer id="1" name="y" type="TYPE" precision="FP32">
  <input><port id="0"><dim>1</dim><dim>2</dim></port></input>
  <output><port id="1"><dim>1</dim><dim>2</dim></port></output></layer>
</layers>
<edges><edge from-layer="FROM" from-port="0" to-layer="1" to-port="0"/></edges>
</net>
"""


@pytest.mark.parametrize(
    ("kind", "source", "code", "message"),
    [
        ("PNORM", "0", "IRL121", "custom layer"),
        ("Sigmiod", "0", "IRL121", "unknown type"),
        ("Unpooling", "0", "IRL121", "Unpooling 'y'"),
        ("ReLU", "7", "IRL201", "layer 7"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(
    kind: str, source: str, code: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.xml"
    path.write_text(RELU.replace("TYPE", kind).replace("FROM", source))
    (tmp_path / "m.bin").write_bytes(b"")
    (finding,) = (item for item in validate(path).diagnostics if item.severity.name == "ERROR")
    assert finding.code == code
    assert message in f"{finding.message} {finding.found}"
    assert finding.location.line in (6, 10)


def test_a_valid_file_is_read_with_the_names_of_its_layers(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(RELU.replace("TYPE", "ReLU").replace("FROM", "0"))
    (tmp_path / "m.bin").write_bytes(b"")
    results = irloop.run(path, {"x": [[-1.0, 2.0]]})
    assert {name: value.tolist() for name, value in results.items()} == {"y": [[0.0, 2.0]]}


def test_a_result_is_no_layer_of_then(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    ports = "<dim>1</dim><dim>2</dim></port>"
    path.write_text(f"""<net name="m" version="5" batch="1"><layers>
<layer id="0" name="x" type="Input" precision="FP32"><output><port id="0">{ports}</output></layer>
<layer id="1" name="y" type="Result" precision="FP32"><input><port id="0">{ports}</input>
<output><port id="1">{ports}</output></layer></layers>
<edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>""")
    assert [item.code for item in validate(path).diagnostics] == ["IRL121"]
    with pytest.raises(ReadError, match="Result"):
        irloop.read_model(path)


def test_an_integer_of_more_than_32_bits_is_refused(tmp_path: Path) -> None:
    source = CASES / "FullyConnected__4d"
    text = (source / "model.xml").read_text()
    changed = re.sub(r'out-size="\d+"', f'out-size="{2**40}"', text)
    assert changed != text
    (tmp_path / "model.xml").write_text(changed)
    (tmp_path / "model.bin").write_bytes((source / "model.bin").read_bytes())
    assert "IRL405" in [item.code for item in validate(tmp_path / "model.xml").diagnostics]
    with pytest.raises(ReadError, match="out-size"):
        irloop.read_model(tmp_path / "model.xml")
