"""Loops without states become operations over the whole axis, with the same results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
from hypothesis import HealthCheck, assume, given, settings

from irloop.conversion.pipelines import to_onnx, to_openvino
from irloop.execution.session import run
from irloop.formats.onnx import reader
from irloop.graph.model import Model
from irloop.graph.verify import verify
from irloop.graph.walk import all_nodes
from irloop.passes import Manager
from irloop.passes.common import IdentityElimination, VectorizeMapLoop
from tests.drawn.loops import Plan, build, plans, values
from tests.passes.texts import shown

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'
MAP = """
g (float[4, 3] x, float[3, 2] w) => (float[4, 2] y) {
  y = Scan <num_scan_inputs = 1, body = k (float[3] p) => (float[2] q) {
    row = MatMul (p, w)
    q = Relu (row)
  }> (x)
}
"""

#: A body that contains one of each kind of operation.
MUCH = """
g (float[2, 4, 3] x, float[3] w, float[5, 3] table) => (a, b, c, d) {
  a, b, c, d = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],
      scan_output_axes = [0, 1, -1, 0], scan_output_directions = [0, 1, 0, 0],
      body = k (float[2, 3] p) => (a1, b1, c1, d1) {
    sum = Add (p, w)
    turned = Transpose <perm = [1, 0]> (sum)
    square = MatMul (turned, p)
    soft = Softmax <axis = -1> (square)
    both = Concat <axis = 1> (soft, turned)
    a1 = Sigmoid (both)
    one = Constant <value = int64[1] {1}> ()
    total = ReduceSum <keepdims = 0> (p, one)
    picked = Gather <axis = 1> (p, one)
    b1 = Mul (picked, total)
    flat = Flatten <axis = 0> (p)
    c1 = Squeeze (flat)
    size = Cast <to = 7> (total)
    limit = Constant <value = int64 {4}> ()
    low = Constant <value = int64 {0}> ()
    most = Min (size, limit)
    index = Max (most, low)
    d1 = Gather (table, index)
  }> (x)
}
"""


def read(text: str, folder: Path) -> Model:
    path = folder / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    return reader.read(path)


def loops(model: Model) -> int:
    return sum(bool(node.bodies) for node in all_nodes(model.graph))


def test_a_scan_becomes_a_product(tmp_path: Path) -> None:
    model = read(MAP, tmp_path)
    Manager([VectorizeMapLoop()], check=True).run_passes(model)
    assert shown(model) == "row_1 = MatMul(x, w)\ny = Relu(row_1)\n-> y"


def test_slices_of_every_kind_of_operation(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=shape).astype(np.float32) for shape in [(2, 4, 3), (3,), (5, 3)]]
    wanted = list(run(read(MUCH, tmp_path), arrays).values())
    for model in (read(MUCH, tmp_path), to_openvino(read(MUCH, tmp_path))[0]):
        assert loops(model) == 1
        Manager([VectorizeMapLoop()], check=True).run_passes(model)
        assert loops(model) == 0
        for got, want in zip(run(model, arrays).values(), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans())
def test_vectorised_loops_keep_their_results(plan: Plan) -> None:
    assume(plan.slices and plan.joined and plan.trips and not plan.runtime_trip)
    plan = replace(plan, states=(), stop_after=None)
    original, arrays = build(plan)
    wanted = values(original, arrays)
    for model in (original, to_onnx(build(plan)[0])[0], to_onnx(build(plan)[0], prefer="scan")[0]):
        passes = [VectorizeMapLoop(), IdentityElimination()]
        Manager(passes, check=True).run_passes(model)
        verify(model.graph)
        assert loops(model) == 0
        for got, want in zip(values(model, arrays), wanted, strict=True):
            np.testing.assert_array_equal(got, want)


def test_a_state_keeps_the_loop(tmp_path: Path) -> None:
    model = read(
        """
        g (float[4, 3] x, float[3] s) => (float[3] t) {
          t = Scan <num_scan_inputs = 1, body = k (float[3] a, float[3] p) => (float[3] b) {
            b = Add (a, p)
          }> (s, x)
        }
        """,
        tmp_path,
    )
    assert not Manager([VectorizeMapLoop()]).run_passes(model)
