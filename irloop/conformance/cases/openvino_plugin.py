"""Cases of valid IR that OpenVINO's CPU plugin computes wrongly or refuses, or on which it
crashes.
"""

from __future__ import annotations

from irloop.conformance.case import Case, empty, run
from irloop.conformance.ir import IrModel
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.activation import SoftMax8
from irloop.dialects.openvino.comparison import Greater, IsNaN, LogicalNot, LogicalOr, Select
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
    Subtract,
)
from irloop.dialects.openvino.gather import Gather8
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.recurrent import RNNSequence
from irloop.dialects.openvino.reduction import ReduceMax, ReduceSum
from irloop.dialects.openvino.search import NonZero
from irloop.dialects.openvino.shape import Broadcast3, ShapeOf3, Unsqueeze
from irloop.dialects.openvino.slicing import Concat
from irloop.graph.builder import Builder
from irloop.graph.loops import Invariant, LastValue, PortMap
from irloop.graph.model import Body, Model, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType

__all__ = ["CASES", "FEATURE", "dropped_before_iteration"]

FEATURE = "IR: rare forms"

I64, BOOLEAN, F32 = ElementType.I64, ElementType.BOOLEAN, ElementType.F32
I8, I32 = ElementType.I8, ElementType.I32
F64, F8 = ElementType.F64, ElementType.F8E4M3


def _broadcast_of_nothing() -> Model:
    m = IrModel()
    sizes = m(ShapeOf3(I64), m.input("x", element=I64))
    return m.done(m(Broadcast3(mode="bidirectional"), sizes, m.constant([2, 1], I64)))


def _branch(label: str, outer: Builder, x: Value, op: Op, operands: int) -> Body:
    body = outer.nested(label)
    given = body.parameter("given", x.type)
    body.result(body(op, *[given] * operands), body.names.fresh("result"))
    return Body(label, body.graph, PortMap((Invariant(1, 0),), (LastValue(0, 0),)))


def _branch_is_an_output() -> Model:
    m = IrModel()
    c, x = m.input("c", element=BOOLEAN), m.input("x", None, element=BOOLEAN)
    k = m.input("k", 1, None, element=I64)
    bodies = (
        _branch("then", m.builder, x, LogicalOr(), 2),
        _branch("else", m.builder, x, LogicalNot(), 1),
    )
    node = m.builder.emit(ov.If(), c, x, n_outputs=1, bodies=bodies)
    return m.done(node.output, m(Add(), k, m.constant(1, I64)))


def _loop_is_an_output() -> Model:
    m = IrModel()
    v, n = m.input("v", 2), m.input("n", element=I64)
    loop = m.loop(n)
    state = loop.state(v)
    loop.carry(state, loop(Add(), state, loop.invariant(v)))
    row = loop(Unsqueeze(), loop(Negative(), state), loop.constant([0], I64))
    loop.joined(row, 0)
    (rows,) = loop.done()
    return m.done(rows, m(MatMul(transpose_a=True), rows, rows))


def _concat_of_one_output() -> Model:
    m = IrModel()
    loop = m.loop(m.input("n", element=I64))
    state = loop.state(m.input("x", 1, 2))
    loop.carry(state, loop(Negative(), state))
    loop.last_of(state)
    loop.joined(loop(Negative(), state), 0)
    last, joined = loop.done()
    return m.done(joined, m(Concat(1), last, last))


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


def _unchanged_twice() -> Model:
    m = IrModel()
    loop = m.loop(m.input("n", element=I64))
    state = loop.state(m.input("x", 2))
    loop.carry(state, state)
    loop.last(state)
    loop.last(state)
    loop.joined(loop(Add(), state, state), 0)
    return m.done(*loop.done())


def _unread_beside_shared() -> Model:
    m = IrModel()
    loop = m.loop(m.input("n", element=I64))
    state = loop.state(m.input("x", 2))
    double, negative = loop(Add(), state, state), loop(Negative(), state)
    loop.carry(state, negative)
    loop.joined(double, 0)
    loop.last(double)
    loop.last(negative)
    joined, _, last = loop.done()
    return m.done(joined, last)


