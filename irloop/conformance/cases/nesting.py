"""Cases of Loops, Scans and branches that are nested in each other's bodies."""

from __future__ import annotations

from irloop.faults.case import Case, empty, onnx_text, run

__all__ = ["CASES"]

FEATURE = "Nesting"
LOOP = "ONNX Loop-16"
SCOPE = (
    "Values from the enclosing scope are in scope and can be referenced in the inputs of the loop."
)
JOINED = (
    "Each scan_output is created by concatenating the value of the specified output value at the "
    "end of each iteration of the loop."
)

CASES = (
    Case(
        "loop_in_loop",
        FEATURE,
        LOOP,
        JOINED,
        onnx_text("""
g (int64 n, int64 m, float x) => (float y, float[k, j] z) {
  y, z = Loop <body = b (int64 i, bool c, float a) => (bool d, float r, float[j] s) {
    d = Identity (c)
    r, s = Loop <body = p (int64 l, bool e, float h) => (bool f, float o, float q) {
      f = Identity (e)  o = Add (h, h)  q = Neg (h)
    }> (m, "", a)
  }> (n, "", x)
}"""),
        (
            run([2, 2, 1], [16, [[-1, -2], [-4, -8]]]),
            run([1, 3, 1], [8, [[-1, -2, -4]]]),
            run([2, 1, 3], [12, [[-3], [-6]]]),
        ),
    ),
    Case(
        "loop_in_loop_whose_count_is_the_outer_number",
        FEATURE,
        LOOP,
        SCOPE,
        onnx_text("""
g (int64 n, float x) => (float y, float[k] z) {
  y, z = Loop <body = b (int64 i, bool c, float a) => (bool d, float r, float t) {
    d = Identity (c)
    r, s = Loop <body = p (int64 l, bool e, float h) => (bool f, float o, float q) {
      one = Constant <value_float = 1.0> ()
      f = Identity (e)  o = Add (h, one)  q = Identity (o)
    }> (i, "", a)
    t = ReduceSum <keepdims = 0> (s)
  }> (n, "", x)
}"""),
        # inner counts 0, 1, 2: y = 10, 11, 13; sums of the scans 0, 11, 12 + 13
        (run([3, 10], [13, [0, 11, 25]]), run([1, 10], [10, [0]]), run([0, 10], [10, empty(0)])),
    ),
    Case(
        "loop_in_loop_that_stops_early",
        FEATURE,
        LOOP,
        JOINED,
        onnx_text("""
g (int64 n, float x, float limit) => (float y, int64[k] z) {
  true = Constant <value = bool {1}> ()
  y, z = Loop <body = b (int64 i, bool c, float a) => (bool d, float r, int64 t) {
    d = Identity (c)
    start = Less (a, limit)
    r, s = Loop <body = p (int64 l, bool e, float h) => (bool f, float o, float q) {
      o = Add (h, h)  f = Less (o, limit)  q = Neg (h)
    }> ("", start, a)
    shape = Shape (s)  zero = Constant <value_int = 0> ()  t = Gather (shape, zero)
  }> (n, true, x)
}"""),
        # first 1 -> 2 -> 4 -> 8 (3 iterations), afterwards the condition is false at once
        (run([3, 1, 5], [8, [3, 0, 0]]), run([2, 4, 5], [8, [1, 0]]), run([1, 9, 5], [9, [0]])),
    ),
    Case(
        "scan_in_loop",
        FEATURE,
        LOOP,
        SCOPE,
        onnx_text("""
g (int64 n, float h, float[3] x) => (float y, float[k, 3] z) {
  y, z = Loop <body = b (int64 i, bool c, float a) => (bool d, float r, float[3] s) {
    d = Identity (c)
    r, s = Scan <num_scan_inputs = 1, body = p (float u, float e) => (float v, float w) {
      v = Add (u, e)  w = Neg (v)
    }> (a, x)
  }> (n, "", h)
}"""),
        (
            run([2, 0, [1, 2, 3]], [12, [[-1, -3, -6], [-7, -9, -12]]]),
            run([0, 5, [1, 2, 3]], [5, empty(0, 3)]),
        ),
    ),
    Case(
        "loop_in_scan",
        FEATURE,
        LOOP,
        SCOPE,
        onnx_text("""
g (int64 n, float h, float[3] x) => (float y, float[3, k] z) {
  y, z = Scan <num_scan_inputs = 1, body = p (float u, float e) => (float v, float[k] w) {
    v, w = Loop <body = b (int64 i, bool c, float a) => (bool d, float r, float s) {
      d = Identity (c)  r = Add (a, e)  s = Neg (r)
    }> (n, "", u)
  }> (h, x)
}"""),
        (
            run([2, 0, [1, 2, 3]], [12, [[-1, -2], [-4, -6], [-9, -12]]]),
            run([1, 1, [1, 2, 3]], [7, [[-2], [-4], [-7]]]),
        ),
    ),
    Case(
        "if_in_loop",
        FEATURE,
        LOOP,
        SCOPE,
        onnx_text("""
g (int64 n, float x, float limit) => (float y, float[k] z) {
  y, z = Loop <body = b (int64 i, bool c, float a) => (bool d, float r, float s) {
    d = Identity (c)
    small = Less (a, limit)
    r = If (small) <then_branch = t () => (float p) { p = Add (a, a) },
                    else_branch = e ()
                      => (float q) { one = Constant <value_float = 1.0> ()  q = Sub (a, one) }>
    s = Neg (r)
  }> (n, "", x)
}"""),
        (run([4, 1, 3], [2, [-2, -4, -3, -2]]), run([0, 1, 3], [1, empty(0)])),
    ),
    Case(
        "loop_in_if",
        FEATURE,
        LOOP,
        SCOPE,
        onnx_text("""
g (bool c, int64 n, float x) => (float y, float[k] z) {
  y, z = If (c) <
    then_branch = t () => (float a, float[p] b) {
      a, b = Loop <body = l (int64 i, bool f, float u) => (bool d, float v, float w) {
        d = Identity (f)  v = Add (u, u)  w = Neg (u)
      }> (n, "", x)
    },
    else_branch = e () => (float g, float[q] h) {
      g = Neg (x)  h = Constant <value_floats = [9.0]> ()
    }>
}"""),
        (
            run([True, 3, 1], [8, [-1, -2, -4]]),
            run([False, 3, 1], [-1, [9]]),
            run([True, 1, 5], [10, [-5]]),
            run([True, 0, 5], [5, empty(0)]),
        ),
    ),
    Case(
        "three_loops_deep",
        FEATURE,
        LOOP,
        SCOPE,
        onnx_text("""
g (int64 n, float x) => (float y) {
  y = Loop <body = b (int64 i, bool c, float a) => (bool d, float r) {
    d = Identity (c)
    r = Loop <body = p (int64 j, bool e, float h) => (bool f, float o) {
      f = Identity (e)
      o = Loop <body = q (int64 k, bool u, float v) => (bool w, float s) {
        w = Identity (u)  ij = Add (i, j)  ijk = Add (ij, k)
        t = Cast <to = 1> (ijk)  s = Add (v, t)
      }> (n, "", h)
    }> (n, "", a)
  }> (n, "", x)
}"""),
        # the sum of i + j + k over all of 0..1: 12
        (run([2, 0], [12]), run([1, 3], [3]), run([0, 3], [3])),
    ),
)
