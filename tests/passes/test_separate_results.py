"""Results of branches and Scans that share a value, before and after the pass, in ONNX Runtime."""

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
NUMBER = """g (float[2] x, float[3,2] parts) => (int64 last, int64[3] numbers, int64[3] sums) {
  n = Constant <value = int64 {3}> () on = Constant <value = bool {1}> ()
  last, numbers, sums = Loop (n, on, n) <
    body = step (int64 i, bool go, int64 s) => (bool go, int64 i, int64 i, int64 t) {
      t = Add (s, i)
    }>
}"""


@pytest.mark.parametrize(
    ("text", "modified"),
    [(PASSED_ON, True), (TWICE, True), (BRANCH, True), (NUMBER, True), (LOOP, False)],
)
def test_onnxruntime_returns_what_the_model_defines(
    text: str, modified: bool, tmp_path: Path
) -> None:
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
    assert not codes & {"ONX310", "ONX312", "ONX402"}
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


WORDS = """g (int64 n, string[2] x) => (string[2] w, string[2] z, TYPES) {
  on = Constant <value = bool {1}> ()
  w, z, NAMES = Loop (n, on, x, x) <
    body = step (int64 i, bool go, string[2] s, string[2] t)
      => (bool go, string[2] s, string[2] u, JOINED) {
      o = Constant <value = int64[2] {1, 0}> () u = Gather (t, o) same = Identity (s)
    }>
}"""


@pytest.mark.parametrize("opset", [11, 13, 17])
@pytest.mark.parametrize(
    ("joined", "modified"),
    [("s", True), ("same", True), ("u u", True), ("t t", True), ("same s u u", True), ("u", False)],
)
def test_strings_that_a_loop_joins(joined: str, modified: bool, opset: int, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    names = joined.split()
    outputs = [f"all{k}" for k in range(len(names))]
    text = WORDS.replace("TYPES", ", ".join(f"string[k,2] {name}" for name in outputs))
    text = text.replace("NAMES", ", ".join(outputs))
    text = text.replace("JOINED", ", ".join(f"string[2] {name}" for name in names))
    header = f'<ir_version: 7, opset_import: ["" : {opset}]>\n'
    model = reader.from_proto(onnx.parser.parse_model(header + text))
    assert SeparateResults().run(model, PassConfig()) is modified
    assert not SeparateResults().run(model, PassConfig())
    writer.write(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    long = "longer than the strings that need no memory of their own"
    for first, count in (("a", 3), (long, 2), ("b", 1)):
        x = np.array([first, "second"], object)
        found = session.run(None, {"n": np.array(count), "x": x})
        turned = [x if step % 2 == 0 else x[::-1] for step in range(count + 1)]
        wanted = {"s": [x] * count, "same": [x] * count, "u": turned[1:], "t": turned[:-1]}
        assert [item.tolist() for item in found[:2]] == [x.tolist(), turned[-1].tolist()]
        for item, name in zip(found[2:], names, strict=True):
            assert item.tolist() == [part.tolist() for part in wanted[name]]
    codes = {item.code for item in irloop.validate(tmp_path / "model.onnx").diagnostics}
    assert "ONX313" not in codes
