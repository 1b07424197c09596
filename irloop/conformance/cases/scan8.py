"""Cases of ONNX Scan in opset 8: batches and sequence lengths."""

from __future__ import annotations

from irloop.faults.case import Case, onnx_text, run

__all__ = ["CASES"]

FEATURE = "Scan-8: batches, lengths, directions"
SOURCE = "ONNX Scan-8"
BATCH = (
    "The operation supports batching, and the batch-axis is required to be 0. The sequence axis or "
    "scan axis is required to be 1."
)
LENGTHS = "N = (sequence_lengths specified) ? sequence_lengths[batch] : max_sequence_length;"
DIRECTIONS = "directions: 0 indicates forward direction and 1 indicates reverse direction."

BODY = "b (float[1] a, float[1] e) => (float[1] r, float[1] s) { r = Add (a, e)  s = Neg (r) }"

CASES = (
    Case(
        "scan8_batch",
        FEATURE,
        SOURCE,
        BATCH,
        onnx_text(
            f"""
g (float[2, 1] h, float[2, 3, 1] x) => (float[2, 1] y, float[2, 3, 1] z) {{
  y, z = Scan <num_scan_inputs: int = 1, body = {BODY}> ("", h, x)
}}""",
            8,
        ),
        (
            run(
                [[[0], [10]], [[[1], [2], [3]], [[4], [5], [6]]]],
                [[[6], [25]], [[[-1], [-3], [-6]], [[-14], [-19], [-25]]]],
            ),
        ),
    ),
    Case(
        "scan8_lengths",
        FEATURE,
        SOURCE,
        LENGTHS,
        onnx_text(
            f"""
g (int64[2] lens, float[2, 1] h, float[2, 3, 1] x) => (float[2, 1] y) {{
  y, z = Scan <num_scan_inputs: int = 1, body = {BODY}> (lens, h, x)
}}""",
            8,
        ),
        (
            run([[2, 3], [[0], [0]], [[[1], [2], [3]], [[4], [5], [6]]]], [[[3], [15]]]),
            run([[3, 1], [[0], [0]], [[[1], [2], [3]], [[4], [5], [6]]]], [[[6], [4]]]),
        ),
    ),
    Case(
        "scan8_reversed",
        FEATURE,
        SOURCE,
        DIRECTIONS,
        onnx_text(
            """
g (float[2, 1] h, float[2, 3, 1] x) => (float[2, 1] y, float[2, 3, 1] z) {
  y, z = Scan <num_scan_inputs: int = 1, directions: ints = [1],
    body = b (float[1] a, float[1] e) => (float[1] r, float[1] s) {
      t = Add (a, a)  r = Add (t, e)  s = Neg (r)
    }> ("", h, x)
}""",
            8,
        ),
        (
            run(
                [[[0], [0]], [[[1], [2], [3]], [[0], [0], [1]]]],
                [[[17], [4]], [[[-3], [-8], [-17]], [[-1], [-2], [-4]]]],
            ),
        ),
    ),
)
