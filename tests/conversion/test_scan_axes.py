"""Loops along axis 1 of tensors that may have no elements, each run in a process of its own.

ONNX Runtime 1.31 dies of SIGFPE if a Scan itself transposes such a tensor; so does OpenVINO 2026.4
if a loop concatenates values along an axis that comes after an axis of size 0. The expected numbers
are worked out by hand: each case negates its input part by part.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.conversion.loops.loop_choice import Loops
from irloop.dialects.onnx.control_flow import Scan
from irloop.dialects.openvino.elementwise import Negative
from irloop.graph.loops import Concatenated, ScanInput, ScanOutput
from irloop.graph.model import Model
from irloop.graph.walk import all_nodes

pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")

RUN_OPENVINO = """
import sys, numpy as np
from irloop.engines.openvino_runner import OpenVinoRunner
run = OpenVinoRunner(sys.argv[1])
for rows in (2, 0, 3):
    x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
    for y in run([x]):
        assert y.shape == x.shape and (y == -x).all(), (rows, y)
print("right")
"""

RUN = """
import sys, numpy as np, onnxruntime as ort
session = ort.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
(name,) = [item.name for item in session.get_inputs()]
for rows in (2, 0, 3):
    x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
    (y,) = session.run(None, {name: x})
    assert y.shape == x.shape and (y == -x).all(), (rows, y)
print("right")
"""

LOOP = """<ir_version: 8, opset_import: ["": 17]>
g (float[m, 3] x) => (float[m, 3] z) {
  n = Constant <value_int = 3> ()
  t = Loop <body = b (int64 i, bool c) => (bool d, float[m] s) {
    d = Identity (c)  e = Gather <axis = 1> (x, i)  s = Neg (e) }> (n, "")
  z = Transpose <perm = [1, 0]> (t)
}"""

SCAN = """<ir_version: 8, opset_import: ["": 17]>
g (float[m, 3] x) => (float[m, 3] z) {
  z = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [-1],
    body = b (float[m] e) => (float[m] s) { s = Neg (e) }> (x)
}"""


#: Each model negates x [m,3] along axis 1 with another kind of loop. Those of unknown length become
#: Loops.
ACROSS = {
    "scan": SCAN,
    "backwards": SCAN.replace(
        "scan_output_axes = [-1]",
        "scan_output_axes = [1], scan_input_directions = [1], scan_output_directions = [1]",
    ),
    "unknown length": SCAN.replace("float[m, 3] x", "float[m, k] x"),
    "in a Loop": """<ir_version: 8, opset_import: ["": 17]>
g (float[m, k] x) => (float[m, k] z, float[m, k] w) {
  n = Constant <value_int = 1> ()  two = Add (n, n)  minus = Neg (x)
  z, all = Loop <body = o (int64 i, bool c, float[m, k] h) =>
    (bool d, float[m, k] r, float[m, k] s) {
    d = Identity (c)
    r = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
      body = b (float[m] e) => (float[m] t) { t = Neg (e) }> (x)
    s = Add (r, h)
  }> (two, "", minus)
  half = Constant <value_float = 0.5> ()
  last = Gather <axis = 0> (all, n)
  w = Mul (last, half)
}""",
    "in a Scan": """<ir_version: 8, opset_import: ["": 17]>
