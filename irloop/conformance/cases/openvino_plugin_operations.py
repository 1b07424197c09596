"""Cases of operations that OpenVINO's CPU plugin refuses, computes wrongly or crashes on."""

from __future__ import annotations

from irloop.conformance.case import Case, empty, run
from irloop.conformance.cases.openvino_faults import FEATURE
from irloop.conformance.ir import IrModel
from irloop.dialects.openvino.activation import ReLU, SoftMax8
from irloop.dialects.openvino.comparison import (
    BitwiseRightShift,
    Equal,
    Greater,
    IsNaN,
    Less,
    Select,
)
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.convolution import Convolution
from irloop.dialects.openvino.elementwise import (
    Abs,
    Add,
    Divide,
    Exp,
    FloorMod,
    Maximum,
    Mod,
    Multiply,
    Negative,
    Power,
    Subtract,
)
from irloop.dialects.openvino.gather import Gather8
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.normalization import LRN
from irloop.dialects.openvino.recurrent import RNNSequence
from irloop.dialects.openvino.reduction import ReduceMax, ReduceSum
from irloop.dialects.openvino.scatter import ScatterElementsUpdate
from irloop.dialects.openvino.search import Unique
from irloop.dialects.openvino.shape import Broadcast3, ShapeOf3
from irloop.dialects.openvino.slicing import Concat
from irloop.graph.model import Model
from irloop.graph.types import ElementType

__all__ = ["CASES"]

I64, BOOLEAN, F32 = ElementType.I64, ElementType.BOOLEAN, ElementType.F32
I8, I32, U32 = ElementType.I8, ElementType.I32, ElementType.U32
F64, F8 = ElementType.F64, ElementType.F8E4M3


def _broadcast_of_nothing() -> Model:
    m = IrModel()
    sizes = m(ShapeOf3(I64), m.input("x", element=I64))
    return m.done(m(Broadcast3(mode="bidirectional"), sizes, m.constant([2, 1], I64)))


def _abs_of_known_values() -> Model:
    m = IrModel()
    sizes = m(ShapeOf3(), m.input("x", None, 2))
    table, zero = m.constant([[3, -4], [-1, 2]], I64), m.constant(0, I64)
    row = m(Gather8(), table, zero, zero)
    return m.done(
        m(Abs(), m(Subtract(), sizes, m.constant([3], I64))),
        m(Abs(), m(Multiply(), row, m.constant([1, 1], I64))),
    )


def _exp_of_nan() -> Model:
    m = IrModel()
    allowed, x = m.input("allowed", None, element=BOOLEAN), m.input("x", None)
    kept = m(Select(), allowed, x, m.constant(float("-inf"), F32))
    return m.done(m(IsNaN(), m(Exp(), m(SoftMax8(0), kept))))


def _integer_division() -> Model:
    m = IrModel()
    x, axis = m.input("x", None, 2, element=I64), m.constant([1], I64)
    total, largest = m(ReduceSum(), x, axis), m(ReduceMax(), x, axis)
    four, forty = m.constant(4, I64), m.constant(40, I64)
    return m.done(m(Divide(), total, four), m(Divide(), forty, largest))


def _large_integers() -> Model:
    m = IrModel()
    x, y = m.input("x", None, element=I32), m.input("y", None, element=I32)
    return m.done(m(FloorMod(), x, y), m(Mod(), x, y), m(Divide(m_pythondiv=False), x, y))


def _choice_of_large_integers() -> Model:
    m = IrModel()
    x = m.input("x", None, element=I32)
    positive = m(Greater(), m.input("condition", None), m.constant(0.0))
    return m.done(m(Select(), positive, x, m.constant(5, I32)))


def _comparison_of_large_integers() -> Model:
    m = IrModel()
    x, y = m.input("x", None, element=I32), m.input("y", None, element=I32)
    return m.done(m(Equal(), x, y), m(Less(), x, y))


def _reduction_of_large_integers() -> Model:
    m = IrModel()
    x, axis = m.input("x", None, element=I32), m.constant([0], I64)
    return m.done(m(ReduceSum(), x, axis), m(ReduceMax(), x, axis))


def _arithmetic_of_large_integers() -> Model:
    m = IrModel()
    x = m.input("x", None, element=I32)
    return m.done(m(ReLU(), x), m(Power(), x, m.constant(2, I32)))


def _unsigned_integers() -> Model:
    m = IrModel()
    x = m.input("x", None, element=U32)
    shifted = m(BitwiseRightShift(), x, m.constant(4, U32))
    return m.done(shifted, m(Add(), x, m.constant(2**31, U32)))


