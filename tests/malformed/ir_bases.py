"""Valid IRs from which malformed ones are made: flat, Loop, TensorIterator, If, recurrent."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["FLAT", "FLAT_WEIGHTS", "IF", "ITERATOR", "LOOP", "LOOP_WEIGHTS"]

_RULES = Path(__file__).resolve().parents[1] / "fixtures" / "rules"

FLAT = """\
<?xml version="1.0"?>
<net name="flat" version="10">
  <layers>
    <layer id="0" name="x" type="Parameter" version="opset1">
      <data shape="1,4" element_type="f32"/>
      <output><port id="0" precision="FP32" names="x"><dim>1</dim><dim>4</dim></port></output>
    </layer>
    <layer id="1" name="w" type="Const" version="opset1">
      <data element_type="f32" shape="4,3" offset="0" size="48"/>
      <output><port id="0" precision="FP32"><dim>4</dim><dim>3</dim></port></output>
    </layer>
    <layer id="2" name="mm" type="MatMul" version="opset1">
      <data transpose_a="false" transpose_b="false"/>
      <input>
        <port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port>
        <port id="1" precision="FP32"><dim>4</dim><dim>3</dim></port>
      </input>
      <output><port id="2" precision="FP32"><dim>1</dim><dim>3</dim></port></output>
    </layer>
    <layer id="3" name="b" type="Const" version="opset1">
      <data element_type="f32" shape="1,3" offset="48" size="12"/>
      <output><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></output>
    </layer>
    <layer id="4" name="joined" type="Concat" version="opset1">
      <data axis="1"/>
      <input>
        <port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port>
        <port id="1" precision="FP32"><dim>1</dim><dim>3</dim></port>
      </input>
      <output><port id="2" precision="FP32" names="out"><dim>1</dim><dim>6</dim></port></output>
    </layer>
    <layer id="5" name="y" type="Result" version="opset1">
      <input><port id="0" precision="FP32"><dim>1</dim><dim>6</dim></port></input>
    </layer>
  </layers>
  <edges>
    <edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
    <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
    <edge from-layer="2" from-port="2" to-layer="4" to-port="0"/>
    <edge from-layer="3" from-port="0" to-layer="4" to-port="1"/>
    <edge from-layer="4" from-port="2" to-layer="5" to-port="0"/>
  </edges>
</net>
"""
FLAT_WEIGHTS = bytes(60)


def _fixture(name: str) -> str:
    text = (_RULES / name).read_text(encoding="utf-8")
    return re.sub(r" *<!--.*?-->\n", "", text)


#: A Loop with a trip count, a state, a sliced input, a concatenated output and a condition.
LOOP = _fixture("irl625/good_five_slices.xml")
LOOP_WEIGHTS = bytes.fromhex("050000000000000001")
#: A TensorIterator that slices an axis into parts of two, and has a state.
ITERATOR = _fixture("irl614/good_two_and_two.xml")
#: An If (version 11) with one input and two outputs.
IF = _fixture("irl702/good_both.xml")
