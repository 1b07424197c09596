"""Results of branches and Scans that share a value, before and after, in ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import irloop
from irloop.execution.session import run
from irloop.formats.onnx import reader, writer
from irloop.passes import PassConfig
from irloop.passes.common import SeparateResults
from tests.passes.texts import shown

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'
PASSED_ON = """g (float[2] x, float[3,2] parts) => (float[2] last, float[3,2] all) {
  last, all = Scan <num_scan_inputs = 1,
    body = step (float[2] s, float[2] p) => (float[2] s, float[2] p) {}> (x, parts)
}"""
TWICE = """g (float[2] x, float[3,2] parts) => (float[2] last, float[3,2] all) {
  last, all = Scan <num_scan_inputs = 1,
    body = step (float[2] s, float[2] p) => (float[2] t, float[2] t) { t = Add (s, p) }> (x, parts)
}"""
BRANCH = """g (float[2] x, float[3,2] parts) => (float[2] a, float[2] b) {
  zero = Constant <value = float {0}> () total = ReduceSum <keepdims = 0> (parts)
  going = Greater (total, zero)
  a, b = If (going) <
    then_branch = yes () => (float[2] y, float[2] y) { y = Abs (x) },
    else_branch = no () => (float[2] z, float[2] w) { z = Neg (x) w = Exp (x) }
  >
}"""
LOOP = """g (float[2] x, float[3,2] parts) => (float[2] a, float[2] b) {
  n = Constant <value = int64 {3}> () on = Constant <value = bool {1}> ()
  a, b = Loop (n, on, x, x) <
    body = step (int64 i, bool go, float[2] s, float[2] t) => (bool go, float[2] u, float[2] u) {
      u = Add (s, t)
    }>
}"""


@pytest.mark.parametrize(
    ("text", "modified"), [(PASSED_ON, True), (TWICE, True), (BRANCH, True), (LOOP, False)]
)
def test_onnxruntime_gives_what_the_model_says(text: str, modified: bool, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model = reader.from_proto(onnx.parser.parse_model(HEADER + text))
    x, parts = np.array([1, -2], np.float32), np.arange(6, dtype=np.float32).reshape(3, 2)
    wanted = list(run(model, [x, parts]).values())
    assert SeparateResults().run(model, PassConfig()) is modified
    writer.write(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    for found, want in zip(session.run(None, {"x": x, "parts": parts}), wanted, strict=True):
        np.testing.assert_array_equal(found, want)
    codes = {item.code for item in irloop.validate(tmp_path / "model.onnx").diagnostics}
    assert not codes & {"ONX310", "ONX402"}
    assert not SeparateResults().run(model, PassConfig())


def test_states_and_slices_that_are_passed_on_are_copied() -> None:
    model = reader.from_proto(onnx.parser.parse_model(HEADER + PASSED_ON))
    SeparateResults().run(model, PassConfig())
    assert shown(model) == (
        "last, all = Scan():\n"
        "  s from x, then s/Identity\n"
        "  p in parts, axis 0\n"
        "  s/Identity = Identity(s)\n"
        "  p/Identity = Identity(p)\n"
        "  last is s/Identity\n"
        "  all stacks p/Identity, axis 0\n"
        "-> last, all"
    )