def _size_in_a_narrow_type() -> Model:
    m = IrModel()
    x = m.input("x", None)
    flag = m(Convert(I64), m(Convert(BOOLEAN), m(ShapeOf3(), x)))
    return m.done(m(Broadcast3(), m.constant(2.0), flag))


def _size_in_a_signed_type() -> Model:
    m = IrModel()
    size = m(Convert(I64), m(Convert(I8), m(ShapeOf3(), m.input("x", None))))
    return m.done(m(Broadcast3(), m.constant(2.0), size))


def _eight_bits() -> Model:
    m = IrModel()
    small = m(Convert(F8), m.input("x", 2))
    return m.done(m(Convert(F32), m(Maximum(), small, small)))


def _one_element() -> Model:
    m = IrModel()
    part = m(Gather8(), m.input("x", 3), m.constant(1, I64), m.constant(0, I64))
    return m.done(m(Add(), part, m.constant([2])))


def _double_sums() -> Model:
    m = IrModel()
    first = m(Add(), m.constant([1], F64), m.constant([2], F64))
    second = m(Add(), first, m.constant([3], F64))
    return m.done(m(Add(), m.input("x", 1), m(Convert(F32), second)))


def _convert_without_effect() -> Model:
    m = IrModel()
    x, y = m.input("x", None), m.input("y", None)
    return m.done(m(Convert(F32), x), m(Abs(), y))


def _concat_of_one() -> Model:
    m = IrModel()
    x = m.input("x", None)
    same = m(Concat(0), x)
    return m.done(same, m(Abs(), same), m(Negative(), same))


def _rank_3() -> Model:
    m = IrModel()
    x = m.input("x", 2, 2, 2)
    total = m(ReduceSum(keep_dims=False), x, m.constant([2], I64))
    first = m(ReduceSum(keep_dims=True), x, m.constant([0], I64))
    return m.done(
        m(Add(), total, m.constant([[10, 20]])), m(Add(), first, m.constant([[[10], [20]]]))
    )


def _abs_of_a_concat() -> Model:
    m = IrModel()
    x = m.input("x", 1)
    both = m(Concat(axis=0), x, x)
    return m.done(both, m(Abs(), both))


def _computed_scale() -> Model:
    m = IrModel()
    x, scale = m.input("x", 1, 2), m.input("scale", 2, 1)
    weights = m(Convert(F32), m.constant([[1, 2], [3, 4]], ElementType.U8))
    return m.done(m(MatMul(transpose_b=True), x, m(Multiply(), weights, scale)))


def _scaled_product_with_a_vector() -> Model:
    m = IrModel()
    product = m(MatMul(), m.input("x", 2, 1, 2), m.constant([1, 2]))
    return m.done(m(Multiply(), product, m.constant(10)))


def _padded_convolution() -> Model:
    m = IrModel()
    op = Convolution(strides=(2,), pads_begin=(1,), pads_end=(1,), dilations=(1,))
    return m.done(m(op, m(Abs(), m.input("x", 1, 1, 3)), m.constant([[[2]]])))


def _sequence_of_an_empty_batch() -> Model:
    m = IrModel()
    x, h, weight = m.input("x", None, 2, 1), m.input("h", None, 1, 1), m.input("w", 1, 1, 1)
    items = m(Gather8(), m(ShapeOf3(I64), x), m.constant([0], I64), m.constant(0, I64))
    lengths = m(Broadcast3(), m.constant(2, I64), items)
    bias = m.constant([[0]])
    op = RNNSequence(hidden_size=1, activations=("relu",))
    node = m.builder.emit(op, x, h, lengths, weight, weight, bias, n_outputs=2)
    return m.done(*node.outputs)


def _scatter_of_broadcast_indices() -> Model:
    m = IrModel()
    x, updates = m.input("x", None), m.input("updates", None)
    indices = m(Broadcast3(), m.constant(1, I64), m(ShapeOf3(I64), updates))
    return m.done(m(ScatterElementsUpdate(), x, indices, updates, m.constant(0, I64)))


def _fractional_bias() -> Model:
    m = IrModel()
    x = m.input("x", 1, 1, 1, 2)
    return m.done(m(LRN(alpha=0.0, beta=2.0, bias=0.5, size=1), x, m.constant([1], I64)))


def _unsorted_unique() -> Model:
    m = IrModel()
    node = m.builder.emit(Unique(sorted=False), m.input("x", None), n_outputs=4)
    return m.done(node.outputs[0], node.outputs[3])


