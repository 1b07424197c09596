"""Each rule that converts ONNX loops to OpenVINO loops; expected values are worked out by hand.

Each model is ONNX text; the IR made of it is run by irloop's executor, and where OpenVINO's
CPU was measured to go wrong also by OpenVINO itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from irloop.comparison.compare import compare
from irloop.conversion.pipelines import to_onnx, to_openvino
from irloop.dialects.openvino.control_flow import Loop, TensorIterator
from irloop.errors import UnsupportedError
from irloop.execution.session import run
from irloop.formats.onnx import reader, writer
from irloop.graph.model import Model, Node
from irloop.graph.types import Shape

Array = np.ndarray[Any, np.dtype[Any]]
HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'


def read(text: str, folder: Path) -> Model:
    path = folder / "model.onnx"
    path.write_bytes(onnx.parser.parse_model(HEADER + text).SerializeToString())
    return reader.read(path)


def through_ir(text: str, folder: Path, inputs: Sequence[Any]) -> list[Any]:
    """The outputs of the IR; also asserts that the ONNX model made from the IR returns the same."""
    model, _ = to_openvino(read(text, folder))
    outputs = list(run(model, inputs).values())
    again, _ = to_onnx(model)
    for got, want in zip(run(again, inputs).values(), outputs, strict=True):
        np.testing.assert_array_equal(got, want)
    return outputs


def only(model: Model, type: str) -> Node:
    (node,) = (node for node in model.graph.nodes if node.op.type == type)
    return node


COUNTED = """
g (int64 M, bool c, float[2] a) => (float[2] last, float[n, 2] all) {
  last, all = Loop (M, c, a) <body = b (int64 i, bool ci, float[2] s)
      => (bool co, float[2] t, float[2] u) {
    one = Constant <value_float = 1.0> ()
    t = Add (s, one)
    u = Identity (t)
    co = Identity (ci)
  }>
}
"""


@pytest.mark.parametrize(
    ("trips", "starts", "runs"),
    [
        (3, True, 3),
        (1, True, 1),
        (0, True, 0),
        (-2, True, 0),
        (5, False, 0),
    ],
)
def test_trip_count_and_condition(tmp_path: Path, trips: int, starts: bool, runs: int) -> None:
    a = np.array([0, 10], np.float32)
    last, every = through_ir(COUNTED, tmp_path, [np.array(trips), np.array(starts), a])
    np.testing.assert_array_equal(last, a + runs)
    expected = np.array([a + 1 + k for k in range(runs)], np.float32).reshape(runs, 2)
    np.testing.assert_array_equal(every, expected)


def test_a_missing_trip_count_is_written_as_minus_one(tmp_path: Path) -> None:
    text = """
    g (float a) => (float last) {
      last = Loop ("", "", a) <body = b (int64 i, bool ci, float s) => (bool co, float t) {
        one, limit = Split <axis = 0> (k)
        t = Add (s, s)
        hundred = Constant <value_float = 100.0> ()
        co = Less (t, hundred)
      }>
    }
    """.replace("        one, limit = Split <axis = 0> (k)\n", "")
    model, notes = to_openvino(read(text, tmp_path))
    trip = only(model, "Loop").inputs[0]
    assert trip is not None
    assert trip.producer.op.tensor.numpy() == -1  # type: ignore[attr-defined]
    assert [note.code for note in notes] == ["CNV102"]
    (last,) = run(model, [np.float32(3)]).values()
    assert last == 192.0


def test_the_largest_trip_count_means_no_limit(tmp_path: Path) -> None:
    text = COUNTED.replace("(M, c, a)", "(big, c, a)").replace(
        "last, all =", "big = Constant <value = int64 {9223372036854775807}> ()\n  last, all ="
    )
    model, _ = to_openvino(read(text, tmp_path))
    trip = only(model, "Loop").inputs[0]
    assert trip is not None
    assert trip.producer.op.tensor.numpy() == -1  # type: ignore[attr-defined]


def test_a_loop_that_never_runs_is_folded(tmp_path: Path) -> None:
    text = COUNTED.replace("(M, c, a)", "(none, c, a)").replace(
        "last, all =", "none = Constant <value = int64 {0}> ()\n  last, all ="
    )
    model, _ = to_openvino(read(text, tmp_path))
    assert not any(node.bodies for node in model.graph.nodes)
    a = np.array([4, 5], np.float32)
    last, every = run(model, [np.array(7), np.array(True), a]).values()
    np.testing.assert_array_equal(last, a)
    assert every.shape == (0, 2)


def test_a_loop_that_runs_once_is_inlined_even_if_its_state_changes_rank(tmp_path: Path) -> None:
    text = """
    g (float[2, 2] x, float[1] a) => (float[2, 2] last) {
      once = Constant <value = int64 {1}> ()
      last = Loop (once, "", a) <body = b (int64 i, bool ci, float s) => (bool co, float t) {
        t = Add (x, s)
        co = Identity (ci)
      }>
    }
    """
    model, _ = to_openvino(read(text, tmp_path))
    assert not any(node.bodies for node in model.graph.nodes)
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    (last,) = run(model, [x, np.array([10], np.float32)]).values()
    np.testing.assert_array_equal(last, x + 10)


def test_captured_values_of_every_level_become_inputs(tmp_path: Path) -> None:
    text = """
    g (int64 M, float[2] a, float[2] k) => (float[2] last) {
      twice = Add (k, k)
      last = Loop (M, "", a) <body = b (int64 i, bool ci, float[2] s) => (bool co, float[2] t) {
        t = Loop (M, "", s) <body = b2 (int64 j, bool cj, float[2] u) => (bool ck, float[2] v) {
          part = Add (u, twice)
          v = Add (part, s)
          ck = Identity (cj)
        }>
        co = Identity (ci)
      }>
    }
    """
    a, k = np.array([1, 2], np.float32), np.array([10, 20], np.float32)
    (last,) = through_ir(text, tmp_path, [np.array(2), a, k])
    state = a
    for _ in range(2):
        inner = state
        for _ in range(2):
            inner = inner + 2 * k + state
        state = inner
    np.testing.assert_array_equal(last, state)


def test_a_state_that_never_changes_is_no_state(tmp_path: Path) -> None:
    text = """
    g (int64 M, float[2] a, float[2] b) => (float[2] x, float[2] y) {
      x, y = Loop (M, "", a, b) <body = b (int64 i, bool ci, float[2] s, float[2] r)
          => (bool co, float[2] t, float[2] q) {
        t = Add (s, r)
        q = Identity (r)
        co = Identity (ci)
      }>
    }
    """
    model, _ = to_openvino(read(text, tmp_path))
    assert len(only(model, "Loop").outputs) == 1
    a, b = np.array([1, 2], np.float32), np.array([5, 6], np.float32)
    x, y = run(model, [np.array(3), a, b]).values()
    np.testing.assert_array_equal(x, a + 3 * b)
    np.testing.assert_array_equal(y, b)


SCANNED = """
g (float[2] a, float[4, 3] x, float[3, 4] y) => (float[2] last, float[2, 4] joined) {
  last, joined = Scan <num_scan_inputs = 2, scan_input_axes = [0, 1],
      scan_input_directions = [0, 1], scan_output_axes = [1], scan_output_directions = [1],
      body = b (float[2] s, float[3] p, float[3] q) => (float[2] t, float[2] u) {
        r = Mul (p, q)
        total = ReduceSum <keepdims = 0> (r)
        t = Add (s, total)
        u = Identity (t)
      }> (a, x, y)
}
"""


def test_scan_axes_and_directions(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(-3, 4, 2).astype(np.float32)
    x = rng.integers(-3, 4, (4, 3)).astype(np.float32)
    y = rng.integers(-3, 4, (3, 4)).astype(np.float32)
    model, _ = to_openvino(read(SCANNED, tmp_path))
    assert isinstance(only(model, "TensorIterator").op, TensorIterator)
    last, joined = through_ir(SCANNED, tmp_path, [a, x, y])
    states = []
    state = a
    for k in range(4):
        state = state + np.float32((x[k] * y[:, 3 - k]).sum())
        states.append(state)
    np.testing.assert_array_equal(last, state)
    np.testing.assert_array_equal(joined, np.stack(states[::-1], axis=1))


def test_a_scan_of_unknown_length_is_a_loop_and_may_be_empty(tmp_path: Path) -> None:
    text = """
    g (float a, float[n] x) => (float last, float[n] sums) {
      last, sums = Scan <num_scan_inputs = 1, body = b (float s, float p) => (float t, float u) {
        t = Add (s, p)
        u = Identity (t)
      }> (a, x)
    }
    """
    model, _ = to_openvino(read(text, tmp_path))
    assert isinstance(only(model, "Loop").op, Loop)
    x = np.array([1, 2, 4], np.float32)
    last, sums = through_ir(text, tmp_path, [np.float32(10), x])
    assert last == 17
    np.testing.assert_array_equal(sums, [11, 13, 17])
    last, sums = through_ir(text, tmp_path, [np.float32(10), x[:0]])
    assert last == 10
    assert sums.shape == (0,)


def test_a_scan_in_a_scan_is_a_loop_in_a_tensor_iterator(tmp_path: Path) -> None:
    text = """
    g (float a, float[2, 3] x) => (float last) {
      last = Scan <num_scan_inputs = 1, body = b (float s, float[3] row) => (float t) {
        t = Scan <num_scan_inputs = 1, body = b2 (float u, float p) => (float v) {
          double = Add (u, u)
          v = Add (double, p)
        }> (s, row)
      }> (a, x)
    }
    """
    model, _ = to_openvino(read(text, tmp_path))
    outer = only(model, "TensorIterator")
    assert [n.op.type for n in outer.body().graph.nodes if n.bodies] == ["Loop"]
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    (last,) = through_ir(text, tmp_path, [np.float32(1), x])
    state = np.float32(1)
    for item in x.reshape(-1):
        state = 2 * state + item
    assert last == state


SCAN8 = """
g (int64[B] n, float[B, 2] a, float[B, 3, 2] x) => (float[B, 2] last, float[B, 3, 2] sums) {
  last, sums = Scan <num_scan_inputs = 1, directions = [DIRECTION],
    body = b (float[2] s, float[2] p) => (float[2] t, float[2] u) {
      t = Add (s, p)
      u = Identity (t)
    }> (LENGTHS, a, x)
}
"""


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("lengths", [None, (2, 3)])
def test_scan_8_scans_each_batch_item_by_itself(
    tmp_path: Path, reverse: bool, lengths: tuple[int, int] | None
) -> None:
    text = SCAN8.replace("DIRECTION", str(int(reverse)))
    text = text.replace("LENGTHS", "n" if lengths else '""')
    path = tmp_path / "model.onnx"
    header = '<ir_version: 3, opset_import: ["" : 8]>\n'
    path.write_bytes(onnx.parser.parse_model(header + text).SerializeToString())
    model, _ = to_openvino(reader.read(path))
    a = np.array([[0, 100], [1000, 10]], np.float32)
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    n = np.array(lengths or (3, 3))
    last, sums = run(model, [n, a, x]).values()
    for item in range(2):
        state, rows = a[item], []
        order = range(n[item])
        for k in reversed(order) if reverse else order:
            state = state + x[item, k]
            rows.append(state)
        np.testing.assert_array_equal(last[item], state)
        rows += [np.zeros(2, np.float32)] * (3 - len(rows))
        np.testing.assert_array_equal(sums[item], np.stack(rows))


def test_branches_take_only_what_they_read(tmp_path: Path) -> None:
    text = """
    g (bool c, float[2] x, float[2] y) => (float[2] z) {
      z = If (c) <then_branch = t () => (float[2] p) { p = Add (x, x) },
                  else_branch = e () => (float[2] q) { q = Mul (y, y) }>
    }
    """
    x, y = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    assert through_ir(text, tmp_path, [np.array(True), x, y])[0].tolist() == [2, 4]
    assert through_ir(text, tmp_path, [np.array(False), x, y])[0].tolist() == [9, 16]
    model, _ = to_openvino(read(text, tmp_path))
    assert [len(body.ports.inputs) for body in only(model, "If").bodies] == [1, 1]


def test_a_branch_decided_by_a_fixed_shape_is_inlined(tmp_path: Path) -> None:
    text = """
    g (float[n, m] x) => (float[k] z) {
      shape = Shape (x)
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      rows = Gather (shape, zero)
      single = Equal (rows, one)
      axes = Constant <value = int64[1] {0}> ()
      z = If (single) <then_branch = t () => (float p) { p = Squeeze (x, axes) },
                       else_branch = e () => (float q) { q = Identity (x) }>
    }
    """
    model, _ = to_openvino(read(text, tmp_path), shapes={"x": Shape.of(1, 3)})
    assert not any(node.bodies for node in model.graph.nodes)
    x = np.array([[1, 2, 3]], np.float32)
    (z,) = run(model, [x]).values()
    np.testing.assert_array_equal(z, x[0])


def test_a_sequence_to_which_a_loop_appends_becomes_a_concatenated_output(tmp_path: Path) -> None:
    text = """
    g (int64 M, float[1, 2] x) => (float[n, 2] all, int64 count) {
      empty = SequenceEmpty ()
      seq = Loop (M, "", empty) <body = b (int64 i, bool ci, seq(float[1, 2]) s)
          => (bool co, seq(float[1, 2]) t) {
        number = Cast <to = 1> (i)
        item = Add (x, number)
        t = SequenceInsert (s, item)
        co = Identity (ci)
      }>
      all = ConcatFromSequence <axis = 0> (seq)
      count = SequenceLength (seq)
    }
    """
    x = np.array([[1, 2]], np.float32)
    every, count = through_ir(text, tmp_path, [np.array(3), x])
    np.testing.assert_array_equal(every, [[1, 2], [2, 3], [3, 4]])
    assert count == 3


def test_all_unsupported_operations_are_named_in_one_error(tmp_path: Path) -> None:
    text = """
    g (int64 M, seq(float[2]) s) => (seq(float[2]) t) {
      t = Identity (s)
    }
    """
    with pytest.raises(UnsupportedError) as caught:
        to_openvino(read(text, tmp_path))
    assert [item.code for item in caught.value.diagnostics] == ["CNV002"]
    assert "seq(f32[2])" in caught.value.diagnostics[0].message


ROTATED = """
g (TRIP float[2] a, float[2] b, float[2] d, float[4] v) => (float[2] x, float[2] y, float[2] z,
                                                           float[4, 2] first, float[4, 2] third) {
  x, y, z, first, third = NODE
}
"""


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("kind", ["Loop", "Scan"])
def test_openvino_does_not_alias_states(
    tmp_path: Path, kind: str, order: tuple[int, int, int]
) -> None:
    """The states exchange values, but OpenVINO performs the back edges one after another."""
    results = ", ".join(f"float[2] s{index}" for index in order) + ", float[2] s0, float[2] s2"
    states = "float[2] s0, float[2] s1, float[2] s2"
    if kind == "Loop":
        head = f"k (int64 i, bool ci, {states}) => (bool co, {results})"
        node = f'Loop (M, "", a, b, d) <body = {head} {{ co = Identity (ci) }}>'
    else:
        head = f"k ({states}, float e) => ({results})"
        body = f"body = {head} {{ used = Identity (e) }}"
        node = f"Scan <num_scan_inputs = 1, {body}> (a, b, d, v)"
    text = ROTATED.replace("NODE", node).replace("TRIP", "int64 M," if kind == "Loop" else "")
    source = read(text, tmp_path)
    values = [np.array(pair, np.float32) for pair in ([1, 2], [3, 4], [5, 6])]
    ends = [np.zeros(4, np.float32)]
    inputs = ([np.array(4)] if kind == "Loop" else []) + values + ends
    state, first, third = values, [], []
    for _ in range(4):
        first.append(state[0])
        third.append(state[2])
        state = [state[index] for index in order]
    wanted = [*state, np.stack(first), np.stack(third)]
    for got, want in zip(run(source, inputs).values(), wanted, strict=True):
        np.testing.assert_array_equal(got, want)
    model, _ = to_openvino(source)
    pytest.importorskip("openvino", reason="needs the openvino package")
    result = compare(source, model, inputs=inputs, engines=("numpy", "openvino"))
    assert result.equal, str(result)


def test_a_branch_result_that_is_returned_twice_is_copied(tmp_path: Path) -> None:
    """ONNX Runtime's If writes only one of two results that return the same value."""
    import onnxruntime

    text = """if_model (bool c, float[2] x) => (float[2] y, float[2] z) {
      y, z = If (c) <
        then_branch = then_graph () => (float[2] a, float[2] a) { a = Abs (x) },
        else_branch = else_graph () => (float[2] b, float[2] d) { b = Neg (x) d = Exp (x) }
      >
    }"""
    there, _ = to_openvino(read(text, tmp_path))
    writer.write(to_onnx(there)[0], tmp_path / "back.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "back.onnx")
    x = np.array([-1.5, 2], np.float32)
    for taken, wanted in ((True, [abs(x), abs(x)]), (False, [-x, np.exp(x)])):
        found = session.run(None, {"c": np.array(taken), "x": x})
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


#: Loops whose slices or initial state OpenVINO would remove, and with them the number of
#: iterations.
LOST = {
    "a state that is not read": """g (float[2] x, float[4,2] s) => (float[4,2] out) {
      out = Scan <num_scan_inputs = 1, body = outer (float[2] part) => (float[2] last) {
        trips = Constant <value = int64 {2}> () on = Constant <value = bool {1}> ()
        last = Loop (trips, on, part) <
          body = inner (int64 i, bool go, float[2] unread) => (bool again, float[2] next) {
            again = Identity (go) next = Neg (x)
          }>
      }> (s)
    }""",
    "a start that is not certain": """g (float[2] x, float[4,2] s) => (float[2] out) {
      ax = Constant <value = int64[1] {0}> () trips = Constant <value = int64 {3}> ()
      zero = Constant <value = float {0}> ()
      total = ReduceSum <keepdims = 0> (s) starts = Less (total, zero)
      last, all = Loop (trips, starts, x) <
        body = step (int64 i, bool go, float[2] u) => (bool again, float[2] next, float[2] part) {
          again = Identity (go) next = Add (u, x) part = Neg (next)
        }>
      out = ReduceSum <keepdims = 0> (all, ax)
    }""",
}


@pytest.mark.parametrize("name", LOST)
def test_openvino_runs_as_often_where_slices_are_not_needed(name: str, tmp_path: Path) -> None:
    source = read(LOST[name], tmp_path)
    model, _ = to_openvino(source)
    x, s = np.array([1, -2], np.float32), np.arange(8, dtype=np.float32).reshape(4, 2)
    for parts in (s, -s):
        found = compare(source, model, inputs=[x, parts], engines=("numpy", "openvino"))
        assert found.equal, str(found)
