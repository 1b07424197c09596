"""Every structural integer in every spelling: the reader and the rules against OpenVINO.

OpenVINO reads each file in a child process. If OpenVINO reads a file, irloop reads it, too, and
finds no error; if OpenVINO refuses it, irloop does so, too.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from irloop import read_model
from irloop.errors import IrloopError
from irloop.formats.openvino.numbers import attribute_integer, dim_integer, signed, unsigned
from irloop.validation.engine import validate

SCRIPT = """
import sys
from openvino.frontend import FrontEndManager

for path in sys.argv[1:]:
    try:
        frontend = FrontEndManager().load_by_framework("ir")
        frontend.convert(frontend.load(path))
    except Exception:
        print("refused")
    else:
        print("read")
"""
#: The numbers of the structure by name, each with its ordinary text in the file.
NUMBERS = {
    "version": "10",
    "layer": "0",
    "output_port": "0",
    "dim": "6",
    "offset": "0",
    "size": "4",
    "input_port": "0",
    "external": "0",
    "internal": "0",
    "axis": "0",
    "start": "0",
    "end": "-1",
    "stride": "1",
    "part_size": "1",
    "output_external": "1",
    "output_internal": "2",
    "output_axis": "0",
    "output_stride": "1",
    "from_layer": "0",
    "from_port": "0",
    "to_layer": "1",
    "to_port": "0",
}
ONE = "<dim>1</dim><dim>4</dim>"
ALL = "<dim>6</dim><dim>4</dim>"
MODEL = f"""<net name="m" version="{{version}}"><layers>
<layer id="{{layer}}" name="x" type="Parameter" version="opset1">
 <data shape="6,4" element_type="f32"/>
 <output><port id="{{output_port}}" precision="FP32">{ALL}</port></output>
</layer>
<layer id="7" name="c" type="Const" version="opset1">
 <data element_type="f32" shape="1" offset="{{offset}}" size="{{size}}"/>
 <output><port id="0" precision="FP32"><dim>1</dim></port></output>
</layer>
<layer id="1" name="ti" type="TensorIterator" version="opset1">
 <input><port id="{{input_port}}">{ALL}</port></input>
 <output><port id="1" precision="FP32">{ALL}</port></output>
 <port_map>
  <input external_port_id="{{external}}" internal_layer_id="{{internal}}" axis="{{axis}}"
   start="{{start}}" end="{{end}}" stride="{{stride}}" part_size="{{part_size}}"/>
  <output external_port_id="{{output_external}}" internal_layer_id="{{output_internal}}"
   axis="{{output_axis}}" start="0" end="-1" stride="{{output_stride}}" part_size="1"/>
 </port_map>
 <body><layers>
  <layer id="0" name="p" type="Parameter" version="opset1">
   <data shape="1,4" element_type="f32"/>
   <output><port id="0" precision="FP32">{ONE}</port></output>
  </layer>
  <layer id="1" name="r" type="ReLU" version="opset1">
   <input><port id="0">{ONE}</port></input>
   <output><port id="1" precision="FP32">{ONE}</port></output>
  </layer>
  <layer id="2" name="o" type="Result" version="opset1">
   <input><port id="0">{ONE}</port></input>
  </layer>
 </layers><edges>
  <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
  <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
 </edges></body>
</layer>
<layer id="5" name="sum" type="Add" version="opset1">
 <input><port id="0">{ALL}</port><port id="1"><dim>1</dim></port></input>
 <output><port id="2" precision="FP32"><dim>{{dim}}</dim><dim>4</dim></port></output>
</layer>
<layer id="6" name="y" type="Result" version="opset1">
 <input><port id="0">{ALL}</port></input>
</layer>
</layers><edges>
<edge from-layer="{{from_layer}}" from-port="{{from_port}}"
 to-layer="{{to_layer}}" to-port="{{to_port}}"/>
<edge from-layer="1" from-port="1" to-layer="5" to-port="0"/>
<edge from-layer="7" from-port="0" to-layer="5" to-port="1"/>
<edge from-layer="5" from-port="2" to-layer="6" to-port="0"/>
</edges></net>
"""


def _spelt(text: str) -> dict[str, str]:
    """The text of a number in every spelling, by the name of the spelling."""
    return {
        "plus": text if text.startswith("-") else f"+{text}",
        "space before": f" {text}",
        "space after": f"{text} ",
        "fraction": f"{text}.0",
        "letter after": f"{text}x",
        "zeros": text.replace("-", "-0") if "-" in text else f"0{text}",
        "two signs": f"+-{text}",
        "nothing": "",
        "65 bits": "18446744073709551617",
        "other digits": "\u0661",
    }


def test_openvino_reads_the_same_spellings(tmp_path: Path) -> None:
    cases = {
        (name, spelling): MODEL.format(**{**NUMBERS, name: spelt})
        for name, text in NUMBERS.items()
        for spelling, spelt in _spelt(text).items()
    }
    paths = [tmp_path / f"{index}.xml" for index in range(len(cases))]
    for path, text in zip(paths, cases.values(), strict=True):
        path.write_text(text, encoding="utf-8")
        path.with_suffix(".bin").write_bytes(bytes(4))
    command = [sys.executable, "-c", SCRIPT, *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    verdicts = done.stdout.split()
    assert {"read", "refused"} == set(verdicts)
    found = {
        (*case, verdict): (_reads(path), _validates(path))
        for case, path, verdict in zip(cases, paths, verdicts, strict=True)
    }
    wrong = [case for case, both in found.items() if set(both) != {case[-1] == "read"}]
    assert not wrong


def _reads(path: Path) -> bool:
    try:
        read_model(path)
    except IrloopError:
        return False
    return True


def _validates(path: Path) -> bool:
    return not validate(path).has_errors


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("+7", 7),
        ("-7", -7),
        (" \t7", 7),
        ("007", 7),
        ("-0", 0),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("-9223372036854775808", -(2**63)),
        ("7 ", None),
        ("7.0", None),
        ("0x7", None),
        ("+ 7", None),
        ("--7", None),
        ("\u00a07", None),
        ("\u0667", None),
        ("", None),
        (None, None),
        ("7" * 100_000, None),
    ],
)
def test_integers_of_the_structure_are_parsed(text: str | None, number: int | None) -> None:
    assert signed(text) == number
    assert unsigned(text) == (None if number is None or number < 0 else number)


@pytest.mark.parametrize(
    ("text", "dim", "attribute"),
    [
        ("7", 7, 7),
        ("+7", 7, None),
        (" 7 ", 7, 7),
        ("7.9", 7, 7),
        ("0x7", 0, 0),
        ("-1", -1, -1),
        ("-2", None, -2),
        ("-", None, None),
        ("", None, None),
        ("9223372036854775808", None, None),
    ],
)
def test_integers_of_dims_and_attributes_are_parsed(
    text: str, dim: int | None, attribute: int | None
) -> None:
    assert dim_integer(text) == dim
    assert attribute_integer(text) == attribute
