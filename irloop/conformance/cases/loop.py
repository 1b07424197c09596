"""Cases of ONNX Loop: trip count and condition, zero iterations."""

from __future__ import annotations

from irloop.faults.case import Case, empty, onnx_text, run

__all__ = ["CASES"]

MODES = "Loop: trip count and condition"
ZERO = "Loop: no iteration"

SOURCE = "ONNX Loop-16"
FOR = (
    'input (trip_count, "") is analogous to a for loop: for (int i=0; i < trip_count; ++i) { ... }'
)
WHILE = 'input ("", cond) is analogous to a while loop: for (int i=0; cond; ++i) { cond = ...; }'
BOTH = "input (trip_count, cond): for (int i=0; i < trip_count && cond; ++i) { cond = ...; }"
FIRST = "cond determines whether to run the first iteration"
CARRIED = (
    "The loop operation node supplies the input value of the input variable for the first "
    "iteration, and returns the output value of the output variable produced by the final "
    "iteration."
)


CASES = (
    Case(
        "loop_for",
        MODES,
        SOURCE,
        FOR,
        onnx_text("""
g (int64 n, float[2] x) => (float[2] y, float[k, 2] z) {
  y, z = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r, float[2] s) {
    d = Identity (c)  r = Add (a, a)  s = Neg (a)
  }> (n, "", x)
}"""),
        (
            run([3, [1, -2]], [[8, -16], [[-1, 2], [-2, 4], [-4, 8]]]),
            run([1, [1, -2]], [[2, -4], [[-1, 2]]]),
            run([2, [5, 0]], [[20, 0], [[-5, 0], [-10, 0]]]),
        ),
    ),
    Case(
        "loop_for_constant_count",
        MODES,
        SOURCE,
        "A static trip count can be specified by passing in a constant node for input M.",
        onnx_text("""
g (float[2] x) => (float[2] y, float[3, 2] z) {
  n = Constant <value_int = 3> ()
  y, z = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r, float[2] s) {
    d = Identity (c)  r = Add (a, a)  s = Neg (a)
  }> (n, "", x)
}"""),
        (run([[1, -2]], [[8, -16], [[-1, 2], [-2, 4], [-4, 8]]]),),
    ),
    Case(
        "loop_while",
        MODES,
        SOURCE,
        WHILE,
        onnx_text("""
g (bool go, float x, float limit) => (float y) {
  y = Loop <body = b (int64 i, bool c, float a) => (bool d, float r) {
    r = Add (a, a)  d = Less (r, limit)
  }> ("", go, x)
}"""),
        (run([True, 1, 5], [8]), run([True, 3, 100], [192]), run([True, 9, 5], [18])),
    ),
    Case(
        "loop_do_while",
        MODES,
        SOURCE,
        'input ("", 1) is analogous to a do-while loop: bool cond = true; '
        "for (int i=0; cond; ++i) { cond = ...; }",
        onnx_text("""
g (float x, float limit) => (float y) {
  true = Constant <value = bool {1}> ()
  y = Loop <body = b (int64 i, bool c, float a) => (bool d, float r) {
    r = Add (a, a)  d = Less (r, limit)
  }> ("", true, x)
}"""),
        (run([9, 5], [18]), run([1, 5], [8])),
    ),
    Case(
        "loop_count_and_condition",
        MODES,
        SOURCE,
        BOTH,
        onnx_text("""
g (int64 n, bool go, float x, float limit) => (float y, float[k] z) {
  y, z = Loop <body = b (int64 i, bool c, float a) => (bool d, float r, float s) {
    r = Add (a, a)  d = Less (r, limit)  s = Identity (r)
  }> (n, go, x)
}"""),
        (
            run([5, True, 1, 100], [32, [2, 4, 8, 16, 32]]),
            run([5, True, 1, 5], [8, [2, 4, 8]]),
            run([2, True, 1, 100], [4, [2, 4]]),
        ),
    ),
    Case(
        "loop_condition_input_true_body_false",
        MODES,
        SOURCE,
        BOTH,
        onnx_text("""
g (int64 n, bool go, float x) => (float y) {
  y = Loop <body = b (int64 i, bool c, float a) => (bool d, float r) {
    r = Add (a, a)  d = Constant <value = bool {0}> ()
  }> (n, go, x)
}"""),
        (run([5, True, 1], [2]), run([5, False, 1], [1]), run([0, True, 1], [1])),
    ),
    Case(
        "loop_largest_count_ended_by_condition",
        MODES,
        SOURCE,
        BOTH,
        onnx_text("""
g (float x, float limit) => (float y, float[k] z) {
  n = Constant <value_int = 9223372036854775807> ()
  true = Constant <value = bool {1}> ()
  y, z = Loop <body = b (int64 i, bool c, float a) => (bool d, float r, float s) {
    r = Add (a, a)  d = Less (r, limit)  s = Neg (r)
  }> (n, true, x)
}"""),
        (run([1, 5], [8, [-2, -4, -8]]), run([9, 5], [18, [-18]])),
    ),
    Case(
        "loop_condition_of_another_state",
        MODES,
        SOURCE,
        BOTH,
        onnx_text("""
g (int64 n, bool go, bool flag, float x) => (bool f, float y) {
  f, y = Loop <body = b (int64 i, bool c, bool s, float a) => (bool d, bool t, float r) {
    r = Add (a, a)  t = Not (s)  d = Identity (t)
  }> (n, go, flag, x)
}"""),
        (run([5, True, True, 1], [False, 2]), run([5, True, False, 1], [False, 4])),
    ),
    Case(
        "loop_reads_its_condition",
        MODES,
        SOURCE,
        "The body has 2+N inputs: (iteration_num, condition, loop carried dependencies...).",
        onnx_text("""
g (int64 n, bool go, float x) => (float y) {
  y = Loop <body = b (int64 i, bool c, float a) => (bool d, float r) {
    d = Identity (c)  f = Cast <to = 1> (c)  r = Add (a, f)
  }> (n, go, x)
}"""),
        (run([4, True, 1], [5]), run([4, False, 1], [1])),
    ),
    Case(
        "loop_iteration_number",
        MODES,
        SOURCE,
        "The body has 2+N inputs: (iteration_num, condition, loop carried dependencies...).",
        onnx_text("""
g (int64 n, float x) => (float y, int64[k] z) {
  y, z = Loop <body = b (int64 i, bool c, float a) => (bool d, float r, int64 s) {
    d = Identity (c)  f = Cast <to = 1> (i)  r = Add (a, f)  s = Add (i, i)
  }> (n, "", x)
}"""),
        (run([4, 1], [7, [0, 2, 4, 6]]), run([1, 1], [1, [0]])),
    ),
    Case(
        "loop_count_zero",
        ZERO,
        SOURCE,
        FOR,
        onnx_text("""
g (int64 n, float[2] x) => (float[2] y, float[k, 2] z) {
  y, z = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r, float[2] s) {
    d = Identity (c)  r = Add (a, a)  s = Neg (a)
  }> (n, "", x)
}"""),
        (
            run([0, [1, 2]], [[1, 2], empty(0, 2)]),
            run([2, [1, 2]], [[4, 8], [[-1, -2], [-2, -4]]]),
            run([0, [3, 4]], [[3, 4], empty(0, 2)]),
        ),
    ),
    Case(
        "loop_count_negative",
        ZERO,
        SOURCE,
        FOR,
        onnx_text("""
g (int64 n, float[2] x) => (float[2] y) {
  y = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r) {
    d = Identity (c)  r = Add (a, a)
  }> (n, "", x)
}"""),
        (run([-1, [1, 2]], [[1, 2]]), run([1, [1, 2]], [[2, 4]])),
    ),
    Case(
        "loop_condition_false_at_first",
        ZERO,
        SOURCE,
        FIRST,
        onnx_text("""
g (bool go, float[2] x) => (float[2] y, float[k, 2] z) {
  y, z = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r, float[2] s) {
    one = Constant <value_int = 1> ()  d = Less (i, one)  r = Add (a, a)  s = Neg (a)
  }> ("", go, x)
}"""),
        (
            run([True, [1, 2]], [[4, 8], [[-1, -2], [-2, -4]]]),
            run([False, [1, 2]], [[1, 2], empty(0, 2)]),
            run([True, [1, 1]], [[4, 4], [[-1, -1], [-2, -2]]]),
        ),
    ),
    Case(
        "loop_unread_state_without_iteration",
        ZERO,
        SOURCE,
        CARRIED,
        onnx_text("""
g (int64 n, float[k] x) => (float[k] y) {
  y = Loop <body = b (int64 i, bool c, float[k] a) => (bool d, float[k] r) {
    d = Identity (c)  r = Neg (x)
  }> (n, "", x)
}"""),
        (
            run([0, [1, 2, 3]], [[1, 2, 3]]),
            run([2, [1, 2, 3]], [[-1, -2, -3]]),
            run([0, [4, 5]], [[4, 5]]),
        ),
    ),
    Case(
        "loop_constant_count_zero",
        ZERO,
        SOURCE,
        FOR,
        onnx_text("""
g (float[2] x) => (float[2] y, float[k, 2] z) {
  n = Constant <value_int = 0> ()
  y, z = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r, float[2] s) {
    d = Identity (c)  r = Add (a, a)  s = Neg (a)
  }> (n, "", x)
}"""),
        (run([[1, 2]], [[1, 2], empty(0, 2)]),),
    ),
    Case(
        "loop_constant_condition_false",
        ZERO,
        SOURCE,
        FIRST,
        onnx_text("""
g (float[2] x) => (float[2] y, float[k, 2] z) {
  n = Constant <value_int = 4> ()
  false = Constant <value = bool {0}> ()
  y, z = Loop <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] r, float[2] s) {
    d = Identity (c)  r = Add (a, a)  s = Neg (a)
  }> (n, false, x)
}"""),
        (run([[1, 2]], [[1, 2], empty(0, 2)]),),
    ),
)
