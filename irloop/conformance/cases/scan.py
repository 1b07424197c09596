"""Cases of ONNX Scan since opset 9: axes, directions, states, and results that share a value."""

from __future__ import annotations

from irloop.faults.case import Case, onnx_text, run

__all__ = ["CASES"]

PLAIN = "Scan: states and elements"
AXES = "Scan: axes"
DIRECTIONS = "Scan: directions"
RESULTS = "Scan: results of the body"

SOURCE = "ONNX Scan-16"
FINAL = (
    "The scan operation returns the final values of the state_variables as well as the "
    "scan_outputs."
)
RANK = (
    "The iterated element passed to the body subgraph does not have a sequence axis. It will have "
    "a rank one less than the rank of the corresponding scan_input."
)
JOINED = (
    "The scan_output of the operation is produced by concatenating the scan_output_element values "
    "produced by the body in each iteration."
)
INPUT_AXES = (
    "scan_input_axes specifies the axis to be scanned for each scan_input. Negative value for an "
    "axis means counting dimensions from the back."
)
OUTPUT_AXES = (
    "scan_output_axes specifies the axis for the i-th scan_output. The scan outputs are "
    "accumulated along the specified axis."
)
INPUT_DIRECTIONS = (
    "scan_input_directions: 0 indicates forward direction and 1 indicates reverse direction."
)
OUTPUT_DIRECTIONS = (
    "scan_output_directions: 0 indicates appending and 1 indicates prepending a new value in each "
    "iteration."
)
LENGTH = "sequence_length = scan_1.shape[axis_1]; for (int t = 0; t < sequence_length; ++t) { ... }"

SUM_BODY = "b (float[2] a, float[2] e) => (float[2] r, float[2] s) { r = Add (a, e)  s = Neg (r) }"

