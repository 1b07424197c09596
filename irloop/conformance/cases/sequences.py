"""Cases of ONNX Loops that carry sequences of tensors."""

from __future__ import annotations

from irloop.conformance.cases.loop import CARRIED, SOURCE
from irloop.faults.case import Case, onnx_text, run

__all__ = ["CASES"]

FEATURE = "Sequences"

CASES = (
    Case(
        "loop_appends_to_a_sequence",
        FEATURE,
        SOURCE,
        CARRIED,
        onnx_text("""
g (int64 n, float[2] x) => (float[k, 2] y) {
  first = SequenceConstruct (x)
  all = Loop <body = b (int64 i, bool c, seq(float[2]) s) => (bool d, seq(float[2]) t) {
    d = Identity (c)  f = Cast <to = 1> (i)  e = Add (x, f)  t = SequenceInsert (s, e)
  }> (n, "", first)
  y = ConcatFromSequence <axis = 0, new_axis = 1> (all)
}"""),
        (
            run([2, [1, 2]], [[[1, 2], [1, 2], [2, 3]]]),
            run([0, [1, 2]], [[[1, 2]]]),
        ),
    ),
    Case(
        "loop_reads_the_last_item",
        FEATURE,
        SOURCE,
        CARRIED,
        onnx_text("""
g (int64 n, float[2] x) => (float[k, 2] y) {
  first = SequenceConstruct (x)
  all = Loop <body = b (int64 i, bool c, seq(float[2]) s) => (bool d, seq(float[2]) t) {
    d = Identity (c)  back = Constant <value_int = -1> ()  e = SequenceAt (s, back)
    two = Add (e, e)  t = SequenceInsert (s, two)
  }> (n, "", first)
  y = ConcatFromSequence <axis = 0, new_axis = 1> (all)
}"""),
        (run([2, [1, 2]], [[[1, 2], [2, 4], [4, 8]]]), run([1, [3, 0]], [[[3, 0], [6, 0]]])),
    ),
    Case(
        "loop_counts_a_sequence",
        FEATURE,
        SOURCE,
        CARRIED,
        onnx_text("""
g (int64 n, float[2] x) => (int64 y) {
  first = SequenceConstruct (x)
  all = Loop <body = b (int64 i, bool c, seq(float[2]) s) => (bool d, seq(float[2]) t) {
    d = Identity (c)  t = SequenceInsert (s, x)
  }> (n, "", first)
  y = SequenceLength (all)
}"""),
        (run([3, [1, 2]], [4]), run([0, [1, 2]], [1])),
    ),
)
