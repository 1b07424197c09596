"""Cases of ONNX If: either branch, captured values, shared results, different shapes."""

from __future__ import annotations

from irloop.faults.case import Case, onnx_text, run

__all__ = ["CASES"]

FEATURE = "If"
SOURCE = "ONNX If-16"
CHOICE = (
    "then_branch: Graph to run if condition is true. "
    "else_branch: Graph to run if condition is false."
)
SHAPES = (
    "The then_branch and else_branch may produce tensors with the same element type and different "
    "shapes."
)
ONE = "The tensor must contain a single element."

CASES = (
    Case(
        "if_chooses",
        FEATURE,
        SOURCE,
        CHOICE,
        onnx_text("""
g (bool c, float[2] x) => (float[2] y) {
  y = If (c) <then_branch = t () => (float[2] a) { a = Add (x, x) },
              else_branch = e () => (float[2] b) { b = Neg (x) }>
}"""),
        (
            run([True, [1, 2]], [[2, 4]]),
            run([False, [1, 2]], [[-1, -2]]),
            run([True, [3, 4]], [[6, 8]]),
        ),
    ),
    Case(
        "if_returns_outer_values_through_identity",
        FEATURE,
        SOURCE,
        CHOICE,
        onnx_text("""
g (bool c, float[2] x, float[2] w) => (float[2] y, float[2] z) {
  y, z = If (c) <then_branch = t ()
    => (float[2] a, float[2] b) { a = Identity (x)  b = Identity (w) },
                 else_branch = e ()
                   => (float[2] k, float[2] l) { k = Identity (w)  l = Identity (x) }>
}"""),
        (
            run([True, [1, 2], [3, 4]], [[1, 2], [3, 4]]),
            run([False, [1, 2], [3, 4]], [[3, 4], [1, 2]]),
        ),
    ),
    Case(
        "if_shapes_differ",
        FEATURE,
        SOURCE,
        SHAPES,
        onnx_text("""
g (bool c, float[2] x) => (float[n] y) {
  y = If (c) <then_branch = t () => (float[2] a) { a = Neg (x) },
              else_branch = e () => (float[4] b) { b = Concat <axis = 0> (x, x) }>
}"""),
        (run([True, [1, 2]], [[-1, -2]]), run([False, [1, 2]], [[1, 2, 1, 2]])),
    ),
    Case(
        "if_condition_of_one_element",
        FEATURE,
        SOURCE,
        ONE,
        onnx_text("""
g (bool[1] c, float[2] x) => (float[2] y) {
  y = If (c) <then_branch = t () => (float[2] a) { a = Add (x, x) },
              else_branch = e () => (float[2] b) { b = Neg (x) }>
}"""),
        (run([[True], [1, 2]], [[2, 4]]), run([[False], [1, 2]], [[-1, -2]])),
    ),
    Case(
        "if_computed_condition",
        FEATURE,
        SOURCE,
        CHOICE,
        onnx_text("""
g (float[3] x) => (float y) {
  sum = ReduceSum <keepdims = 0> (x)
  zero = Constant <value_float = 0.0> ()
  c = Greater (sum, zero)
  y = If (c) <then_branch = t () => (float a) { a = Identity (sum) },
              else_branch = e () => (float b) { b = Neg (sum) }>
}"""),
        (run([[1, 2, 3]], [6]), run([[-1, -2, 1]], [2]), run([[0, 0, 0]], [0])),
    ),
    Case(
        "if_in_if",
        FEATURE,
        SOURCE,
        CHOICE,
        onnx_text("""
g (bool c, bool d, float[2] x) => (float[2] y) {
  y = If (c) <
    then_branch = t () => (float[2] a) {
      a = If (d) <then_branch = p () => (float[2] k) { k = Add (x, x) },
                  else_branch = q () => (float[2] l) { l = Mul (x, x) }>
    },
    else_branch = e () => (float[2] b) { b = Neg (x) }>
}"""),
        (
            run([True, True, [1, 3]], [[2, 6]]),
            run([True, False, [1, 3]], [[1, 9]]),
            run([False, True, [1, 3]], [[-1, -3]]),
        ),
    ),
    Case(
        "if_without_any_input",
        FEATURE,
        SOURCE,
        CHOICE,
        onnx_text("""
g (bool c) => (int64[2] y) {
  y = If (c) <then_branch = t () => (int64[2] a) { a = Constant <value_ints = [1, 2]> () },
              else_branch = e () => (int64[2] b) { b = Constant <value_ints = [3, 4]> () }>
}"""),
        (run([True], [[1, 2]]), run([False], [[3, 4]])),
    ),
)
