"""Cases of valid IR that few exporters write, in which engines have faults."""

from __future__ import annotations

from dataclasses import replace

from irloop.conformance.case import Case, empty, run
from irloop.conformance.ir import IrModel
from irloop.dialects.openvino.comparison import Greater, Select
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add, Divide, Minimum, Multiply, Negative, Subtract
from irloop.dialects.openvino.generate import Range4
from irloop.dialects.openvino.padding import Pad
from irloop.dialects.openvino.pooling import MaxPool
from irloop.dialects.openvino.shape import Tile
from irloop.graph.loops import Invariant, PortMap
from irloop.graph.model import Model
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType

__all__ = ["CASES"]

FEATURE = "IR: rare forms"

LOOP = "OpenVINO Loop-5"
ITERATOR = "OpenVINO TensorIterator-1"
FOR = "input (trip_count, true) is a for loop: for (int i = 0; i < trip_count; ++i) { ... }"
FIRST = "The execution condition specifies whether to run the first loop iteration or not."
STRIDE = "A negative stride slices and joins from the end of the axis to its begin."
PORTS = "The port map connects each input of the operation with Parameters of the body."
COUNT = "The number of iterations follows from the slices and from the joined outputs."

I64, BOOLEAN, F32, U8, U4, STRING = (
    ElementType.I64,
    ElementType.BOOLEAN,
    ElementType.F32,
    ElementType.U8,
    ElementType.U4,
    ElementType.STRING,
)


def _doubling(trips: int, starts: bool) -> Model:
    m = IrModel()
    x = m.input("x", 1, 2)
    loop = m.loop(m.constant(trips, I64), m.constant(starts, BOOLEAN))
    state = loop.state(x)
    double = loop(Add(), state, state)
    loop.carry(state, double)
    loop.last(double)
    loop.joined(loop(Negative(), state), 0)
    return m.done(*loop.done())


def _never_by_count() -> Model:
    return _doubling(0, True)


def _never_by_condition() -> Model:
    return _doubling(3, False)


def _iterator_without_parameters() -> Model:
    m = IrModel()
    x = m.input("x", 1, 2)
    loop = m.tensor_iterator()
    loop.joined(loop.constant([[1, 2]]), 0, 0, 3)
    return m.done(m(Add(), *loop.done(), x))


def _iterator_in_iterator() -> Model:
    m = IrModel()
    x = m.input("x", 2, 3)
    outer = m.tensor_iterator()
    row = outer.slice(x, 0)
    inner = m.inside(outer).tensor_iterator()
    part = inner.slice(row, 1)
    inner.joined(inner(Negative(), part), 1, 0, -1)
    (joined,) = inner.done()
    outer.joined(joined, 0)
    return m.done(*outer.done())


def _backwards() -> Model:
    m = IrModel()
    loop = m.loop(m.constant(3, I64))
    part = loop.slice(m.input("x", 3, 1), 0, -1, 0, -1)
    state = loop.state(m.input("s", 1, 1))
    # Nothing reads this value; OpenVINO rewrites such a Loop.
    loop.invariant(m.input("u", 1))
    total = loop(Add(), state, part)
    loop.carry(state, total)
    loop.joined(total, 0, -1, 0, -1)
    return m.done(*loop.done())


def _count_enters() -> Model:
    m = IrModel()
    n, x = m.input("n", element=I64), m.input("x", 1)
    loop = m.loop(n)
    state = loop.state(x)
    loop.carry(state, loop(Add(), state, loop(Convert(F32), loop.invariant(n))))
    loop.last(state)
    return _invariant_from(m.done(*loop.done()), 0)


def _condition_enters() -> Model:
    m = IrModel()
    n, x, go = m.input("n", element=I64), m.input("x", 1), m.constant(True, BOOLEAN)
    loop = m.loop(n, go)
    state = loop.state(x)
    loop.carry(state, loop(Add(), state, loop(Convert(F32), loop.invariant(go))))
    loop.last_of(state)
    return _invariant_from(m.done(*loop.done()), 1)


def _invariant_from(model: Model, external: int) -> Model:
    """Connect the invariant of the only Loop in `model` to the Loop's input `external`.

    Changes the model and returns it.
    """
    (node,) = [item for item in model.graph.nodes if item.bodies]
    body = node.body()
    inputs = tuple(
        replace(port, external=external) if isinstance(port, Invariant) else port
        for port in body.ports.inputs
    )
    ports = PortMap(inputs, body.ports.outputs, body.ports.iteration, body.ports.condition)
    Rewriter(model.graph).set_bodies(node, (replace(body, ports=ports),))
    return model


def _constants_only() -> Model:
    m = IrModel()
    x = m.input("x", 1)
    outer = m.loop(m.constant(3, I64))
    state, number = outer.state(m.constant([1])), outer.iteration()
    inner = m.inside(outer).loop(number)
    held = inner.state(state)
    inner.carry(held, inner(Add(), held, held))
    inner.last_of(held)
    outer.carry(state, *inner.done())
    outer.last_of(state)
    return m.done(m(Multiply(), *outer.done(), x))


