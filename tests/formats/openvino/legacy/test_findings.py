"""Validation of a file of versions 2 to 7 finds all problems at once, each with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

import irloop
from irloop.diagnostics import Severity

SEVERAL = """<?xml version="1.0"?>
<net name="m" version="6" batch="1"><layers>
<layer id="0" name="x" type="Input" precision="FP32">
  <output><port id="0"><dim>1</dim><dim>3</dim><dim>8</dim><dim>8</dim></port></output></layer>
<layer id="1" name="conv" type="Convolution" precision="FP32">
  <data kernel="3,3" pads_begin="1,1" pads_end="1,1" output="4" group="1"/>
  <input><port id="0"><dim>1</dim><dim>3</dim><dim>8</dim><dim>8</dim></port></input>
  <output><port id="3"><dim>1</dim><dim>4</dim><dim>8</dim><dim>8</dim></port></output>
  <blobs><weights offset="0" size="432"/><biases offset="432" size="20"/></blobs></layer>
<layer id="2" name="p" type="PNORM" precision="FP32">
  <input><port id="0"><dim>1</dim><dim>4</dim><dim>8</dim><dim>8</dim></port></input>
  <output><port id="1"><dim>1</dim><dim>4</dim><dim>8</dim><dim>8</dim></port></output></layer>
<layer id="3" name="c" type="Clamp" precision="FP32">
  <data min="0" max="six"/>
  <input><port id="0"><dim>1</dim><dim>4</dim><dim>8</dim><dim>8</dim></port></input>
  <output><port id="1"><dim>1</dim><dim>4</dim><dim>8</dim><dim>8</dim></port></output></layer>
<layer id="4" name="s" type="ScaleShift" precision="FP32">
  <input><port id="0"><dim>1</dim><dim>4</dim><dim>8</dim><dim>8</dim></port></input>
  <output><port id="1"><dim>1</dim><dim>4</dim><dim>8</dim><dim>8</dim></port></output>
  <blobs><weights offset="4320" size="16"/></blobs></layer>
<layer id="5" name="f" type="Flatten" precision="FP32" colour="red">
  <input><port id="0"><dim>1</dim><dim>4</dim><dim>8</dim><dim>8</dim></port></input>
  <output><port id="1"><dim>1</dim><dim>255</dim></port></output></layer>
<layer id="6" name="r" type="ReLU" precision="FP32">
  <input><port id="0"><dim>1</dim><dim>255</dim></port></input>
  <output><port id="1"><dim>1</dim><dim>255</dim></port></output></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="3" to-layer="2" to-port="0"/>
<edge from-layer="2" from-port="1" to-layer="3" to-port="0"/>
<edge from-layer="3" from-port="1" to-layer="4" to-port="0"/>
<edge from-layer="4" from-port="1" to-layer="5" to-port="0"/>
<edge from-layer="5" from-port="1" to-layer="6" to-port="0"/>
<edge from-layer="9" from-port="1" to-layer="12" to-port="0"/>
</edges></net>
"""


@pytest.fixture
def several(tmp_path: Path) -> Path:
    path = tmp_path / "m.xml"
    path.write_text(SEVERAL)
    path.with_suffix(".bin").write_bytes(bytes(1000))
    return path


def test_every_layer_and_edge_is_judged(several: Path) -> None:
    report = irloop.validate(several)
    errors = [item for item in report if item.severity is Severity.ERROR]
    assert sorted((item.location.line, item.code) for item in errors) == [
        (9, "IRL304"),
        (10, "IRL121"),
        (14, "IRL115"),
        (20, "IRL302"),
        (21, "IRL401"),
        (34, "IRL201"),
        (34, "IRL202"),
    ]
    assert all(item.fix or item.expected for item in errors)


def test_what_no_reader_knows_is_a_warning(several: Path) -> None:
    (item,) = [item for item in irloop.validate(several) if item.severity is Severity.WARNING]
    assert (item.location.line, item.code, item.found) == (21, "IRL107", "colour")


def test_codes_can_be_selected(several: Path) -> None:
    assert {item.code for item in irloop.validate(several, select=["IRL3"])} == {
        "IRL302", "IRL304",
    }  # fmt: skip
    assert {item.code for item in irloop.validate(several, ignore=["IRL"])} <= {"CNV113"}


def test_a_missing_bin_is_one_finding(several: Path) -> None:
    several.with_suffix(".bin").unlink()
    found = [item for item in irloop.validate(several) if item.code in ("IRL301", "IRL302")]
    assert [item.code for item in found] == ["IRL301"]
