"""Cases of ONNX Loop: states, scan outputs, captured values."""

from __future__ import annotations

from irloop.conformance.cases.loop import CARRIED, SOURCE
from irloop.faults.case import Case, empty, onnx_text, run

__all__ = ["CASES"]

STATES = "Loop: states"
SCANS = "Loop: scan outputs"
CAPTURES = "Loop: values of the enclosing scope"

JOINED = (
    "Each scan_output is created by concatenating the value of the specified output value at the "
    "end of each iteration of the loop."
)
SCOPE = "Values from the enclosing scope are in scope and can be referenced in the loop body."
ORDER = "The input/output of subgraph matching is based on order instead of name."

CASES = (
    Case(
        "loop_states_exchanged",
        STATES,
        SOURCE,
        CARRIED,
        onnx_text("""
g (int64 n, float[2] x, float[2] y) => (float[2] p, float[2] q) {
  p, q = Loop <body = b (int64 i, bool c, float[2] a, float[2] e)
    => (bool d, float[2] r, float[2] s) {
    d = Identity (c)  r = Identity (e)  s = Identity (a)
  }> (n, "", x, y)
}"""),
        (
            run([3, [1, 2], [3, 4]], [[3, 4], [1, 2]]),
            run([2, [1, 2], [3, 4]], [[1, 2], [3, 4]]),
            run([0, [1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ),
    ),
    Case(
        "loop_states_rotate",
        STATES,
        SOURCE,
        CARRIED,
        onnx_text("""
g (int64 n, float x, float y, float z) => (float p, float q, float s) {
  p, q, s = Loop <body = b (int64 i, bool c, float u, float v, float w)
      => (bool d, float k, float l, float m) {
    d = Identity (c)  k = Identity (v)  l = Identity (w)  m = Add (u, u)
  }> (n, "", x, y, z)
}"""),
        (run([3, 1, 2, 3], [2, 4, 6]), run([1, 1, 2, 3], [2, 3, 2])),
    ),
    Case(
        "loop_state_passed_on",
        STATES,
        SOURCE,
        CARRIED,
        onnx_text("""
g (int64 n, float[2] x, float[2] y) => (float[2] p, float[2] q) {
  p, q = Loop <body = b (int64 i, bool c, float[2] a, float[2] e)
    => (bool d, float[2] a, float[2] s) {
    d = Identity (c)  s = Add (a, e)
  }> (n, "", x, y)
}"""),
        (run([3, [1, 2], [0, 0]], [[1, 2], [3, 6]]), run([0, [1, 2], [5, 5]], [[1, 2], [5, 5]])),
    ),
    Case(
        "loop_one_value_for_two_states",
        STATES,
        SOURCE,
        CARRIED,
        onnx_text("""
g (int64 n, float[2] x, float[2] y) => (float[2] p, float[2] q) {
  p, q = Loop <body = b (int64 i, bool c, float[2] a, float[2] e)
    => (bool d, float[2] r, float[2] r) {
    d = Identity (c)  r = Add (a, e)
  }> (n, "", x, y)
}"""),
        (
            run([1, [1, 2], [3, 4]], [[4, 6], [4, 6]]),
            run([3, [1, 2], [3, 4]], [[16, 24], [16, 24]]),
            run([0, [1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ),
    ),
    Case(
        "loop_state_grows",
        STATES,
        SOURCE,
        CARRIED,
        onnx_text("""
g (int64 n, float[k] x) => (float[m] y) {
  y = Loop <body = b (int64 i, bool c, float[p] a) => (bool d, float[q] r) {
    d = Identity (c)  one = Constant <value_floats = [1.0]> ()  e = Add (a, one)
    r = Concat <axis = 0> (e, one)
  }> (n, "", x)
}"""),
        (
            run([3, [5]], [[8, 3, 2, 1]]),
            run([0, [5]], [[5]]),
            run([1, [5, 6]], [[6, 7, 1]]),
        ),
    ),
    Case(
        "loop_growing_state_is_not_read_outside",
        STATES,
        SOURCE,
        CARRIED,
        onnx_text("""
g (int64 n, float[2] x) => (float y) {
  zero = Constant <value_float = 0.0> ()
  grown, y = Loop <body = b (int64 i, bool c, float[p] a, float s)
    => (bool d, float[q] r, float t) {
    d = Identity (c)  one = Constant <value_floats = [1.0]> ()
    sum = ReduceSum <keepdims = 0> (a)  t = Add (s, sum)  r = Concat <axis = 0> (a, one)
  }> (n, "", x, zero)
}"""),
        (run([3, [1, 2]], [12]), run([0, [1, 2]], [0]), run([1, [1, 2]], [3])),
    ),
    Case(
        "loop_state_shrinks",
        STATES,
        SOURCE,
        CARRIED,
        onnx_text("""
g (int64 n, float[k] x) => (float[m] y) {
  y = Loop <body = b (int64 i, bool c, float[p] a) => (bool d, float[q] r) {
    d = Identity (c)  from = Constant <value_ints = [1]> ()  to = Constant <value_ints = [99]> ()
    r = Slice (a, from, to)
  }> (n, "", x)
}"""),
        (run([2, [1, 2, 3, 4]], [[3, 4]]), run([0, [1, 2]], [[1, 2]])),
    ),
    Case(
        "loop_state_of_bool",
        STATES,
        SOURCE,
        CARRIED,
        onnx_text("""
g (int64 n, bool[2] x) => (bool[2] y, bool[k, 2] z) {
  y, z = Loop <body = b (int64 i, bool c, bool[2] a) => (bool d, bool[2] r, bool[2] s) {
    d = Identity (c)  r = Not (a)  s = Identity (a)
  }> (n, "", x)
}"""),
        (
            run([3, [True, False]], [[False, True], [[1, 0], [0, 1], [1, 0]]]),
            run([2, [True, False]], [[True, False], [[1, 0], [0, 1]]]),
        ),
    ),
    Case(
        "loop_state_of_int64",
        STATES,
        SOURCE,
        CARRIED,
        onnx_text("""
g (int64 n, int64 x, int64 y) => (int64 p, int64 q) {
  p, q = Loop <body = b (int64 i, bool c, int64 a, int64 e) => (bool d, int64 r, int64 s) {
    d = Identity (c)  r = Identity (e)  s = Add (a, e)
  }> (n, "", x, y)
}"""),
        (run([10, 0, 1], [55, 89]), run([1, 0, 1], [1, 1]), run([0, 0, 1], [0, 1])),
    ),
    Case(
        "loop_matches_by_order",
        STATES,
        SOURCE,
        ORDER,
        onnx_text("""
g (int64 n, float x, float y) => (float p, float q) {
  p, q = Loop <body = b (int64 i, bool c, float q_in, float p_in)
    => (bool d, float q_out, float p_out) {
    d = Identity (c)  q_out = Add (q_in, q_in)  p_out = Neg (p_in)
  }> (n, "", x, y)
}"""),
        (run([3, 1, 7], [8, -7]),),
    ),
    Case(
        "loop_scan_of_the_state_before",
        SCANS,
        SOURCE,
        JOINED,
        onnx_text("""
g (int64 n, float[2] x) => (float[2] y, float[k, 2] z) {
  y, z = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r, float[2] s) {
    d = Identity (c)  r = Add (a, a)  s = Identity (a)
  }> (n, "", x)
}"""),
        (run([3, [1, 2]], [[8, 16], [[1, 2], [2, 4], [4, 8]]]),),
    ),
    Case(
        "loop_body_returns_its_own_state_as_scan_output",
        SCANS,
        SOURCE,
        JOINED,
        onnx_text("""
g (int64 n, float[2] x) => (float[2] y, float[k, 2] z) {
  y, z = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r, float[2] a) {
    d = Identity (c)  r = Add (a, a)
  }> (n, "", x)
}"""),
        (run([3, [1, 2]], [[8, 16], [[1, 2], [2, 4], [4, 8]]]),),
    ),
    Case(
        "loop_body_returns_a_value_as_state_and_scan_output",
        SCANS,
        SOURCE,
        JOINED,
        onnx_text("""
g (int64 n, float[2] x) => (float[2] y, float[k, 2] z) {
  y, z = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r, float[2] r) {
    d = Identity (c)  r = Add (a, a)
  }> (n, "", x)
}"""),
        (run([3, [1, 2]], [[8, 16], [[2, 4], [4, 8], [8, 16]]]),),
    ),
    Case(
        "loop_scan_output_of_rank_3",
        SCANS,
        SOURCE,
        JOINED,
        onnx_text("""
g (int64 n, float[1, 2] x) => (float[1, 2] y, float[k, 1, 2] z) {
  y, z = Loop <body = b (int64 i, bool c, float[1, 2] a) => (bool d, float[1, 2] r, float[1, 2] s) {
    d = Identity (c)  r = Add (a, a)  s = Neg (a)
  }> (n, "", x)
}"""),
        (
            run([2, [[1, 2]]], [[[4, 8]], [[[-1, -2]], [[-2, -4]]]]),
            run([0, [[1, 2]]], [[[1, 2]], empty(0, 1, 2)]),
        ),
    ),
    Case(
        "loop_scan_outputs_without_states",
        SCANS,
        SOURCE,
        JOINED,
        onnx_text("""
g (int64 n, float[2] x) => (float[k, 2] z) {
  z = Loop <body = b (int64 i, bool c) => (bool d, float[2] s) {
    d = Identity (c)  f = Cast <to = 1> (i)  s = Mul (x, f)
  }> (n, "")
}"""),
        (run([3, [1, 2]], [[[0, 0], [1, 2], [2, 4]]]), run([0, [1, 2]], [empty(0, 2)])),
    ),
    Case(
        "loop_scan_output_length_by_early_stop",
        SCANS,
        SOURCE,
        JOINED,
        onnx_text("""
g (int64 n, float[2] x, int64 last) => (float[k, 2] z) {
  true = Constant <value = bool {1}> ()
  y, z = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r, float[2] s) {
    d = Less (i, last)  r = Add (a, a)  s = Neg (a)
  }> (n, true, x)
}"""),
        (
            run([5, [1, 2], 1], [[[-1, -2], [-2, -4]]]),
            run([5, [1, 2], 9], [[[-1, -2], [-2, -4], [-4, -8], [-8, -16], [-16, -32]]]),
            run([5, [1, 2], 0], [[[-1, -2]]]),
            run([0, [1, 2], 9], [empty(0, 2)]),
        ),
    ),
    Case(
        "loop_reads_outer_values",
        CAPTURES,
        SOURCE,
        SCOPE,
        onnx_text("""
g (int64 n, float[2] x, float[2] w) => (float[2] y) {
  twice = Add (w, w)
  y = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r) {
    d = Identity (c)  r = Add (a, twice)
  }> (n, "", x)
}"""),
        (run([3, [0, 0], [1, 2]], [[6, 12]]), run([1, [1, 1], [1, 2]], [[3, 5]])),
    ),
    Case(
        "loop_gathers_from_an_outer_value",
        CAPTURES,
        SOURCE,
        SCOPE,
        onnx_text("""
g (int64 n, float[4] x) => (float[k] z) {
  z = Loop <body = b (int64 i, bool c) => (bool d, float s) {
    d = Identity (c)  e = Gather (x, i)  s = Mul (e, e)
  }> (n, "")
}"""),
        (run([3, [1, 2, 3, 4]], [[1, 4, 9]]), run([4, [2, 2, 2, 3]], [[4, 4, 4, 9]])),
    ),
    Case(
        "loop_softmax_of_an_outer_value",
        CAPTURES,
        SOURCE,
        SCOPE,
        onnx_text("""
g (int64 n, float[1, 2] x) => (float[1, 2] y) {
  zero = Sub (x, x)
  y = Loop <body = b (int64 i, bool c, float[1, 2] a) => (bool d, float[1, 2] r) {
    d = Identity (c)  s = Softmax <axis = 1> (x)  r = Add (a, s)
  }> (n, "", zero)
}"""),
        # softmax of (ln 3, 0) is (3/4, 1/4)
        (
            run([2, [[1.0986122886681098, 0]]], [[[1.5, 0.5]]]),
            run([4, [[0, 0]]], [[[2, 2]]]),
        ),
    ),
)