def dropped_before_iteration(*, follows: bool = True) -> Model:
    """Make a Loop whose first body parameter is only passed to branches, which do not read it.

    This parameter comes before that of the iteration number. With `follows`, a parameter that
    receives an input of the model comes after that of the iteration number.
    """
    m = IrModel()
    loop = m.loop(m.input("n", element=I64))
    offset, state = loop.invariant(m.input("offset", element=I64)), loop.state(m.input("x", 2))
    number = loop.iteration()
    scale = loop.invariant(m.input("scale", element=I64)) if follows else loop.constant(10, I64)
    bodies = []
    for label, op in (("then", Negative()), ("else", Abs())):
        inner = loop.body.nested(label)
        inner.parameter("offset", offset.type)
        given = inner.parameter("given", state.type)
        inner.result(inner(op, given), inner.names.fresh("result"))
        ports = PortMap((Invariant(1, 0), Invariant(2, 1)), (LastValue(0, 0),))
        bodies.append(Body(label, inner.graph, ports))
    later = loop(Greater(), number, loop.constant(0, I64))
    node = loop.body.emit(ov.If(), later, offset, state, n_outputs=1, bodies=tuple(bodies))
    addend = loop(Convert(F32), loop(Multiply(), number, scale))
    loop.carry(state, loop(Add(), node.output, addend))
    loop.last_of(state)
    return m.done(*loop.done())


def _loop_reads_a_loop() -> Model:
    m = IrModel()
    x = m.input("x", None)
    first = m.loop(m.input("n", element=I64))
    state = first.state(x)
    first.carry(state, first(Add(), state, first.invariant(x)))
    first.last_of(state)
    second = m.loop(m.constant(1, I64))
    second.last(second(Negative(), second.invariant(*first.done())))
    return m.done(*second.done())


def _inner_loop_read_by_views() -> Model:
    m = IrModel()
    x = m.input("x", None, 2)
    outer = m.loop(m.input("n", element=I64))
    inner = m.inside(outer).loop(outer.constant(1, I64))
    inner.last(inner(Negative(), inner.invariant(outer.invariant(x))))
    (negative,) = inner.done()
    for axis in (1, 2):
        outer.joined(outer(Unsqueeze(), negative, outer.constant([axis], I64)), axis)
    return m.done(*outer.done())


def _choice_of_itself() -> Model:
    m = IrModel()
    loop = m.loop(m.constant(2, I64))
    state = loop.state(m.input("x", element=BOOLEAN))
    condition, then = loop.constant(True, BOOLEAN), loop.constant(True, BOOLEAN)
    loop.carry(state, loop(Select(), condition, then, state))
    loop.last_of(state)
    return m.done(*loop.done())


def _joins_after_an_empty_axis() -> Model:
    m = IrModel()
    loop = m.loop(m.input("n", element=I64))
    state = loop.state(m.input("x", None))
    double = loop(Add(), state, state)
    loop.carry(state, double)
    loop.joined(loop(Unsqueeze(), double, loop.constant([1], I64)), 1)
    return m.done(*loop.done())


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