def _boolean_output() -> Model:
    m = IrModel()
    x, flag = m.input("x", 1), m.input("flag", element=BOOLEAN)
    loop = m.loop(m.constant(2, I64))
    state, kept = loop.state(x), loop.state(flag)
    loop.carry(state, loop(Add(), state, state))
    loop.carry(kept, loop(Convert(BOOLEAN), kept))
    loop.last_of(state)
    loop.last_of(kept)
    first, second = loop.done()
    return m.done(first, m(Convert(BOOLEAN), second))


def _unread_parameter() -> Model:
    m = IrModel()
    x, y = m.input("x", 3, 2), m.input("y", 1)
    loop = m.tensor_iterator()
    part = loop.slice(x, 0)
    loop.invariant(y)
    loop.joined(loop(Negative(), part), 0)
    return m.done(*loop.done())


def _unread_output_counts() -> Model:
    m = IrModel()
    loop = m.tensor_iterator()
    state = loop.state(m.input("x", 1, 2))
    after = loop(Add(), state, loop.constant([[1, 1]]))
    loop.carry(state, after)
    loop.last(after)
    loop.joined(loop(Negative(), after), 0, 0, 4)
    last, _ = loop.done()
    return m.done(last)


def _unread_slices() -> Model:
    m = IrModel()
    x, y = m.input("x", 3, 2), m.input("y", 1, 2)
    loop = m.tensor_iterator()
    loop.slice(x, 0)
    state = loop.state(y)
    total = loop(Add(), state, loop.constant([[1, 2]]))
    loop.carry(state, total)
    loop.last(total)
    return m.done(*loop.done())


def _four_bits() -> Model:
    m = IrModel()
    weights = m(Convert(F32), m.constant([1, 2, 15], U4))
    return m.done(m(Multiply(), m.input("x", 3), weights))


def _many_dimensions() -> Model:
    m = IrModel()
    x = m.input("x", 1, 1, 1, 1, 1, 2)
    positive = m(Greater(), x, m.constant(0))
    return m.done(m(Select(), positive, x, m(Negative(), x)))


def _unsigned() -> Model:
    m = IrModel()
    x, y = m.input("x", 3, element=U8), m.input("y", 3, element=U8)
    return m.done(m(Subtract(), x, y), m(Minimum(), x, y))


def _divided() -> Model:
    m = IrModel()
    x, y = m.input("x", 2, element=I64), m.input("y", 2, element=I64)
    return m.done(m(Divide(), x, y))


def _repeated_strings() -> Model:
    m = IrModel()
    return m.done(m(Tile(), m.input("x", 2, element=STRING), m.constant([2], I64)))


def _version_10() -> Model:
    m = IrModel()
    x = m.input("x", 2, element=I64)
    model = m.done(m(Add(), x, x))
    return Model(model.graph, model.dialect, 10)


def _computed_pad() -> Model:
    m = IrModel()
    x, value = m.input("x", 2), m.input("value")
    begins, ends = m.constant([1], I64), m.constant([0], I64)
    return m.done(m(Pad(pad_mode="constant"), x, begins, ends, m(Negative(), value)))


def _range_away() -> Model:
    m = IrModel()
    stop = m.input("stop", element=I64)
    numbers = m(Range4(output_type=I64), m.constant(0, I64), stop, m.constant(1, I64))
    return m.done(m(Convert(F32), numbers))


def _indices_of_automatic_padding() -> Model:
    m = IrModel()
    op = MaxPool(
        kernel_size=(1, 3), strides=(1, 1), dilations=(1, 1), auto_pad="same_upper", axis=2
    )
    node = m.builder.emit(op, m.input("x", 1, 1, 1, None), n_outputs=2)
    return m.done(*node.outputs)


