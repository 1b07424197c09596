"""Cases of loops and branches for which OpenVINO's CPU plugin fails.

The plugin computes a wrong result, refuses the model, or crashes.
"""

from __future__ import annotations

from irloop.conformance.case import Case, empty, run
from irloop.conformance.cases.openvino_faults import FEATURE
from irloop.conformance.ir import IrModel
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.comparison import Greater, LogicalNot, LogicalOr, Select
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import (
    Abs,
    Add,
    Multiply,
    Negative,
    Subtract,
)
from irloop.dialects.openvino.generate import Range4
from irloop.dialects.openvino.matmul import MatMul
from irloop.dialects.openvino.reduction import ReduceSum
from irloop.dialects.openvino.search import NonZero
from irloop.dialects.openvino.shape import ShapeOf3, Squeeze, Tile, Unsqueeze
from irloop.dialects.openvino.slicing import Concat
from irloop.graph.builder import Builder
from irloop.graph.loops import Invariant, LastValue, PortMap
from irloop.graph.model import Body, Model, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType

__all__ = ["CASES", "dropped_before_iteration"]

I64, BOOLEAN, F32 = ElementType.I64, ElementType.BOOLEAN, ElementType.F32


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
    """Make a Loop whose first body parameter enters an If, but neither branch reads it.

    The parameter of the iteration number comes later. With `follows`, one more parameter comes
    after that, for the model input `scale`; otherwise the scale is a constant in the body.
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


def _inner_loop_over_a_growing_state() -> Model:
    m = IrModel()
    x = m.input("x", 2)
    outer = m.loop(m.input("n", element=I64))
    state, front = outer.state(x), outer.constant([0], I64)
    inner = m.inside(outer).loop(outer(Squeeze(), outer(ShapeOf3(I64), state), front))
    inner.joined(inner(Negative(), inner.slice(state, 0)), 0)
    (negative,) = inner.done()
    outer.joined(outer(ReduceSum(keep_dims=True), negative, front), 0)
    outer.carry(state, outer(Concat(0), state, outer.invariant(x)))
    outer.last_of(state)
    return m.done(*outer.done())


def _nonzero_of_a_changing_size() -> Model:
    m = IrModel()
    loop = m.loop(m.input("n", element=I64))
    state = loop.state(m.input("x", 3))
    start, step, front = (loop.constant(value, I64) for value in (0, 1, [0]))
    size = loop(Squeeze(), loop(ShapeOf3(I64), state), front)
    places = loop(NonZero(I64), loop(Range4(output_type=I64), start, size, step))
    numbers = loop(Convert(F32), loop(Squeeze(), places, front))
    number = loop(Unsqueeze(), loop.iteration(), front)
    nothing = loop(Subtract(), number, number)
    loop.carry(state, loop(Tile(), numbers, loop(Add(), loop.constant([1], I64), nothing)))
    loop.last_of(state)
    return m.done(*loop.done())


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


def _size_from_constants() -> Model:
    m = IrModel()
    loop = m.tensor_iterator()
    part = loop.slice(m.constant([1, 0, 2]), 0)
    loop.joined(loop(Add(), part, part), 0)
    (doubled,) = loop.done()
    return m.done(m(NonZero(I64), doubled), m(Negative(), m.input("x", 1)))


CASES = (
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
        "openvino_inner_loop_over_a_growing_state",
        FEATURE,
        "OpenVINO Loop-5",
        "The trip count is an input of the Loop, which an outer body may compute.",
        _inner_loop_over_a_growing_state,
        # The sums of 2, 4 and 6 elements.
        (
            run([[1, 2], 3], [[-3, -6, -9], [1, 2] * 4]),
            run([[3, 4], 1], [[-7], [3, 4] * 2]),
            run([[5, 6], 2], [[-11, -22], [5, 6] * 3]),
        ),
    ),
    Case(
        "openvino_loop_nonzero_of_a_changing_size",
        FEATURE,
        "OpenVINO NonZero-3",
        "The indices of the elements that are not zero, whatever computes them.",
        _nonzero_of_a_changing_size,
        # The numbers below the size, without 0.
        (run([1, [7, 8, 9]], [[1, 2]]), run([2, [7, 8, 9]], [[1]])),
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
        "openvino_size_from_constants",
        FEATURE,
        "OpenVINO NonZero-3",
        "The indices of the elements that are not zero, whatever computes them.",
        _size_from_constants,
        (run([[5]], [[[0, 2]], [-5]]),),
    ),
)
