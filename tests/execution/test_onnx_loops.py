"""Loop, Scan and If of ONNX, with outputs worked out by hand or by a NumPy loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from irloop.errors import ExecutionError, LimitError
from irloop.execution.limits import Limits
from irloop.execution.session import Session
from irloop.formats.onnx import reader

Array = np.ndarray[Any, np.dtype[Any]]


def session(text: str, opset: int = 16) -> Session:
    header = f'<ir_version: 8, opset_import: ["" : {opset}]>'
    return Session(reader.from_proto(onnx.parser.parse_model(header + text)))


def run(text: str, *inputs: Any, opset: int = 16, limits: Limits | None = None) -> list[Any]:
    return list(session(text, opset).run(list(inputs), limits=limits).values())


def i64(value: int) -> Array:
    return np.array(value, np.int64)


def f32(*values: float) -> Array:
    return np.array(values, np.float32)


TRUE, FALSE = np.array(True), np.array(False)

#: x becomes x + 1 while the trip count and the initial condition allow it; all states are
#: concatenated.
COUNT = """
m (int64 trip, bool go, float[2] x) => (float[2] last, float[?,2] all) {
   last, all = Loop (trip, go, x)
      <body = step (int64 i, bool c, float[2] s) => (bool c2, float[2] s2, float[2] part) {
      one = Constant <value_float = 1.0> ()
      c2 = Identity (c)
      s2 = Add (s, one)
      part = Identity (s2)
   }>
}
"""


@pytest.mark.parametrize("count", [1, 2, 3, 65, 300])
def test_states_and_gathered_outputs(count: int) -> None:
    x = f32(1, 5)
    last, parts = run(COUNT, i64(count), TRUE, x)
    np.testing.assert_array_equal(last, x + count)
    np.testing.assert_array_equal(parts, x + np.arange(1, count + 1, dtype=np.float32)[:, None])


@pytest.mark.parametrize(("trip", "go"), [(0, True), (-1, True), (-3, True), (4, False)])
def test_zero_and_negative_trip_counts_and_a_false_condition_run_nothing(
    trip: int, go: bool
) -> None:
    last, parts = run(COUNT, i64(trip), np.array(go), f32(1, 5))
    np.testing.assert_array_equal(last, [1, 5])
    assert parts.shape == (0, 2)
    assert parts.dtype == np.float32


@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_trip_count_may_be_a_vector_of_one(shape: tuple[int, ...]) -> None:
    text = COUNT.replace("int64 trip", "int64[1] trip") if shape else COUNT
    last, _ = run(text, np.full(shape, 3, np.int64), TRUE, f32(0, 0))
    np.testing.assert_array_equal(last, [3, 3])


#: The loop ends when the state reaches the bound; `trip` and `go` are filled in.
UNTIL = """
m (int64 trip, bool go, float x, float bound) => (float last, float[?] all) {
   last, all = Loop (TRIP, GO, x)
      <body = step (int64 i, bool c, float s) => (bool c2, float s2, float part) {
      one = Constant <value_float = 1.0> ()
      s2 = Add (s, one)
      c2 = Less (s2, bound)
      part = Identity (s2)
   }>
}
"""


def until(trip: str, go: str) -> str:
    return UNTIL.replace("TRIP", trip).replace("GO", go)


@pytest.mark.parametrize(
    ("trip", "go", "count"),
    [("", "", 5), ("", "go", 5), ("trip", "", 3), ("trip", "go", 3)],
    ids=["neither", "no-trip", "no-condition", "both"],
)
def test_omitted_trip_count_and_condition(trip: str, go: str, count: int) -> None:
    last, parts = run(until(trip, go), i64(3), TRUE, np.float32(0), np.float32(5))
    assert float(last) == count
    np.testing.assert_array_equal(parts, np.arange(1.0, count + 1))


def test_the_condition_of_the_body_counts_if_the_initial_one_is_omitted() -> None:
    last, parts = run(until("trip", ""), i64(100), TRUE, np.float32(0), np.float32(2))
    assert float(last) == 2
    np.testing.assert_array_equal(parts, [1, 2])


def test_the_largest_trip_count_means_no_limit() -> None:
    last, _ = run(until("trip", "go"), i64(2**63 - 1), TRUE, np.float32(0), np.float32(70))
    assert float(last) == 70


def test_a_body_whose_first_condition_is_false_runs_once() -> None:
    last, parts = run(until("trip", "go"), i64(9), TRUE, np.float32(7), np.float32(0))
    assert float(last) == 8
    np.testing.assert_array_equal(parts, [8])


@pytest.mark.parametrize("trip", ["", "trip"])
def test_a_loop_that_never_ends_is_stopped_and_named(trip: str) -> None:
    text = until(trip, "go")
    with pytest.raises(LimitError, match="the limit of 1000 iterations") as error:
        run(
            text,
            i64(2**63 - 1),
            TRUE,
            np.float32(0),
            np.float32(np.inf),
            limits=Limits(max_iterations=1000),
        )
    assert error.value.diagnostics[0].location.path == "last"


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (0, 2), (2, 1, 2)])
def test_scan_outputs_get_a_new_first_axis(shape: tuple[int, ...]) -> None:
    dims = ",".join(map(str, shape))
    kind = f"float[{dims}]" if shape else "float"
    text = """
    m (int64 trip, KIND x) => (float[?] all) {
       all = Loop (trip, ) <body = step (int64 i, bool c) => (bool c2, KIND part) {
          c2 = Identity (c)
          n = Cast <to = 1> (i)
          part = Add (x, n)
       }>
    }
    """.replace("KIND", kind)
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    (found,) = run(text, i64(4), x)
    np.testing.assert_array_equal(found, np.stack([x + i for i in range(4)]))


def test_a_state_may_grow_in_each_iteration() -> None:
    text = """
    m (int64 trip, float[n] x) => (float[k] last) {
       last = Loop (trip, , x)
          <body = step (int64 i, bool c, float[a] s) => (bool c2, float[b] s2) {
          c2 = Identity (c)
          one = Constant <value_floats = [1.0]> ()
          s2 = Concat <axis = 0> (s, one)
       }>
    }
    """
    (found,) = run(text, i64(100), f32(5))
    np.testing.assert_array_equal(found, [5] + [1] * 100)


def test_scan_outputs_of_changing_shape_are_refused_by_name() -> None:
    text = """
    m (int64 trip, float[n] x) => (float[k] last, float[p,q] parts) {
       last, parts = Loop (trip, , x)
          <body = step (int64 i, bool c, float[a] s) => (bool c2, float[b] s2, float[d] part) {
          c2 = Identity (c)
          one = Constant <value_floats = [1.0]> ()
          s2 = Concat <axis = 0> (s, one)
          part = Identity (s2)
       }>
    }
    """
    with pytest.raises(ExecutionError, match="output 'parts' joins parts of different shapes"):
        run(text, i64(2), f32(5))
    _, parts = run(text, i64(1), f32(5))
    np.testing.assert_array_equal(parts, [[5, 1]])


@pytest.mark.parametrize("count", [1, 2, 3, 70])
def test_a_swap_without_other_operations(count: int) -> None:
    text = """
    m (int64 trip, float x, float y) => (float a, float b) {
       a, b = Loop (trip, , x, y)
          <body = step (int64 i, bool c, float p, float q) => (bool c, float q, float p) { }>
    }
    """
    a, b = run(text, i64(count), np.float32(1), np.float32(2))
    assert (float(a), float(b)) == ((2, 1) if count % 2 else (1, 2))


@pytest.mark.parametrize("count", [1, 2, 5, 80])
def test_the_last_value_is_that_of_the_last_iteration_not_of_the_next(count: int) -> None:
    # The first state is returned unchanged, and must not be affected by the new value of the second
    # state.
    text = """
    m (int64 trip, float x, float y) => (float a, float b, float[?] all) {
       a, b, all = Loop (trip, , x, y)
          <body = step (int64 i, bool c, float p, float q) =>
             (bool c, float p2, float q2, float sum) {
          p2 = Identity (q)
          q2 = Add (p, q)
          sum = Identity (q2)
       }>
    }
    """
    p, q, sums = 0.0, 1.0, []
    for _ in range(count):
        p, q = q, p + q
        sums.append(q)
    a, b, found = run(text, i64(count), np.float32(0), np.float32(1))
    np.testing.assert_allclose([float(a), float(b)], [p, q], rtol=1e-6)
    np.testing.assert_allclose(found, sums, rtol=1e-6)


def test_captures_constants_and_initialisers_as_body_outputs() -> None:
    text = """
    m (int64 trip, float[2] outer) =>
       (float[2] last, float[?,2] all, float[?,2] fixed) <float[2] k = {7, 8}> {
       last, all, fixed = Loop (trip, , outer)
          <body = step (int64 i, bool c, float[2] s) =>
             (bool c, float[2] k2, float[2] part, float[2] three) <float[2] three = {3, 3}> {
          k2 = Identity (k)
          part = Add (s, outer)
       }>
    }
    """
    last, parts, fixed = run(text, i64(3), f32(1, 2))
    np.testing.assert_array_equal(last, [7, 8])
    np.testing.assert_array_equal(parts, [[2, 4], [8, 10], [8, 10]])
    np.testing.assert_array_equal(fixed, [[3, 3]] * 3)


def test_nested_loops_capture_through_two_levels() -> None:
    text = """
    m (int64 n, float w) => (float last, float[?] rows) {
       zero = Constant <value_float = 0.0> ()
       last, rows = Loop (n, , zero)
          <body = outer (int64 i, bool c, float s) => (bool c, float s2, float row) {
          s2 = Loop (i, , s) <body = inner (int64 j, bool d, float t) => (bool d, float t2) {
             a = Cast <to = 1> (i)
             b = Mul (a, w)
             t2 = Add (t, b)
          }>
          row = Identity (s2)
       }>
    }
    """
    total, rows = 0.0, []
    for i in range(6):
        for _ in range(i):
            total += i * 0.5
        rows.append(total)
    last, found = run(text, i64(6), np.float32(0.5))
    assert float(last) == total
    np.testing.assert_array_equal(found, rows)


def test_a_sequence_as_a_state() -> None:
    text = """
    m (int64 trip, float[1] x) => (float[?] joined, int64 length) {
       empty = SequenceEmpty <dtype = 1> ()
       seq = Loop (trip, , empty)
          <body = step (int64 i, bool c, seq(float[1]) s) => (bool c, seq(float[1]) s2) {
          n = Cast <to = 1> (i)
          v = Add (x, n)
          s2 = SequenceInsert (s, v)
       }>
       joined = ConcatFromSequence <axis = 0> (seq)
       length = SequenceLength (seq)
    }
    """
    joined, length = run(text, i64(5), f32(10))
    np.testing.assert_array_equal(joined, [10, 11, 12, 13, 14])
    assert int(length) == 5


def test_an_error_names_node_and_iteration() -> None:
    text = """
    m (int64 trip, float[3] x) => (float[?] all) {
       all = Loop (trip, ) <body = step (int64 i, bool c) => (bool c, float part) {
          part = Gather <axis = 0> (x, i)
       }>
    }
    """
    (found,) = run(text, i64(3), f32(4, 5, 6))
    np.testing.assert_array_equal(found, [4, 5, 6])
    with pytest.raises(ExecutionError, match=r"Gather.*'all/body/part', iteration 3"):
        run(text, i64(5), f32(4, 5, 6))


def test_an_error_in_nested_loops_names_both_iterations() -> None:
    text = """
    m (int64 trip, float[3] x) => (float[?,?] rows) {
       [outer] rows = Loop (trip, ) <body = o (int64 i, bool c) => (bool c, float[?] row) {
          [inner] row = Loop (trip, ) <body = n (int64 j, bool d) => (bool d, float part) {
             k = Add (i, j)
             part = Gather <axis = 0> (x, k)
          }>
       }>
    }
    """
    with pytest.raises(ExecutionError, match="iterations 1 of 'outer', 2 of 'inner'"):
        run(text, i64(3), f32(4, 5, 6))


#: The Scan adds up its slices; axes and directions are filled in.
SCAN = """
m (float START x, float[?,?] xs) => (float[?] last, float[?,?] ys) {
   last, ys = Scan <num_scan_inputs = 1,
      scan_input_axes = [IN_AXIS], scan_input_directions = [IN_DIR],
      scan_output_axes = [OUT_AXIS], scan_output_directions = [OUT_DIR],
      body = step (float[?] s, float[?] e) => (float[?] s2, float[?] y) {
         s2 = Add (s, e)
         y = Identity (s2)
   }> (x, xs)
}
"""


@pytest.mark.parametrize("in_axis", [0, 1, -1, -2])
@pytest.mark.parametrize("out_axis", [0, 1, -1, -2])
@pytest.mark.parametrize("in_direction", [0, 1])
@pytest.mark.parametrize("out_direction", [0, 1])
def test_axes_and_directions_of_a_scan(
    in_axis: int, out_axis: int, in_direction: int, out_direction: int
) -> None:
    text = (
        SCAN.replace("START", "[?]")
        .replace("IN_AXIS", str(in_axis))
        .replace("IN_DIR", str(in_direction))
        .replace("OUT_AXIS", str(out_axis))
        .replace("OUT_DIR", str(out_direction))
    )
    xs = np.arange(12, dtype=np.float32).reshape(3, 4)
    elements = list(np.moveaxis(xs, in_axis, 0))[:: -1 if in_direction else 1]
    state = np.full(elements[0].shape, 100, np.float32)
    wanted = list(np.cumsum([state, *elements], axis=0)[1:])
    last, ys = run(text, state, xs)
    np.testing.assert_array_equal(last, wanted[-1])
    joined = np.stack(wanted[:: -1 if out_direction else 1], axis=out_axis)
    np.testing.assert_array_equal(ys, joined)


def test_a_scan_over_a_vector_sees_scalars() -> None:
    text = """
    m (float x, float[5] xs) => (float last, float[5] ys) {
       last, ys = Scan <num_scan_inputs = 1, body = step (float s, float e) => (float s2, float y) {
          s2 = Add (s, e)
          y = Mul (s2, e)
       }> (x, xs)
    }
    """
    last, ys = run(text, np.float32(0), f32(1, 2, 3, 4, 5))
    assert float(last) == 15
    np.testing.assert_array_equal(ys, [1, 6, 18, 40, 75])


def test_a_scan_of_length_zero_keeps_its_state() -> None:
    text = """
    m (float x, float[n,3] xs) => (float last, float[n,3] ys) {
       last, ys = Scan <num_scan_inputs = 1, body = step (float s, float[3] e) =>
          (float s, float[3] y) {
          y = Add (e, s)
       }> (x, xs)
    }
    """
    last, ys = run(text, np.float32(4), np.zeros((0, 3), np.float32))
    assert float(last) == 4
    assert ys.shape == (0, 3)


def test_scanned_inputs_of_different_lengths_are_refused() -> None:
    text = """
    m (float[n] a, float[k] b) => (float[?] ys) {
       ys = Scan <num_scan_inputs = 2, body = step (float p, float q) => (float y) {
          y = Add (p, q)
       }> (a, b)
    }
    """
    with pytest.raises(ExecutionError, match="number of iterations"):
        run(text, f32(1, 2, 3), f32(1, 2))


#: Scan-8 takes a batch of sequences, each with its own length.
BATCHED = """
m (int64[b] lengths, float[b] x, float[b,n] xs) => (float[b] last, float[b,n] ys) {
   last, ys = Scan <num_scan_inputs = 1, directions = [DIR], body = step (float s, float e) =>
      (float s2, float y) {
      s2 = Add (s, e)
      y = Identity (s2)
   }> (LENGTHS, x, xs)
}
"""


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("lengths", [(4, 4), (2, 3), (1, 4), (0, 2)])
def test_batches_with_lengths(direction: int, lengths: tuple[int, int]) -> None:
    text = BATCHED.replace("DIR", str(direction)).replace("LENGTHS", "lengths")
    xs = np.arange(1, 9, dtype=np.float32).reshape(2, 4)
    start = f32(100, 200)
    last, ys = run(text, np.array(lengths, np.int64), start, xs, opset=8)
    for item, length in enumerate(lengths):
        elements = xs[item, :length][:: -1 if direction else 1]
        sums = start[item] + np.cumsum(elements)
        np.testing.assert_array_equal(last[item], sums[-1] if length else start[item])
        np.testing.assert_array_equal(ys[item], [*sums, *[0] * (4 - length)])


def test_batches_without_lengths() -> None:
    text = BATCHED.replace("DIR", "0").replace("LENGTHS", "")
    xs = np.arange(1, 9, dtype=np.float32).reshape(2, 4)
    last, ys = run(text, np.zeros(2, np.int64), f32(0, 0), xs, opset=8)
    np.testing.assert_array_equal(last, [10, 26])
    np.testing.assert_array_equal(ys, np.cumsum(xs, axis=1))


def test_lengths_that_do_not_fit_are_refused() -> None:
    text = BATCHED.replace("DIR", "0").replace("LENGTHS", "lengths")
    with pytest.raises(ExecutionError, match="each batch item needs one sequence length"):
        run(text, np.array([5, 1]), f32(0, 0), np.zeros((2, 4), np.float32), opset=8)


BRANCH = """
m (COND c, float[2] x, float[3] y) => (float[?] out) {
   out = If (c) <then_branch = a () => (float[?] t) { t = Add (x, x) },
                 else_branch = b () => (float[?] e) { e = Mul (y, y) }>
}
"""


@pytest.mark.parametrize("shape", [(), (1,)])
def test_branches_may_return_different_shapes(shape: tuple[int, ...]) -> None:
    text = BRANCH.replace("COND", "bool[1]" if shape else "bool")
    x, y = f32(1, 2), f32(1, 2, 3)
    np.testing.assert_array_equal(run(text, np.full(shape, True), x, y)[0], [2, 4])
    np.testing.assert_array_equal(run(text, np.full(shape, False), x, y)[0], [1, 4, 9])


def test_the_other_branch_does_not_run() -> None:
    text = """
    m (bool c, float[3] x, int64 at) => (float out) {
       out = If (c) <then_branch = a () => (float t) { t = Gather <axis = 0> (x, at) },
                     else_branch = b () => (float e) { e = Constant <value_float = -1.0> () }>
    }
    """
    assert float(run(text, FALSE, f32(1, 2, 3), i64(99))[0]) == -1
    with pytest.raises(ExecutionError, match="'out/then/t'"):
        run(text, TRUE, f32(1, 2, 3), i64(99))


def test_a_branch_inside_a_loop_with_early_end() -> None:
    text = """
    m (int64 trip, float x) => (float last, float[?] all) {
       last, all = Loop (trip, , x)
          <body = step (int64 i, bool c, float s) => (bool go, float s2, float part) {
          two = Constant <value_int = 2> ()
          zero = Constant <value_int = 0> ()
          rest = Mod (i, two)
          even = Equal (rest, zero)
          s2 = If (even) <then_branch = a () =>
             (float t) { one = Constant <value_float = 1.0> () t = Add (s, one) },
                          else_branch = b () => (float e) { e = Add (s, s) }>
          bound = Constant <value_float = 20.0> ()
          go = Less (s2, bound)
          part = Identity (s2)
       }>
    }
    """
    last, parts = run(text, i64(100), np.float32(0))
    # The values are 1, 2, 3, 6, 7, 14, 15, 30.
    np.testing.assert_array_equal(parts, [1, 2, 3, 6, 7, 14, 15, 30])
    assert float(last) == 30


def test_invariant_operations_run_once() -> None:
    text = """
    m (int64 trip, float[2,2] a, float[2,2] x) => (float[2,2] last) {
       last = Loop (trip, , x)
          <body = step (int64 i, bool c, float[2,2] s) => (bool c, float[2,2] s2) {
          [once] p = MatMul (a, a)
          [always] s2 = Add (s, p)
       }>
    }
    """
    model = reader.from_proto(
        onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 16]>' + text)
    )
    seen: list[tuple[str, tuple[int, ...]]] = []
    inputs = [i64(3), np.eye(2, dtype=np.float32), np.zeros((2, 2), np.float32)]
    hoisted = Session(model).run(
        inputs, trace=lambda event: seen.append((event.node.name, event.iterations))
    )
    assert [item for item in seen if item[0] == "once"] == [("once", (0,))]
    assert [item[1] for item in seen if item[0] == "always"] == [(0,), (1,), (2,)]
    seen.clear()
    plain = Session(model, hoist=False).run(
        inputs, trace=lambda event: seen.append((event.node.name, event.iterations))
    )
    assert [item[1] for item in seen if item[0] == "once"] == [(0,), (1,), (2,)]
    np.testing.assert_array_equal(hoisted["last"], 3 * np.eye(2))
    np.testing.assert_array_equal(plain["last"], 3 * np.eye(2))


def test_a_hoisted_operation_that_would_fail_does_not_run_in_zero_iterations() -> None:
    text = """
    m (int64 trip, float[3] x, int64 at) => (float[?] all) {
       all = Loop (trip, ) <body = step (int64 i, bool c) => (bool c, float part) {
          part = Gather <axis = 0> (x, at)
       }>
    }
    """
    (found,) = run(text, i64(0), f32(1, 2, 3), i64(99))
    assert found.shape == (0,)
    with pytest.raises(ExecutionError, match="iteration 0"):
        run(text, i64(2), f32(1, 2, 3), i64(99))


def test_an_expansion_in_a_loop_is_refused_before_it_is_computed() -> None:
    text = """
    m (int64 trip, int64[1] base) => (float[?] last) {
       start = Constant <value_floats = [0.0]> ()
       last = Loop (trip, , start)
          <body = step (int64 i, bool c, float[n] s) => (bool c, float[k] s2) {
          ten = Constant <value_ints = [10]> ()
          n = Unsqueeze (i, zero)
          size = Pow (ten, n)
          one = Constant <value_floats = [1.0]> ()
          zero = Constant <value_ints = [0]> ()
          s2 = Expand (one, size)
       }>
    }
    """
    with pytest.raises(LimitError, match=r"Expand.*iteration 6.*memory limit"):
        run(text, i64(20), np.array([1]), limits=Limits(max_memory=3_000_000))
