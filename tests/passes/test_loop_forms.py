"""Passes that rewrite loops: TensorIterator and Loop in IR, Scan and Loop in ONNX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, assume, given, settings

from irloop.conversion.pipelines import to_onnx
from irloop.errors import UsageError
from irloop.execution.session import run
from irloop.formats.onnx import reader
from irloop.graph.loops import Sliced
from irloop.graph.model import Model, Node
from irloop.graph.op import Constant
from irloop.graph.verify import verify
from irloop.graph.walk import all_nodes
from irloop.passes import Manager, Pass, PassConfig
from irloop.passes.common import (
    GatherToSlice,
    LoopToScan,
    LoopToTensorIterator,
    Scan8ToScan9,
    ScanToLoop,
    SliceToGather,
    TensorIteratorToLoop,
)
from tests.drawn.loops import Plan, build, plans, values
from tests.passes.texts import shown

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'


def loops(model: Model) -> list[str]:
    return [node.op.type for node in all_nodes(model.graph) if node.bodies]


def changed(model: Model, item: Pass) -> Model:
    Manager([item], check=True).run_passes(model)
    verify(model.graph)
    return model


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans())
def test_a_loop_with_a_known_trip_count_can_become_a_tensor_iterator(plan: Plan) -> None:
    assume(plan.stop_after is None and not plan.runtime_trip and plan.trips)
    assume(plan.kind == "TensorIterator" or plan.slices or plan.uses_iteration or plan.joined)
    model, arrays = build(plan)
    wanted = values(*build(plan))
    first: Pass = TensorIteratorToLoop()
    second: Pass = LoopToTensorIterator()
    kinds = ["Loop", "TensorIterator"]
    if plan.kind == "Loop":
        first, second = second, first
        kinds.reverse()
    # OpenVINO's Loop slices and concatenates one element at a time; parts that are drawn have two.
    single = all(part == 1 for _, _, part in plan.slices) and not plan.joined
    changed(model, first)
    if plan.kind == "Loop" or single:
        assert loops(model) == kinds[:1]
    for item in (None, second):
        model = model if item is None else changed(model, item)
        for got, want in zip(values(model, arrays), wanted, strict=True):
            np.testing.assert_array_equal(got, want)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans())
def test_scan_and_loop_convert_into_each_other_with_equal_results(plan: Plan) -> None:
    assume(plan.trips and plan.stop_after is None and not plan.runtime_trip)
    wanted = values(*build(plan))
    arrays = build(plan)[1]
    for prefer in ("scan", "loop"):
        model = to_onnx(build(plan)[0], prefer=prefer)[0]
        for item, kind in ((LoopToScan(), "Scan"), (ScanToLoop(), "Loop")):
            changed(model, item)
            assert loops(model) == [kind]
            for got, want in zip(values(model, arrays), wanted, strict=True):
                np.testing.assert_array_equal(got, want)


SCAN = """
g (float[SIZE] x, float[2] h) => (float[2] last, float[2, N] all) {
  last, all = Scan <num_scan_inputs = 1, scan_input_directions = [1], scan_output_axes = [1]
      , body = k (float[2] s, float[2] p) => (float[2] t, float[2] u) {
    t = Add (s, p)
    u = Identity (t)
  }> (h, x)
}
"""


def read(text: str, folder: Path) -> Model:
    path = folder / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    return reader.read(path)


def test_a_scan_as_a_loop_gathers_by_the_iteration_number(tmp_path: Path) -> None:
    model = changed(read(SCAN.replace("SIZE", "3, 2"), tmp_path), ScanToLoop())
    assert shown(model) == (
        "last/Sub = Sub(3, 1)\n"
        "last, last.1 = Loop(3, -):\n"
        "  condition_in from -, then true\n"
        "  s from h, then t\n"
        "  p_1 is x\n"
        "  p/last is last/Sub\n"
        "  last/Sub_1 = Sub(p/last, iteration)\n"
        "  last/Gather = Gather(p_1, last/Sub_1)\n"
        "  t = Add(s, last/Gather)\n"
        "  u = Identity(t)\n"
        "  last is t\n"
        "  last.1 stacks u, axis 0\n"
        "all = Transpose(last.1)\n"
        "-> last, all"
    )


def test_readers_of_a_loop_get_its_new_shape(tmp_path: Path) -> None:
    text = """
    g (float[3, 2] x) => (float[3] y) {
      turned = Scan <num_scan_inputs = 1, scan_output_axes = [1]
          , body = k (float[2] p) => (float[2] q) { q = Relu (p) }> (x)
      y = Scan <num_scan_inputs = 1, scan_input_axes = [1]
          , body = l (float[2] a) => (float b) { b = ReduceSum <keepdims = 0> (a) }> (turned)
    }
    """
    model = changed(read(text, tmp_path), ScanToLoop())
    assert loops(model) == ["Loop", "Loop"]
    (y,) = run(model, [np.arange(6, dtype=np.float32).reshape(3, 2)]).values()
    np.testing.assert_array_equal(y, [1, 5, 9])


@pytest.mark.parametrize("length", [0, 1, 4])
def test_the_length_may_be_known_only_at_run_time(length: int, tmp_path: Path) -> None:
    model = changed(read(SCAN.replace("SIZE", "M, 2"), tmp_path), ScanToLoop())
    assert loops(model) == ["Loop"]
    x = np.arange(2 * length, dtype=np.float32).reshape(length, 2)
    last, every = run(model, [x, np.ones(2, np.float32)]).values()
    sums = [np.ones(2) + x[length - k :].sum(0) for k in range(length + 1)]
    np.testing.assert_array_equal(last, sums[-1])
    np.testing.assert_array_equal(every, np.array(sums[1:]).reshape(-1, 2).T)


def test_a_loop_that_gathers_becomes_a_scan(tmp_path: Path) -> None:
    model = read(SCAN.replace("SIZE", "3, 2"), tmp_path)
    changed(model, ScanToLoop())
    changed(model, LoopToScan())
    text = shown(model)
    assert "in x, axis 0, backwards" in text
    assert "iteration" not in text


def test_the_trip_count_of_a_former_loop_is_removed(tmp_path: Path) -> None:
    """ONNX Runtime warns about constants that nothing reads."""
    text = """
    g (int64 n, float[2] x) => (float[2] y) {
      y = Loop (n, "", x) <body = outer (int64 i, bool c, float[2] s) => (bool d, float[2] t) {
        d = Identity (c)  two = Constant <value_int = 2> ()
        truth = Constant <value = bool {1}> ()
        t = Loop (two, truth, s) <body = inner (int64 j, bool e, float[2] u)
            => (bool f, float[2] v) {
          f = Constant <value = bool {1}> ()  v = Add (u, x)
        }>
      }>
    }
    """
    model = changed(read(text, tmp_path), LoopToScan())
    assert loops(model) == ["Loop", "Scan"]
    constants = [node for node in all_nodes(model.graph) if isinstance(node.op, Constant)]
    assert all(node.output.is_used for node in constants)
    (y,) = run(model, [np.array(3), np.array([1, 2], np.float32)]).values()
    np.testing.assert_array_equal(y, [7, 14])


BATCHED = """
<ir_version: 3, opset_import: ["" : 8]>
g (int64[3] n, float[3, 2] h, float[3, 4, 2] x, float[3, 4, 2] y)
    => (float[3, 2] last, float[3, 4, 2] all) {
  last, all = Scan <num_scan_inputs = 2, directions = [0, 1]
      , body = k (float[2] s, float[2] p, float[2] q) => (float[2] t, float[2] u) {
    a = Sub (s, p)
    t = Add (a, q)
    u = Mul (t, p)
  }> (LENGTHS, h, x, y)
}
"""


@pytest.mark.parametrize("lengths", ["n", ""])
def test_a_batch_is_scanned_by_one_scan_per_item(lengths: str, tmp_path: Path) -> None:
    path = tmp_path / "batched.onnx"
    text = BATCHED.replace("LENGTHS", lengths or '""')
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    rng = np.random.default_rng(2)
    arrays = [rng.integers(-3, 4, shape).astype(np.float32) for shape in [(3, 2), *[(3, 4, 2)] * 2]]
    inputs = [np.array([2, 4, 1]), *arrays]
    wanted = list(run(reader.read(path), inputs).values())
    model = changed(reader.read(path), Scan8ToScan9())
    assert model.opsets == {"": 9}
    assert [node.op.label for node in all_nodes(model.graph) if node.bodies] == ["Scan-9"] * 2
    for got, want in zip(run(model, inputs).values(), wanted, strict=True):
        np.testing.assert_array_equal(got, want)


def test_an_operation_that_opset_9_changed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "batched.onnx"
    text = BATCHED.replace("LENGTHS", '""').replace(
        "last, all = Scan", "old = Upsample <scales = [1.0, 1.0, 1.0]> (x)\n  last, all = Scan"
    )
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    with pytest.raises(UsageError, match="Upsample-7"):
        Scan8ToScan9().run(reader.read(path), PassConfig())


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans())
def test_slices_may_be_gathered(plan: Plan) -> None:
    assume(plan.kind == "Loop" and plan.slices)
    model, arrays = build(plan)
    wanted = values(*build(plan))
    changed(model, SliceToGather())
    assert not [port for port in node_of(model).body().ports.inputs if isinstance(port, Sliced)]
    for item in (None, GatherToSlice()):
        model = model if item is None else changed(model, item)
        for got, want in zip(values(model, arrays), wanted, strict=True):
            np.testing.assert_array_equal(got, want)
    plain = [part == 1 and not reverse for _, reverse, part in plan.slices]
    found = [port for port in node_of(model).body().ports.inputs if isinstance(port, Sliced)]
    assert len(found) == (0 if plan.runtime_trip else sum(plain))


def node_of(model: Model) -> Node:
    (node,) = [node for node in model.graph.nodes if node.bodies]
    return node
