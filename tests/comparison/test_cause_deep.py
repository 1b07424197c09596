"""The first line names faults whose effect appears elsewhere: in another loop, later, or in shapes.

As in `test_cause`, the words that are expected follow from the fault.
"""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from lxml import etree

import irloop
from tests.comparison.test_cause_nested import REVERSED, Edit, edited, entry, layer, written

#: A Scan that reads rows backwards inside a Scan over planes; conversion reverses the rows before.
BACKWARDS = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[2,3,2] volume, float[2] start) => (float[2] last, float[2,2] all) {
   [planes] last, all = Scan <num_scan_inputs = 1, body = outer
      (float[2] total, float[3,2] plane) => (float[2] total_next, float[2] kept) {
      [rows] end = Scan <num_scan_inputs = 1, scan_input_directions = [1], body = inner
         (float[2] acc, float[2] row) => (float[2] acc_next) {
         one = Constant <value = int64 {1}> ()
         go = Constant <value = bool {1}> ()
         [once] same = Loop (one, go, acc) <body = step
            (int64 i, bool c, float[2] v) => (bool more, float[2] v_next) {
            more = Identity (c)
            v_next = Tanh (v)
         }>
         acc_next = Add (same, row)
      }> (total, plane)
      total_next = Sub (end, total)
      kept = Neg (end)
   }> (start, volume)
}
"""


@pytest.mark.parametrize("is_second", [True, False])
@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (entry("planes", "input", **REVERSED), ("`plane` of loop `planes`", "backwards")),
        (entry("planes", "input", start="1"), ("`plane` of loop `planes`", "from 1 to -1")),
    ],
)
def test_rows_that_are_reversed_before_an_inner_loop_are_right(
    tmp_path: Path, edit: Edit, words: tuple[str, str], is_second: bool
) -> None:
    right = written(BACKWARDS, tmp_path)
    pair = [right.with_suffix(".onnx"), edited(right, edit)]
    line = str(irloop.compare(*(pair if is_second else pair[::-1]), engines="numpy")).split("\n")[0]
    assert all(word in line for word in words)


#: A loop whose number of iterations is an input, with a buffer into which it pushes rows.
BUFFER = """
<ir_version: 8, opset_import: ["" : 17]>
m (int64 n, float[3,2] buffer, float[2] row) => (float[3,2] last, float[k,2] all) {
   go = Constant <value = bool {1}> ()
   [push] last, all = Loop (n, go, buffer) <body = step
      (int64 i, bool c, float[3,2] held) => (bool more, float[3,2] held_next, float[2] mean) {
      more = Identity (c)
      one = Constant <value = int64[1] {1}> ()
      three = Constant <value = int64[1] {3}> ()
      axis = Constant <value = int64[1] {AXIS}> ()
      zero = Constant <value = int64[1] {0}> ()
      tail = Slice (held, one, three, axis)
      newest = Unsqueeze (row, zero)
      held_next = Concat <axis = 0> (tail, newest)
      mean = ReduceMean <axes = [0], keepdims = 0> (held_next)
   }>
}
"""


def test_inputs_of_a_slice_are_compared_by_their_meaning(tmp_path: Path) -> None:
    """The two formats order the inputs of Slice differently."""
    for name, axis in (("right", "0"), ("wrong", "1")):
        text = BUFFER.replace("AXIS", axis)
        onnx.save(onnx.parser.parse_model(text), tmp_path / f"{name}.onnx")
    converted, _ = irloop.convert(tmp_path / "right.onnx")
    irloop.save_model(converted, tmp_path / "right.xml")
    pair = [tmp_path / "right.xml", tmp_path / "wrong.onnx"]
    inputs = {"n": 2, "buffer": [[1, 2], [3, 5], [7, 11]], "row": [0.5, 0.25]}
    line = str(irloop.compare(*pair, inputs=inputs, engines="numpy")).split("\n")[0]
    assert "constant `axis` of wrong.onnx differs" in line
    assert "1, not 0" in line


def test_a_shape_that_changes_in_a_later_iteration(tmp_path: Path) -> None:
    """The delayed state has the wrong shape from the second iteration on."""
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    m (float[3,1,2] x, float[2] a, float[2] b) => (float[2] last) {
       [delay] unread, last = Scan <num_scan_inputs = 1, body = step
          (float[2] newer, float[2] older, float[1,2] row)
          => (float[2] newer_next, float[2] older_next) {
          shape = Constant <value = int64[NUMBER] {SHAPE}> ()
          newer_next = Reshape (row, shape)
          older_next = Identity (newer)
       }> (a, b, x)
    }
    """
    pair = []
    for name, shape, number in (("right", "2", "1"), ("wrong", "1, 2", "2")):
        made = text.replace("NUMBER", number).replace("SHAPE", shape)
        pair.append(tmp_path / f"{name}.onnx")
        onnx.save(onnx.parser.parse_model(made), pair[-1])
    line = str(irloop.compare(*pair, engines="numpy")).split("\n")[0]
    assert "constant `shape` of wrong.onnx" in line


def test_a_slice_before_a_loop_in_models_of_one_format(tmp_path: Path) -> None:
    """The constant is named by which the Slice no longer reverses the rows, not the loop."""
    right = written(BACKWARDS, tmp_path)
    root = etree.parse(right).getroot()
    (step,) = (
        edge.get("from-layer")
        for edge in root.iter("edge")
        if edge.get("to-layer") == layer(root, "rows/Slice").get("id")
        and edge.get("to-port") == "3"
    )

    def edit(root: etree._Element) -> None:
        body = layer(root, "rows/Slice").getparent()
        assert body is not None
        (constant,) = (item for item in body if item.get("id") == step)
        (data,) = constant.findall("data")
        (zero,) = layer(root, "planes/Const").findall("data")
        data.set("offset", zero.attrib["offset"])

    line = str(irloop.compare(right, edited(right, edit), engines="numpy")).split("\n")[0]
    assert "constant `rows/" in line