CASES = (
    Case(
        "openvino_loop_constant_count_zero",
        FEATURE,
        LOOP,
        FOR,
        _never_by_count,
        (run([[[1, 2]]], [[[1, 2]], empty(0, 2)]),),
    ),
    Case(
        "openvino_loop_constant_condition_false",
        FEATURE,
        LOOP,
        FIRST,
        _never_by_condition,
        (run([[[1, 2]]], [[[1, 2]], empty(0, 2)]),),
    ),
    Case(
        "iterator_without_parameters",
        FEATURE,
        ITERATOR,
        COUNT,
        _iterator_without_parameters,
        (run([[[10, 20]]], [[[11, 22]] * 3]),),
    ),
    Case(
        "iterator_in_iterator",
        FEATURE,
        ITERATOR,
        "The body is a graph of any operations.",
        _iterator_in_iterator,
        (run([[[1, 2, 3], [4, 5, 6]]], [[[-1, -2, -3], [-4, -5, -6]]]),),
    ),
    Case(
        "openvino_loop_runs_backwards",
        FEATURE,
        LOOP,
        STRIDE,
        _backwards,
        # 3, 3 + 2, 3 + 2 + 1, and the first of them comes last
        (run([[[1], [2], [3]], [[0]], [9]], [[[6], [5], [3]]]),),
    ),
    Case(
        "openvino_loop_count_enters_the_body",
        FEATURE,
        LOOP,
        PORTS,
        _count_enters,
        # `last` returns the state with which the last iteration began: 1 + 3 + 3
        (run([3, [1]], [[7]]),),
    ),
    Case(
        "openvino_loop_condition_enters_the_body",
        FEATURE,
        LOOP,
        PORTS,
        _condition_enters,
        # true is 1: 1 + 1 + 1 + 1, and nothing is added without an iteration
        (run([3, [1]], [[4]]), run([0, [5]], [[5]])),
    ),
    Case(
        "openvino_loop_of_constants",
        FEATURE,
        LOOP,
        FOR,
        _constants_only,
        # doubled 0 + 1 + 2 times: 8
        (run([[5]], [[40]]),),
    ),
    Case(
        "openvino_loop_boolean_output",
        FEATURE,
        LOOP,
        "Convert gives the element of the input in another type.",
        _boolean_output,
        (run([[1], True], [[4], True]), run([[0], True], [[0], True])),
    ),
    Case(
        "iterator_unread_parameter",
        FEATURE,
        ITERATOR,
        PORTS,
        _unread_parameter,
        (run([[[1, 2], [3, 4], [5, 6]], [9]], [[[-1, -2], [-3, -4], [-5, -6]]]),),
    ),
    Case(
        "iterator_unread_slices",
        FEATURE,
        ITERATOR,
        COUNT,
        _unread_slices,
        (run([[[1, 2], [3, 4], [5, 6]], [[10, 20]]], [[[13, 26]]]),),
    ),
    Case(
        "iterator_unread_output_counts",
        FEATURE,
        ITERATOR,
        COUNT,
        _unread_output_counts,
        # Each of the 4 iterations of the range 0 to 4 adds 1.
        (run([[[1, 2]]], [[[5, 6]]]),),
    ),
    Case(
        "pad_with_a_computed_value",
        FEATURE,
        "OpenVINO Pad-12",
        "arg_pad_value is the value that is used to pad the input.",
        _computed_pad,
        (run([[1, 2], 3], [[-3, 1, 2]]), run([[1, 2], 4], [[-4, 1, 2]])),
    ),
    Case(
        "range_that_points_away",
        FEATURE,
        "OpenVINO Range-4",
        "Range generates a sequence of numbers from start up to, but excluding, stop.",
        _range_away,
        (run([3], [[0, 1, 2]]), run([-3], [empty(0)]), run([0], [empty(0)])),
    ),
    Case(
        "four_bit_weights",
        FEATURE,
        "OpenVINO Constant-1",
        "The first of two elements of 4 bits is in the low half of the byte.",
        _four_bits,
        (run([[1, 1, 2]], [[1, 2, 30]]),),
    ),
    Case(
        "unsigned_differences",
        FEATURE,
        "OpenVINO Minimum-1",
        "Elements are compared as the numbers of their type.",
        _unsigned,
        (run([[250, 3, 7], [4, 2, 7]], [[246, 1, 0], [4, 2, 7]]),),
    ),
    Case(
        "select_of_many_dimensions",
        FEATURE,
        "OpenVINO Select-1",
        "Where the condition is true, the output has the elements of the second input.",
        _many_dimensions,
        (run([[[[[[[1, -2]]]]]]], [[[[[[[1, 2]]]]]]]),),
    ),
    Case(
        "openvino_tile_of_strings",
        FEATURE,
        "OpenVINO Tile-1",
        "The data are repeated along each axis.",
        _repeated_strings,
        (run([["a", "b"]], [["a", "b", "a", "b"]]),),
    ),
    Case(
        "indices_of_automatic_padding",
        FEATURE,
        "OpenVINO MaxPool-8",
        "same_upper: the input is padded so that the output has its size divided by the strides.",
        _indices_of_automatic_padding,
        (
            run([[[[[3, 1, 2]]]]], [[[[[3, 3, 2]]]], [[[[0, 0, 2]]]]]),
            run([[[[[1, 4]]]]], [[[[[4, 4]]]], [[[[1, 1]]]]]),
        ),
    ),
    Case(
        "divide_of_negative_integers",
        FEATURE,
        "OpenVINO Divide-1",
        "m_pythondiv: the quotient of integers is rounded down.",
        _divided,
        (run([[-7, 7], [2, 2]], [[-4, 3]]),),
        on_demand=True,
    ),
    Case(
        "types_of_version_10",
        FEATURE,
        "OpenVINO IR version 10",
        "Inputs and outputs have the element types that the file gives them.",
        _version_10,
        (run([[1, 5]], [[2, 10]]),),
        on_demand=True,
    ),
)
