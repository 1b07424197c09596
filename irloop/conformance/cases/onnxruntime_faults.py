"""Cases of valid ONNX models without loops that ONNX Runtime computes wrongly or crashes on."""

from __future__ import annotations

from irloop.conformance.case import Case, empty, run
from irloop.conformance.cases.loop import onnx

__all__ = ["CASES"]

FEATURE = "ONNX: empty tensors, omitted inputs"

CASES = (
    Case(
        "transposed_matrix_times_vector",
        "ONNX: products",
        "ONNX MatMul-13",
        "Matrix product that behaves like numpy.matmul.",
        onnx("""
g (float[2, 2] a, float[2] b) => (float[2] y) {
  t = Transpose <perm = [1, 0]> (a)
  y = MatMul (t, b)
}"""),
        # The columns of a are [1, 3] and [2, 4].
        (run([[[1, 2], [3, 4]], [1, 10]], [[31, 42]]),),
    ),
    Case(
        "float_weights_between_quantised_data",
        "ONNX: products",
        "ONNX Gemm-13",
        "Y = alpha * A' * B' + beta * C: the weights are numbers in f32, which nothing quantises.",
        onnx("""
g (float[1, 2] x) => (float[1, 1] y)
<float one = {1.0}, uint8 zero = {0}, float[2, 1] w = {0.4, 127.0}> {
  q = QuantizeLinear (x, one, zero)
  d = DequantizeLinear (q, one, zero)
  h = Gemm (d, w)
  r = QuantizeLinear (h, one, zero)
  y = DequantizeLinear (r, one, zero)
}"""),
        # 10 * 0.4. In steps of 127 / 255, 0.4 would be 0.498.
        (run([[[10, 0]]], [[[4]]]),),
    ),
    Case(
        "integer_reciprocal_times_a_value",
        "ONNX: products",
        "ONNX Div-14",
        "Integer division truncates: the quotient of 1 and 2 is 0.",
        onnx("""
g (int64[3] x, int64[3] y) => (int64[3] z) <int64 one = {1}> {
  r = Div (one, x)
  z = Mul (r, y)
}"""),
        (run([[2, 1, -1], [6, 7, 8]], [[0, 7, -8]]),),
    ),
    Case(
        "layer_normalization_of_two_types",
        "ONNX: products",
        "ONNX Cast-13",
        "The operator casts the elements to the data type specified by `to`.",
        onnx("""
g (float16[1, 2] x, float[2] scale, float[2] bias) => (float[1, 2] y)
<float two = {2.0}, float small = {0.0000001}> {
  wide = Cast <to = 1> (x)
  mean = ReduceMean <axes = [-1]> (wide)
  centred = Sub (wide, mean)
  squares = Pow (centred, two)
  variance = ReduceMean <axes = [-1]> (squares)
  more = Add (variance, small)
  deviation = Sqrt (more)
  unit = Div (centred, deviation)
  scaled = Mul (unit, scale)
  y = Add (scaled, bias)
}"""),
        # [2, 6] has the mean 4 and the deviation 2: in f32, the small number does not change it.
        (run([[[2, 6]], [3, 5], [10, 20]], [[[7, 25]]]),),
    ),
    Case(
        "gru_of_an_empty_batch",
        FEATURE,
        "ONNX GRU-14",
        "X: the input sequences packed into one tensor of shape [seq_length, batch_size, "
        "input_size].",
        onnx("""
g (float[2, n, 1] x, float[1, 3, 1] w, float[1, 3, 1] r) => (float[2, 1, n, 1] y) {
  y = GRU <hidden_size = 1> (x, w, r)
}"""),
        (run([empty(2, 0, 1), [[[1], [1], [1]]], [[[1], [1], [1]]]], [empty(2, 1, 0, 1)]),),
    ),
    Case(
        "unique_of_empty_rows",
        FEATURE,
        "ONNX Unique-11",
        "the unique subtensors sliced along the axis: two rows without elements are equal.",
        onnx("""
g (float[2, n] x) => (float[m, n] y) { y = Unique <axis = 0> (x) }"""),
        (
            run([[[1, 2], [1, 2]]], [[[1, 2]]]),
            run([empty(2, 0)], [empty(1, 0)]),
        ),
    ),
    Case(
        "gather_of_rows_of_strings",
        FEATURE,
        "ONNX Gather-13",
        "Gather entries of the axis dimension of data indexed by indices.",
        onnx("""
g (string[n, 2] x, int64[m] i) => (string[m, 2] y) { y = Gather <axis = 0> (x, i) }"""),
        (run([[["a", "b"], ["c", "d"]], [1, 0]], [[["c", "d"], ["a", "b"]]]),),
    ),
    Case(
        "einsum_of_an_empty_batch",
        FEATURE,
        "ONNX Einsum-12",
        "The sum of products of the operands over all labels that the result does not have.",
        onnx("""
g (float[n, 2, 2, 1] x, float[n, 2, 2, 1] w) => (float[n, 2, 2, 2] y) {
  y = Einsum <equation = "bihd,bjhd->bhij"> (x, w)
}"""),
        (
            # Result (h, i, j) is the product of x (i, h) and w (j, h).
            run(
                [[[[[1], [2]], [[3], [4]]]], [[[[1], [0]], [[2], [1]]]]],
                [[[[[1, 2], [3, 6]], [[0, 2], [0, 4]]]]],
            ),
            run([empty(0, 2, 2, 1), empty(0, 2, 2, 1)], [empty(0, 2, 2, 2)]),
        ),
    ),
    Case(
        "contrib_attention_without_bias",
        FEATURE,
        "ONNX Runtime's schema of com.microsoft.Attention",
        "bias (optional): bias tensor for the input projection.",
        """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
g (float[1, 1, 1] x, float[1, 3] w) => (float[1, 1, 1] y) {
  y = com.microsoft.Attention <num_heads = 1> (x, w)
}""",
        # With only one position, attention returns its value, 2 * 5.
        (run([[[[2]]], [[3, 4, 5]]], [[[[10]]]]),),
    ),
)
