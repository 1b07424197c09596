"""The composite pass repeats rounds until nothing changes; inner passes can be disabled by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from irloop.execution.session import run
from irloop.formats.onnx import reader
from irloop.graph.model import Model
from irloop.passes import Manager
from irloop.passes.common import Simplify

#: The condition is constant once 1 + 1 is folded; then the loop runs once; then the Identity is
#: removed.
TEXT = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x) => (float[2] z) {
  one = Constant <value = int64 {1}> ()
  two = Constant <value = int64 {2}> ()
  sum = Add (one, one)
  same = Equal (sum, two)
  z = If (same) <
    then_branch = t () => (float[2] p) {
      p = Loop (one, "", x) <body = k (int64 i, bool ci, float[2] s) => (bool co, float[2] q) {
        r = Identity (s)
        q = Mul (r, r)
        co = Identity (ci)
      }>
    },
    else_branch = e () => (float[2] u) { u = Sqrt (x) }>
}
"""


def model(folder: Path) -> Model:
    path = folder / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(TEXT).SerializeToString())
    return reader.read(path)


def test_one_pass_enables_the_next(tmp_path: Path) -> None:
    found = model(tmp_path)
    manager = Manager([Simplify()], check=True)
    assert manager.run_passes(found)
    assert [node.op.type for node in found.graph.nodes] == ["Mul"]
    np.testing.assert_array_equal(
        next(iter(run(found, [np.array([2, 3], np.float32)]).values())), [4, 9]
    )
    assert not Manager([Simplify()]).run_passes(found)


def test_inner_passes_can_be_disabled_and_are_profiled(tmp_path: Path) -> None:
    found = model(tmp_path)
    manager = Manager([Simplify(rounds=1)])
    manager.config.disable("inline_constant_if")
    assert manager.run_passes(found)
    assert "If" in [node.op.type for node in found.graph.nodes]
    names = [record.name for record in manager.profile]
    assert names[:2] == ["simplify", "constant_folding"]
    assert "inline_constant_if" not in names
    assert names.count("dead_code") == 1