CASES = (
    Case(
        "broadcast_of_nothing",
        FEATURE,
        "OpenVINO Broadcast-3",
        "bidirectional: the output has the sizes that both shapes broadcast to; 0 and 1 give 0.",
        _broadcast_of_nothing,
        (run([1], [empty(2, 0)]),),
    ),
    Case(
        "eight_bit_maximum",
        FEATURE,
        "OpenVINO Maximum-1",
        "T: any numeric type; an 8-bit float is one.",
        _eight_bits,
        (run([[1, -2]], [[1, -2]]),),
    ),
    Case(
        "one_element_constant",
        FEATURE,
        "OpenVINO Add-1",
        "numpy broadcasting: the output has the larger of both ranks.",
        _one_element,
        (run([[1, 2, 3]], [[4]]),),
    ),
    Case(
        "reduction_of_rank_3",
        FEATURE,
        "OpenVINO Add-1",
        "The sum of both operands, element by element, whatever computes the first.",
        _rank_3,
        (
            run(
                [[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]],
                [[[13, 27], [21, 35]], [[[16, 18], [30, 32]]]],
            ),
        ),
    ),
    Case(
        "sums_of_double_constants",
        FEATURE,
        "OpenVINO Add-1",
        "The sum of the operands, whatever they are computed from.",
        _double_sums,
        (run([[1]], [[7]]),),
    ),
    Case(
        "convert_without_effect",
        FEATURE,
        "OpenVINO Convert-1",
        "An input in the type that it has already is the output as it is.",
        _convert_without_effect,
        (run([[1, 2], [-3]], [[1, 2], [3]]), run([[4], [-5]], [[4], [5]])),
    ),
    Case(
        "concat_of_one",
        FEATURE,
        "OpenVINO Concat-1",
        "One input or more; of one input the output is that input.",
        _concat_of_one,
        (run([[1, -2, 3]], [[1, -2, 3], [1, 2, 3], [-1, 2, -3]]),),
    ),
    Case(
        "integer_division_of_a_reduction",
        FEATURE,
        "OpenVINO Divide-1",
        "The quotient of integers is an integer, whatever computes the operands.",
        _integer_division,
        (
            run([[[1, 5], [8, 8], [3, 4]]], [[1, 4, 1], [8, 5, 10]]),
            run([[[10, 1]]], [[2], [4]]),
        ),
    ),
    Case(
        "division_of_large_integers",
        FEATURE,
        "OpenVINO FloorMod-1",
        "The remainder of a division of integers; Mod has the sign of x, FloorMod that of y.",
        _large_integers,
        (
            run([[7, -7], [3, 3]], [[1, 2], [1, -1], [2, -2]]),
            # 875362016 = 125626 * 6968 + 48
            run(
                [[875362016, -875362016], [6968, 6968]],
                [[48, 6920], [48, -48], [125626, -125626]],
            ),
        ),
    ),
    Case(
        "choice_of_large_integers",
        FEATURE,
        "OpenVINO Select-1",
        "Each element of the first choice where the condition is true, else of the second one.",
        _choice_of_large_integers,
        (
            run([[1, 2], [1.0, -1.0]], [[1, 5]]),
            run([[16777217, -2147483647], [1.0, 2.0]], [[16777217, -2147483647]]),
        ),
    ),
    Case(
        "comparison_of_large_integers",
        FEATURE,
        "OpenVINO Equal-1",
        "Whether two elements are equal, and whether the first one is less.",
        _comparison_of_large_integers,
        (
            run([[1, 2], [2, 2]], [[False, True], [True, False]]),
            run(
                [[16777216, -2147483648], [16777217, -2147483647]],
                [[False, False], [True, True]],
            ),
        ),
    ),
    Case(
        "reduction_of_large_integers",
        FEATURE,
        "OpenVINO ReduceSum-1",
        "The sum and the maximum of a list.",
        _reduction_of_large_integers,
        (
            run([[1, 2]], [3, 2]),
            run([[16777217, -16777215, 5]], [7, 16777217]),
        ),
    ),
    Case(
        "arithmetic_of_large_integers",
        FEATURE,
        "OpenVINO ReLU-1",
        "The larger one of each element and 0, and the square of each element.",
        _arithmetic_of_large_integers,
        (
            run([[3, -2]], [[3, 0], [9, 4]]),
            # 4097 * 4097 = 16785409
            run([[4097, -4097]], [[4097, 0], [16785409, 16785409]]),
        ),
    ),
    Case(
        "unsigned_integers_from_2_31_on",
        FEATURE,
        "OpenVINO BitwiseRightShift-15",
        "Each element shifted right by 4 bits, and the sum of each element and 2^31.",
        _unsigned_integers,
        (
            run([[32, 7]], [[2, 0], [2147483680, 2147483655]]),
            # 2^31 + 16 over 16 is 2^27 + 1, and the sum wraps.
            run([[2147483664, 7]], [[134217729, 0], [16, 2147483655]]),
        ),
    ),
    Case(
        "openvino_exp_of_nan",
        FEATURE,
        "OpenVINO Exp-1",
        "The exponential of each element; that of NaN is NaN.",
        _exp_of_nan,
        (
            run([[True, False], [7, 8]], [[False, False]]),
            # The sum of no probabilities is 0, and 0 / 0 is NaN.
            run([[False, False], [7, 8]], [[True, True]]),
        ),
    ),
    Case(
        "openvino_abs_of_known_values",
        FEATURE,
        "OpenVINO Abs-1",
        "The absolute value of each element, whatever it is computed from.",
        _abs_of_known_values,
        (run([[[1, 2]]], [[2, 1], [3, 4]]), run([[[1, 2]] * 5], [[2, 1], [3, 4]])),
    ),
    Case(
        "openvino_size_in_a_narrow_type",
        FEATURE,
        "OpenVINO Convert-1",
        "The element of the input in another type: 0 is false, other numbers are true.",
        _size_in_a_narrow_type,
        (run([[7, 8, 9]], [[2]]), run([[5]], [[2]])),
    ),
    Case(
        "openvino_size_in_a_signed_type",
        FEATURE,
        "OpenVINO Convert-1",
        "The element of the input in another type.",
        _size_in_a_signed_type,
        (run([[7, 8, 9]], [[2, 2, 2]]), run([[5]], [[2]])),
    ),
    Case(
        "abs_of_a_concat",
        FEATURE,
        "OpenVINO Concat-1",
        "The output has the elements of all inputs in turn, whatever reads it.",
        _abs_of_a_concat,
        (run([[-3]], [[-3, -3], [3, 3]]), run([[-4]], [[-4, -4], [4, 4]])),
    ),
    Case(
        "weights_with_a_computed_scale",
        FEATURE,
        "OpenVINO Multiply-1",
        "The operands are multiplied elementwise in each inference.",
        _computed_scale,
        (
            # [1 * 1 + 1 * 2, (1 * 3 + 1 * 4) * 2], then with other scales.
            run([[[1, 1]], [[1], [2]]], [[[3, 14]]]),
            run([[[1, 1]], [[3], [-1]]], [[[9, -7]]]),
            run([[[1, 0]], [[5], [2]]], [[[5, 6]]]),
        ),
    ),
    Case(
        "scaled_product_with_a_vector",
        FEATURE,
        "OpenVINO MatMul-1",
        "1D second operand is unsqueezed to 2D by adding an axis of size 1 to the right.",
        _scaled_product_with_a_vector,
        (run([[[[1, 2]], [[3, 4]]]], [[[50], [110]]]),),
    ),
    Case(
        "padded_convolution_of_single_places",
        FEATURE,
        "OpenVINO Convolution-1",
        "Strides skip places of the padded data, whatever computes the data.",
        _padded_convolution,
        # The padded data are [0, 1, 2, 3, 0].
        (run([[[[1, -2, -3]]]], [[[[0, 4, 0]]]]),),
    ),
    Case(
        "openvino_sequence_of_an_empty_batch",
        FEATURE,
        "OpenVINO RNNSequence-5",
        "X has the shape [batch_size, seq_length, input_size]; a batch may have no items.",
        _sequence_of_an_empty_batch,
        (
            # h1 = 3 + 1, h2 = 4 + 2.
            run([[[[1], [2]]], [[[3]]], [[[1]]]], [[[[[4], [6]]]], [[[6]]]]),
            run([empty(0, 2, 1), empty(0, 1, 1), [[[1]]]], [empty(0, 1, 2, 1), empty(0, 1, 1)]),
        ),
    ),
    Case(
        "scatter_of_broadcast_indices",
        FEATURE,
        "OpenVINO ScatterElementsUpdate-3",
        "indices: the places along the axis, whatever computes them.",
        _scatter_of_broadcast_indices,
        (run([[1, 2, 3], [7]], [[1, 7, 3]]), run([[4, 5], [6]], [[4, 6]])),
    ),
    Case(
        "lrn_with_a_fractional_bias",
        FEATURE,
        "OpenVINO LRN-1",
        "bias represents the offset, of type float.",
        _fractional_bias,
        # Divided by 0.5 ^ 2.
        (run([[[[[1, -3]]]]], [[[[[4, -12]]]]]),),
    ),
    Case(
        "unsorted_unique_without_inverse",
        FEATURE,
        "OpenVINO Unique-10",
        "sorted=false: the distinct elements have the order in which they occur.",
        _unsorted_unique,
        (run([[5, 7, 5, 6, 6]], [[5, 7, 6], [2, 1, 2]]), run([[3, 3]], [[3], [2]])),
    ),
)
