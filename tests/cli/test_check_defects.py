"""Former defects of conversions, put back one by one: ``convert --check`` must report each.

irloop's own executor computes each of these right, by the specification; only the engine that
runs the result shows them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from click.testing import Result

from irloop.conversion.loops import openvino_loop_builder as openvino_loops
from irloop.faults.repairs.unread_states import ReadStates
from irloop.passes.common import body_barriers
from irloop.passes.common.body_barriers import BodyBarriers
from irloop.passes.common.separate_results import SeparateResults

Irloop = Callable[..., Result]
Patch = Callable[[pytest.MonkeyPatch], None]

HEADER = '<ir_version: 8, opset_import: ["" : 16]>'


def _no(*_: Any, **__: Any) -> bool:
    return False


def _barriers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(openvino_loops, "needs_barrier", _no)
    patch.setattr(body_barriers, "needs_barrier", _no)


def _cut(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(openvino_loops, "cut_if_idle", lambda _, value, *__: value)


def _read(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ReadStates, "change", _no)


def _in_place(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BodyBarriers, "run_on_model", _no)


EXCHANGE = """m (int64 n, float[2] a, float[2] b) => (float[2] p, float[2] q) {
   p, q = Loop (n, , a, b) <body = f (int64 i, bool c, float[2] s, float[2] t)
      => (bool c, float[2] t, float[2] s) { }>
}"""

HANDED_ON = """m (float[4,2] x, float[2] a) => (float[2] p, float[?,2] z) {
   p, z = Scan <num_scan_inputs = 1, body = f (float[2] s, float[2] row)
      => (float[2] row, float[2] u) { u = Add (s, row) }> (a, x)
}"""

JOINED = """m (int64 n, float[2] a) => (float[2] p, float[?,2] z) {
   p, z = Loop (n, , a) <body = f (int64 i, bool c, float[2] s)
      => (bool c, float[2] t, float[2] u) { t = Add (s, s) u = Neg (t) }>
}"""

SOFTMAX = """m (int64 n, float[1,3] x) => (float[1,3] p) {
   p = Loop (n, , x) <body = f (int64 i, bool c, float[1,3] s) => (bool c, float[1,3] t) {
      y = Softmax <axis = 1> (x) t = Add (s, y)
   }>
}"""

UNREAD = """m (int64 n, float[2] a, float[2] b) => (float[2] p, float[2] q) {
   p, q = Loop (n, , a, b) <body = f (int64 i, bool c, float[2] s, float[2] unread)
      => (bool c, float[2] t, float[2] u) { t = Add (s, s) u = Neg (t) }>
}"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "defect"),
    [
        pytest.param(EXCHANGE, _barriers, id="states that change places are not copied"),
        pytest.param(HANDED_ON, _barriers, id="a slice becomes a state and is not copied"),
        pytest.param(JOINED, _cut, id="what a loop joined before is not cut away"),
        pytest.param(SOFTMAX, _in_place, id="a captured value is overwritten in place"),
        pytest.param(UNREAD, _read, id="a state that the body does not read"),
    ],
)
def test_a_defect_is_found(
    text: str, defect: Patch, irloop: Irloop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "m.onnx"
    source.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    right = irloop("convert", source, "-o", tmp_path / "right.xml", "--check")
    assert right.exit_code == 0, right.output
    defect(monkeypatch)
    wrong = irloop("convert", source, "-o", tmp_path / "wrong.xml", "--check")
    assert wrong.exit_code == 1, wrong.output
    assert "not equal" in wrong.stdout
    assert "openvino" in wrong.stdout
    assert not (tmp_path / "wrong.xml").exists()


TWICE = """m (bool c, float[2] y) => (float[2] p, float[2] q) {
   p, q = If (c)
      <then_branch = t () => (float[2] a, float[2] a) { a = Abs (y) },
       else_branch = e () => (float[2] d, float[2] g) { d = Neg (y) g = Exp (y) }>
}"""


def test_a_defect_in_models_for_onnx_runtime_is_found(
    irloop: Irloop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenVINO runs a branch that returns one value twice correctly; ONNX Runtime does not."""
    first, source = tmp_path / "m.onnx", tmp_path / "m.xml"
    first.write_bytes(onnx.parser.parse_model(HEADER + TWICE).SerializeToString())
    assert irloop("convert", first, "-o", source).exit_code == 0
    right = irloop("convert", source, "-o", tmp_path / "right.onnx", "--check")
    assert right.exit_code == 0, right.output
    monkeypatch.setattr(SeparateResults, "run_on_model", _no)
    wrong = irloop("convert", source, "-o", tmp_path / "wrong.onnx", "--check")
    assert wrong.exit_code == 1, wrong.output
    assert "not equal" in wrong.stdout
    assert "in the second model in onnxruntime" in wrong.stdout
    assert not (tmp_path / "wrong.onnx").exists()