CASES = (
    Case(
        "scan_running_sum",
        PLAIN,
        SOURCE,
        FINAL,
        onnx_text(f"""
g (float[2] h, float[3, 2] x) => (float[2] y, float[3, 2] z) {{
  y, z = Scan <num_scan_inputs = 1, body = {SUM_BODY}> (h, x)
}}"""),
        (
            run([[0, 0], [[1, 2], [3, 4], [5, 6]]], [[9, 12], [[-1, -2], [-4, -6], [-9, -12]]]),
            run([[1, 1], [[1, 0], [0, 1], [0, 0]]], [[2, 2], [[-2, -1], [-2, -2], [-2, -2]]]),
        ),
    ),
    Case(
        "scan_length_by_the_input",
        PLAIN,
        SOURCE,
        LENGTH,
        onnx_text(f"""
g (float[2] h, float[n, 2] x) => (float[2] y, float[n, 2] z) {{
  y, z = Scan <num_scan_inputs = 1, body = {SUM_BODY}> (h, x)
}}"""),
        (
            run([[0, 0], [[1, 2], [3, 4]]], [[4, 6], [[-1, -2], [-4, -6]]]),
            run([[0, 0], [[1, 2]]], [[1, 2], [[-1, -2]]]),
            run([[5, 6], [[1, 2], [3, 4], [0, 0]]], [[9, 12], [[-6, -8], [-9, -12], [-9, -12]]]),
        ),
    ),
    Case(
        "scan_elements_are_scalars",
        PLAIN,
        SOURCE,
        RANK,
        onnx_text("""
g (float h, float[4] x) => (float y, float[4] z) {
  y, z = Scan <num_scan_inputs = 1, body = b (float a, float e) => (float r, float s) {
    r = Add (a, e)  s = Mul (r, e)
  }> (h, x)
}"""),
        (run([10, [1, 2, 3, 4]], [20, [11, 26, 48, 80]]),),
    ),
    Case(
        "scan_map_without_state",
        PLAIN,
        SOURCE,
        "It takes zero or more state_variables.",
        onnx_text("""
g (float[3, 2] x) => (float[3, 2] z) {
  z = Scan <num_scan_inputs = 1, body = b (float[2] e) => (float[2] s) { s = Mul (e, e) }> (x)
}"""),
        (run([[[1, 2], [3, 4], [5, 6]]], [[[1, 4], [9, 16], [25, 36]]]),),
    ),
    Case(
        "scan_zips_two_inputs",
        PLAIN,
        SOURCE,
        "When more than one scan_input is used, a behavior similar to zip is obtained.",
        onnx_text("""
g (float[3] x, float[3, 2] w) => (float[3, 2] z) {
  z = Scan <num_scan_inputs = 2, body = b (float e, float[2] f)
    => (float[2] s) { s = Mul (e, f) }> (x, w)
}"""),
        (run([[1, 2, 3], [[1, 2], [3, 4], [5, 6]]], [[[1, 2], [6, 8], [15, 18]]]),),
    ),
    Case(
        "scan_reads_outer_values",
        PLAIN,
        SOURCE,
        "Values of the enclosing graph are visible in the body.",
        onnx_text("""
g (float h, float[3] x, float w) => (float y) {
  y = Scan <num_scan_inputs = 1, body = b (float a, float e) => (float r) {
    p = Mul (e, w)  r = Add (a, p)
  }> (h, x)
}"""),
        (run([1, [1, 2, 3], 10], [61]), run([0, [1, 1, 1], 2], [6])),
    ),
    Case(
        "scan_input_axis_1",
        AXES,
        SOURCE,
        INPUT_AXES,
        onnx_text("""
g (float[2] h, float[2, 3] x) => (float[2] y, float[3, 2] z) {
  y, z = Scan <num_scan_inputs = 1, scan_input_axes = [1],
    body = b (float[2] a, float[2] e)
      => (float[2] r, float[2] s) { r = Add (a, e)  s = Neg (e) }> (h, x)
}"""),
        (run([[0, 0], [[1, 2, 3], [4, 5, 6]]], [[6, 15], [[-1, -4], [-2, -5], [-3, -6]]]),),
    ),
    Case(
        "scan_input_axis_negative",
        AXES,
        SOURCE,
        INPUT_AXES,
        onnx_text("""
g (float[2] h, float[2, 3] x) => (float[2] y) {
  y = Scan <num_scan_inputs = 1, scan_input_axes = [-1],
    body = b (float[2] a, float[2] e) => (float[2] r) { t = Add (a, a)  r = Add (t, e) }> (h, x)
}"""),
        # ((0*2 + 1)*2 + 2)*2 + 3 = 11
        (run([[0, 0], [[1, 2, 3], [4, 5, 6]]], [[11, 32]]),),
    ),
    Case(
        "scan_output_axis_1",
        AXES,
        SOURCE,
        OUTPUT_AXES,
        onnx_text("""
g (float[3, 2] x) => (float[2, 3] z) {
  z = Scan <num_scan_inputs = 1, scan_output_axes = [1],
    body = b (float[2] e) => (float[2] s) { s = Neg (e) }> (x)
}"""),
        (run([[[1, 2], [3, 4], [5, 6]]], [[[-1, -3, -5], [-2, -4, -6]]]),),
    ),
    Case(
        "scan_output_axis_negative",
        AXES,
        SOURCE,
        OUTPUT_AXES,
        onnx_text("""
g (float[2, 1, 2] x) => (float[1, 2, 2] y, float[1, 2, 2] z) {
  y, z = Scan <num_scan_inputs = 1, scan_output_axes = [-1, -2],
    body = b (float[1, 2] e) => (float[1, 2] s, float[1, 2] t) { s = Neg (e)  t = Add (e, e) }> (x)
}"""),
        (run([[[[1, 2]], [[3, 4]]]], [[[[-1, -3], [-2, -4]]], [[[2, 4], [6, 8]]]]),),
    ),
    Case(
        "scan_mixed_axes",
        AXES,
        SOURCE,
        INPUT_AXES,
        onnx_text("""
g (float[2, 3] x, float[3, 2] w) => (float[2, 3] z) {
  z = Scan <num_scan_inputs = 2, scan_input_axes = [1, 0], scan_output_axes = [1],
    body = b (float[2] e, float[2] f) => (float[2] s) { s = Sub (e, f) }> (x, w)
}"""),
        (
            run(
                [[[1, 2, 3], [4, 5, 6]], [[1, 1], [0, 0], [2, 3]]],
                [[[0, 2, 1], [3, 5, 3]]],
            ),
        ),
    ),
    Case(
        "scan_input_reversed",
        DIRECTIONS,
        SOURCE,
        INPUT_DIRECTIONS,
        onnx_text("""
g (float h, float[3] x) => (float y, float[3] z) {
  y, z = Scan <num_scan_inputs = 1, scan_input_directions = [1],
    body = b (float a, float e)
      => (float r, float s) { t = Add (a, a)  r = Add (t, e)  s = Neg (r) }> (h, x)
}"""),
        # 3; 3*2 + 2 = 8; 8*2 + 1 = 17
        (run([0, [1, 2, 3]], [17, [-3, -8, -17]]),),
    ),
    Case(
        "scan_output_prepended",
        DIRECTIONS,
        SOURCE,
        OUTPUT_DIRECTIONS,
        onnx_text("""
g (float h, float[3] x) => (float y, float[3] z) {
  y, z = Scan <num_scan_inputs = 1, scan_output_directions = [1],
    body = b (float a, float e) => (float r, float s) { r = Add (a, e)  s = Neg (r) }> (h, x)
}"""),
        (run([0, [1, 2, 3]], [6, [-6, -3, -1]]),),
    ),
    Case(
        "scan_both_reversed",
        DIRECTIONS,
        SOURCE,
        "A bidirectional scan may be performed by specifying the same tensor input twice in the "
        "scan_inputs, once with a forward direction, and once with a backward direction.",
        onnx_text("""
g (float[3] x) => (float[3] y, float[3] z) {
  y, z = Scan <num_scan_inputs = 2, scan_input_directions = [0, 1], scan_output_directions = [1, 0],
    body = b (float e, float f) => (float s, float t) { s = Add (e, e)  t = Sub (e, f) }> (x, x)
}"""),
        (run([[1, 2, 4]], [[8, 4, 2], [-3, 0, 3]]),),
    ),
    Case(
        "scan_reversed_along_axis_1",
        DIRECTIONS,
        SOURCE,
        INPUT_DIRECTIONS,
        onnx_text("""
g (float[2] h, float[2, 3] x) => (float[2] y, float[2, 3] z) {
  y, z = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [1],
    scan_output_axes = [1], scan_output_directions = [1],
    body = b (float[2] a, float[2] e)
      => (float[2] r, float[2] s) { r = Add (a, e)  s = Neg (r) }> (h, x)
}"""),
        (
            run(
                [[0, 0], [[1, 2, 3], [4, 5, 6]]],
                [[6, 15], [[-6, -5, -3], [-15, -11, -6]]],
            ),
        ),
    ),
    Case(
        "scan_body_returns_its_element",
        RESULTS,
        SOURCE,
        JOINED,
        onnx_text("""
g (float h, float[3] x) => (float y, float[3] z) {
  y, z = Scan <num_scan_inputs = 1,
    body = b (float a, float e) => (float r, float e) { r = Add (a, e) }> (h, x)
}"""),
        (run([0, [1, 2, 3]], [6, [1, 2, 3]]), run([1, [4, 0, 2]], [7, [4, 0, 2]])),
    ),
    Case(
        "scan_body_returns_its_state_as_scan_output",
        RESULTS,
        SOURCE,
        JOINED,
        onnx_text("""
g (float[2] h, float[3, 2] x) => (float[2] y, float[3, 2] z) {
  y, z = Scan <num_scan_inputs = 1,
    body = b (float[2] a, float[2] e) => (float[2] r, float[2] a) { r = Add (a, e) }> (h, x)
}"""),
        (run([[0, 1], [[1, 2], [3, 4], [5, 6]]], [[9, 13], [[0, 1], [1, 3], [4, 7]]]),),
    ),
    Case(
        "scan_body_returns_a_value_as_two_scan_outputs",
        RESULTS,
        SOURCE,
        JOINED,
        onnx_text("""
g (float[3, 2] x) => (float[3, 2] y, float[2, 3] z) {
  y, z = Scan <num_scan_inputs = 1, scan_output_axes = [0, 1],
    body = b (float[2] e) => (float[2] r, float[2] r) { r = Neg (e) }> (x)
}"""),
        (
            run(
                [[[1, 2], [3, 4], [5, 6]]],
                [[[-1, -2], [-3, -4], [-5, -6]], [[-1, -3, -5], [-2, -4, -6]]],
            ),
        ),
    ),
    Case(
        "scan_body_exchanges_two_states",
        RESULTS,
        SOURCE,
        FINAL,
        onnx_text("""
g (float[2] h, float[2] k, float[3, 2] x) => (float[2] y, float[2] z) {
  y, z = Scan <num_scan_inputs = 1,
    body = b (float[2] a, float[2] c, float[2] e)
      => (float[2] c, float[2] r) { r = Add (a, e) }> (h, k, x)
}"""),
        # The states exchange their values, and one of them adds the element: the first column goes
        # through 0 and 1, 1 and 1, 1 and 4, 4 and 6, the second through 5 and 6, 6 and 7, 7 and 10.
        (run([[0, 5], [1, 6], [[1, 2], [3, 4], [5, 6]]], [[4, 10], [6, 13]]),),
    ),
    Case(
        "scan_body_returns_a_constant",
        RESULTS,
        SOURCE,
        JOINED,
        onnx_text("""
g (float[3] x) => (float[3, 2] z) {
  z = Scan <num_scan_inputs = 1, body = b (float e) => (float[2] s) {
    s = Constant <value_floats = [1.0, 2.0]> ()
  }> (x)
}"""),
        (run([[7, 8, 9]], [[[1, 2], [1, 2], [1, 2]]]),),
    ),
)
