"""The first line names a fault in one format when the model in the other format is correct.

The conversion writes some wires of loops as operations: an index for a slice, a Slice after an
output. As in `test_cause`, the expected words follow from the fault.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import onnx
import pytest

import irloop

#: The loop may run zero iterations, so the conversion slices its output `all`.
LOOP = """
<ir_version: 8, opset_import: ["" : 17]>
m (int64 n, float[3,2] x, float[2] start) => (float[2] last, float[k,2] all) {
   go = Constant <value = bool {1}> ()
   [rows] last, all = Loop (n, go, start) <body = step
      (int64 i, bool c, float[2] total) => (bool more, float[2] total_next, float[2] kept) {
      more = Identity (c)
      row = Gather <axis = 0> (x, i)
      total_next = Add (total, row)
      kept = Sub (total, row)
   }>
}
"""

#: A loop that only its condition can end.
WHILE = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[1] x) => (float[1] last) {
   go = Constant <value = bool {1}> ()
   one = Constant <value = float[1] {1.0}> ()
   limit = Constant <value = float {3.0}> ()
   [count] last = Loop (, go, x) <body = step
      (int64 i, bool c, float[1] v) => (bool more, float[1] v_next) {
      v_next = Add (v, one)
      top = ReduceMax <keepdims = 0> (v_next)
      more = Less (top, limit)
   }>
}
"""

INPUTS = {"n": 3, "x": [[1, 2], [3, 5], [7, 11]], "start": [0.5, 0.25]}

ORDERS = pytest.mark.parametrize("is_second", [True, False], ids=["second", "first"])


def pair_of(text: str, folder: Path) -> tuple[Path, Path]:
    """An ONNX model and its conversion."""
    right = folder / "right.onnx"
    onnx.save(onnx.parser.parse_model(text), right)
    converted, _ = irloop.convert(right)
    irloop.save_model(converted, folder / "right.xml")
    return right, folder / "right.xml"


def line_of(right: Path, wrong: Path, inputs: object, *, is_second: bool) -> str:
    pair = (right, wrong) if is_second else (wrong, right)
    return str(irloop.compare(*pair, inputs=inputs, engines="numpy")).splitlines()[0]


def told_of(name: str, line: str) -> str:
    """What the line tells about the model called `name`."""
    found = re.search(rf"(?:in|of) {name}(?:, line \d+)?(.*?)(?:; in |$)", line)
    assert found is not None, line
    return found[1]


@ORDERS
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('start="0" end="-1" stride="1"', 'start="-1" end="0" stride="-1"', "axis 0, backwards"),
        ('axis="0" start', 'axis="1" start', "axis 1, forwards"),
    ],
    ids=["reversed", "axis"],
)
def test_the_output_of_a_loop_before_a_slice(
    tmp_path: Path, old: str, new: str, words: str, is_second: bool
) -> None:
    right, other = pair_of(LOOP, tmp_path)
    text = other.read_text()
    assert text.count(old) == 1
    wrong = tmp_path / "wrong.xml"
    wrong.write_text(text.replace(old, new))
    wrong.with_suffix(".bin").write_bytes(other.with_suffix(".bin").read_bytes())
    line = line_of(right, wrong, INPUTS, is_second=is_second)
    assert f"joins `rows/Unsqueeze` along {words}" in told_of("wrong.xml", line)
    assert "along axis 0, forwards" in told_of("right.onnx", line)


@ORDERS
@pytest.mark.parametrize(
    "index",
    ["two = Constant <value = int64 {2}> () at = Sub (two, i)", "at = Sub (i, i)"],
    ids=["backwards", "always the first"],
)
def test_the_index_of_a_slice(tmp_path: Path, index: str, is_second: bool) -> None:
    """The axis of Gather is an attribute in ONNX and an input in IR."""
    _, right = pair_of(LOOP, tmp_path)
    wrong = tmp_path / "wrong.onnx"
    old = "row = Gather <axis = 0> (x, i)"
    assert LOOP.count(old) == 1
    text = LOOP.replace(old, f"{index} row = Gather <axis = 0> (x, at)")
    onnx.save(onnx.parser.parse_model(text), wrong)
    line = line_of(right, wrong, INPUTS, is_second=is_second)
    assert "input 1 of `row`" in line
    assert "`at`" in line
    assert "which is the iteration number" in line


@ORDERS
def test_a_constant_that_ends_a_loop(tmp_path: Path, is_second: bool) -> None:
    """The ONNX model's condition is a computed value; its conversion writes it as a constant."""
    right, other = pair_of(LOOP, tmp_path)
    text = other.read_text()
    body = text.index("<body>")
    (found,) = re.findall(r'<data element_type="boolean" shape="" offset="(\d+)"', text[body:])
    data = bytearray(other.with_suffix(".bin").read_bytes())
    # The initial condition has the same bytes, so the constant needs its own bytes.
    place, text = (
        len(data),
        text[:body] + text[body:].replace(f'offset="{found}"', f'offset="{len(data)}"', 1),
    )
    assert f'offset="{place}"' in text
    wrong = tmp_path / "wrong.xml"
    wrong.write_text(text)
    wrong.with_suffix(".bin").write_bytes(data + struct.pack("?", False))
    line = line_of(right, wrong, INPUTS, is_second=is_second)
    assert "the condition of `rows` is the constant `more`, False, in wrong.xml, line " in line
    assert line.endswith("not 3 times" if is_second else "not once")


@ORDERS
def test_loops_without_a_trip_count_are_alike(tmp_path: Path, is_second: bool) -> None:
    """An IR has the trip count -1 where an ONNX Loop has none, so this is not reported as the
    cause.
    """
    _, right = pair_of(WHILE, tmp_path)
    wrong = tmp_path / "wrong.onnx"
    text = WHILE.replace(
        "go = Constant <value = bool {1}> ()", "go = Constant <value = bool {0}> ()"
    )
    onnx.save(onnx.parser.parse_model(text), wrong)
    line = line_of(right, wrong, {"x": [0.5]}, is_second=is_second)
    assert "the initial condition of " in line
    assert re.search(r"\bFalse\b", line)
    assert "trip count" not in line