def _size_from_constants() -> Model:
    m = IrModel()
    loop = m.tensor_iterator()
    part = loop.slice(m.constant([1, 0, 2]), 0)
    loop.joined(loop(Add(), part, part), 0)
    (doubled,) = loop.done()
    return m.done(m(NonZero(I64), doubled), m(Negative(), m.input("x", 1)))


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
        "openvino_if_is_an_output",
        FEATURE,
        "OpenVINO If-8",
        "The outputs of If are the results of the branch that ran.",
        _branch_is_an_output,
        (
            run(
                [True, [True, True, True, False], [[1, 2, 3, 4]]],
                [[True, True, True, False], [[2, 3, 4, 5]]],
            ),
            run([False, [True], [[1, 2]]], [[False], [[2, 3]]]),
        ),
    ),
    Case(
        "openvino_loop_is_an_output",
        FEATURE,
        "OpenVINO Loop-5",
        "Values of all iterations are concatenated; what follows the Loop reads the result.",
        _loop_is_an_output,
        # Rows -v and -2 v; the product of the rows with themselves is 5 v v'.
        tuple(
            run(
                [[a, b], 2],
                [[[-a, -b], [-2 * a, -2 * b]], [[5 * a * a, 5 * a * b], [5 * a * b, 5 * b * b]]],
            )
            for a, b in ((1, 2), (2, 5), (3, -1), (4, 7))
        ),
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
        "openvino_loop_unchanged_twice",
        FEATURE,
        "OpenVINO Loop-5",
        "Several outputs may return one result of the body.",
        _unchanged_twice,
        (run([2, [1, 2]], [[1, 2], [1, 2], [2, 4, 2, 4]]),),
    ),
    Case(
        "openvino_loop_unread_beside_shared",
        FEATURE,
        "OpenVINO Loop-5",
        "Several outputs may return one result of the body; an output needs no reader.",
        _unread_beside_shared,
        (
            run([2, [1, 2]], [[2, 4, -2, -4], [1, 2]]),
            run([3, [3, 5]], [[6, 10, -6, -10, 6, 10], [-3, -5]]),
        ),
    ),
    Case(
        "openvino_loop_dropped_before_iteration",
        FEATURE,
        "OpenVINO Loop-5",
        "The iteration number may be any parameter of the body, whatever the others are.",
        dropped_before_iteration,
        (
            # |x|, then -|x| + 10, then -(-|x| + 10) + 2 * 10.
            run([3, 7, [1, -2], 10], [[11, 12]]),
            run([0, 7, [4, -5], 10], [[4, -5]]),
            run([2, 7, [1, -2], 100], [[99, 98]]),
        ),
    ),
    Case(
        "openvino_loop_reads_a_loop",
        FEATURE,
        "OpenVINO Loop-5",
        "An input of a loop may be any value, such as an output of another loop.",
        _loop_reads_a_loop,
        (
            run([[1, 2], 2], [[-3, -6]]),
            run([[4, 5], 0], [[-4, -5]]),
            run([[7, 8], 1], [[-14, -16]]),
            run([[3], 2], [[-9]]),
        ),
    ),
    Case(
        "openvino_inner_loop_output_is_read_by_views",
        FEATURE,
        "OpenVINO Loop-5",
        "An output of a loop in a body may be read by any operations of the body.",
        _inner_loop_read_by_views,
        (
            run([[[1, 2]], 3], [[[[-1, -2]] * 3], [[[-1] * 3, [-2] * 3]]]),
            run([[[3, 4]], 2], [[[[-3, -4]] * 2], [[[-3] * 2, [-4] * 2]]]),
            run([[[5, 6]], 1], [[[[-5, -6]]], [[[-5], [-6]]]]),
        ),
    ),
    Case(
        "openvino_loop_concat_of_one_output",
        FEATURE,
        "OpenVINO Concat-1",
        "The inputs may be any values, also one value several times.",
        _concat_of_one_output,
        (
            run([1, [[1, 2]]], [[[-1, -2]], [[-1, -2, -1, -2]]]),
            run([2, [[3, 4]]], [[[-3, -4], [3, 4]], [[3, 4, 3, 4]]]),
            run([1, [[5, 6]]], [[[-5, -6]], [[-5, -6, -5, -6]]]),
            run([3, [[7, 8]]], [[[-7, -8], [7, 8], [-7, -8]], [[-7, -8, -7, -8]]]),
        ),
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
        "openvino_loop_choice_of_constants",
        FEATURE,
        "OpenVINO Select-1",
        "Where the condition is true, the output has the elements of the second input.",
        _choice_of_itself,
        (run([False], [True]), run([True], [True])),
    ),
    Case(
        "openvino_loop_joins_after_an_empty_axis",
        FEATURE,
        "OpenVINO Loop-5",
        "axis is specified for outputs whose values are concatenated over all iterations.",
        _joins_after_an_empty_axis,
        (
            run([3, [1, 2]], [[[2, 4, 8], [4, 8, 16]]]),
            run([2, empty(0)], [empty(0, 2)]),
        ),
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
        "openvino_size_from_constants",
        FEATURE,
        "OpenVINO NonZero-3",
        "The indices of the elements that are not zero, whatever computes them.",
        _size_from_constants,
        (run([[5]], [[[0, 2]], [-5]]),),
    ),
)