g (float[m, 3] x) => (float[m, 3] z) {
  axes = Constant <value_ints = [1]> ()  v = Unsqueeze (x, axes)
  y = Scan <num_scan_inputs = 1, scan_input_axes = [2], scan_output_axes = [2],
    body = o (float[m, 1] e) => (float[m, 1] s) {
      s = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
        body = b (float[m] f) => (float[m] t) { t = Neg (f) }> (e) }> (v)
  z = Squeeze (y, axes)
}""",
}


def ran(path: Path) -> str:
    script = RUN_OPENVINO if path.suffix == ".xml" else RUN
    command = [sys.executable, "-c", script, str(path)]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=120)
    return done.stdout.strip() or f"{done.returncode} {done.stderr[-300:]}"


def axes(model: Model) -> list[int]:
    """The axes of all Scans of a model."""
    scans = [node.body().ports for node in all_nodes(model.graph) if isinstance(node.op, Scan)]
    assert scans
    ports = [port for item in scans for port in (*item.inputs, *item.outputs)]
    return [port.axis for port in ports if isinstance(port, ScanInput | ScanOutput)]


def negated_columns(rows: int | None) -> Model:
    """An IR that negates the columns of x [rows,3] one by one."""
    m = IrModel()
    loop = m.tensor_iterator()
    part = loop.slice(m.input("x", rows, 3), 1)
    loop.joined(loop(Negative(), part), 1)
    return m.done(*loop.done())


def test_a_tensor_iterator_becomes_a_scan_along_axis_0(tmp_path: Path) -> None:
    model, _ = irloop.convert(negated_columns(None), "onnx")
    irloop.save_model(model, tmp_path / "model.onnx")
    assert axes(model) == [0, 0]
    assert ran(tmp_path / "model.onnx") == "right"


def test_a_scan_that_has_elements_keeps_its_axes() -> None:
    model, _ = irloop.convert(negated_columns(2), "onnx")
    assert axes(model) == [1, 1]


def test_a_loop_that_a_pass_turns_into_a_scan(tmp_path: Path) -> None:
    (tmp_path / "loop.onnx").write_bytes(onnx.parser.parse_model(LOOP).SerializeToString())
    assert ran(tmp_path / "loop.onnx") == "right"
    model, profile = irloop.transform(tmp_path / "loop.onnx", ["loop_to_scan"])
    irloop.save_model(model, tmp_path / "scan.onnx")
    assert axes(model) == [0, 0]
    assert "scan_along_front" in {record.name for record in profile}
    assert ran(tmp_path / "scan.onnx") == "right"


def test_a_scan_of_the_source_stays(tmp_path: Path) -> None:
    """Other requested changes leave the Scan unchanged."""
    (tmp_path / "scan.onnx").write_bytes(onnx.parser.parse_model(SCAN).SerializeToString())
    model, _ = irloop.transform(tmp_path / "scan.onnx", ["constant_folding"])
    assert axes(model) == [1, 1]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (y,) = irloop.run(model, [x]).values()
    assert np.array_equal(y, -x)


def joined_axes(model: Model) -> list[int]:
    """The axes of all joined outputs of an IR."""
    ports = [body.ports for node in all_nodes(model.graph) for body in node.bodies]
    return [x.axis for item in ports for x in item.outputs if isinstance(x, Concatenated)]


def save_text(text: str, path: Path) -> Path:
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    return path


@pytest.mark.parametrize("name", ACROSS)
def test_openvino_joins_along_axis_0(name: str, tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    model, _ = irloop.convert(save_text(ACROSS[name], tmp_path / "scan.onnx"))
    irloop.save_model(model, tmp_path / "model.xml")
    axes_of_all = joined_axes(model)
    assert axes_of_all
    assert set(axes_of_all) == {0}
    assert ran(tmp_path / "model.xml") == "right"


@pytest.mark.parametrize("loops", ["loop", "scan"])
def test_loops_that_are_rewritten_join_along_axis_0(loops: Loops, tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    source = save_text(ACROSS["unknown length"], tmp_path / "scan.onnx")
    irloop.save_model(irloop.convert(source, loops=loops)[0], tmp_path / "model.xml")
    assert ran(tmp_path / "model.xml") == "right"


def test_values_that_have_elements_are_joined_as_they_are() -> None:
    model, _ = irloop.convert(negated_columns(2), "onnx")
    assert joined_axes(irloop.convert(model)[0]) == [1]


def test_a_loop_of_the_source_joins_as_it_did() -> None:
    """If the user requests another change, the TensorIterator is unchanged."""
    model, _ = irloop.transform(negated_columns(None), ["constant_folding"])
    assert joined_axes(model) == [1]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (y,) = irloop.run(model, [x]).values()
    assert np.array_equal(y, -x)
