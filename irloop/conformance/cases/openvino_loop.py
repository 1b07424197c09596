"""Cases of Loop-5.

They test trip count and condition, concatenated outputs, sliced inputs and nesting.
"""

from __future__ import annotations

from irloop.building.ir_model import IrLoop, IrModel
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.comparison import Less
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add, Multiply, Negative
from irloop.dialects.openvino.shape import Unsqueeze
from irloop.faults.case import Case, empty, run
from irloop.graph.model import Model
from irloop.graph.types import ElementType

__all__ = ["CASES"]

TRIPS = "Loop-5: trip count and condition"
JOINED = "Loop-5: joined outputs"
NESTED = "Loop-5: nesting"

SOURCE = "OpenVINO Loop-5"
FOR = "input (trip_count, true) is a for loop: for (int i = 0; i < trip_count; ++i) { ... }"
WHILE = "input (-1, cond) is a while loop: for (int i = 0; cond; ++i) { cond = ...; }"
BOTH = "input (trip_count, cond): for (int i = 0; i < trip_count && cond; ++i) { cond = ...; }"
CONCATENATED = "axis is specified for outputs whose values are concatenated over all iterations."

I64, BOOLEAN, F32 = ElementType.I64, ElementType.BOOLEAN, ElementType.F32


def counted() -> Model:
    m = IrModel()
    n, x = m.input("n", element=I64), m.input("x", 1, 2)
    loop = m.loop(n)
    state = loop.state(x)
    double = loop(Add(), state, state)
    loop.carry(state, double)
    loop.last(double)
    loop.joined(loop(Negative(), state), 0)
    return m.done(*loop.done())


def counted_by_constant() -> Model:
    m = IrModel()
    x = m.input("x", 1, 2)
    loop = m.loop(m.constant(3, I64))
    state = loop.state(x)
    double = loop(Add(), state, state)
    loop.carry(state, double)
    loop.last(double)
    loop.joined(loop(Negative(), state), 0)
    return m.done(*loop.done())


def conditional() -> Model:
    m = IrModel()
    go, x, limit = m.input("go", element=BOOLEAN), m.input("x", 1), m.input("limit", 1)
    loop = m.loop(m.constant(-1, I64), go)
    state, bound = loop.state(x), loop.invariant(limit)
    double = loop(Add(), state, state)
    loop.carry(state, double)
    loop.condition(loop(Less(), double, bound))
    loop.last(double)
    return m.done(*loop.done())


def conditional_joined() -> Model:
    m = IrModel()
    n, x, limit = m.input("n", element=I64), m.input("x", 1), m.input("limit", 1)
    loop = m.loop(n)
    state, bound = loop.state(x), loop.invariant(limit)
    double = loop(Add(), state, state)
    loop.carry(state, double)
    loop.condition(loop(Less(), double, bound))
    loop.last(double)
    loop.joined(loop(Negative(), state), 0)
    return m.done(*loop.done())


def counts_itself() -> Model:
    m = IrModel()
    n, x = m.input("n", element=I64), m.input("x", 1)
    loop = m.loop(n)
    number, state = loop.iteration(), loop.state(x)
    total = loop(Add(), state, loop(Convert(F32), number))
    loop.carry(state, total)
    loop.last(total)
    loop.joined(total, 0)
    return m.done(*loop.done())


def sliced_loop() -> Model:
    m = IrModel()
    n, x, h = m.input("n", element=I64), m.input("x", 3, 1), m.input("h", 1, 1)
    loop = m.loop(n)
    part, state = loop.slice(x, 0), loop.state(h)
    total = loop(Add(), loop(Add(), state, state), part)
    loop.carry(state, total)
    loop.last(total)
    return m.done(*loop.done())


def joined_on_axis_1() -> Model:
    m = IrModel()
    n, x = m.input("n", element=I64), m.input("x", 2, 1)
    loop = m.loop(n)
    state = loop.state(x)
    double = loop(Add(), state, state)
    loop.carry(state, double)
    loop.joined(double, 1)
    return m.done(*loop.done())


def joined_in_parts() -> Model:
    m = IrModel()
    n, x = m.input("n", element=I64), m.input("x", 2)
    loop = m.loop(n)
    state = loop.state(x)
    double = loop(Add(), state, state)
    loop.carry(state, double)
    loop.joined(double, 0, 0, -1, 2, 2)
    return m.done(*loop.done())


def joins_its_state() -> Model:
    m = IrModel()
    n, x = m.input("n", element=I64), m.input("x", 1, 2)
    loop = m.loop(n)
    state = loop.state(x)
    loop.carry(state, loop(Multiply(), state, loop.constant([[2, 3]])))
    loop.joined(state, 0)
    return m.done(*loop.done())


def loop_in_loop() -> Model:
    m = IrModel()
    n, k, x = m.input("n", element=I64), m.input("k", element=I64), m.input("x", 1)
    loop = m.loop(n)
    count, state = loop.invariant(k), loop.state(x)
    inner = IrLoop(loop.body, ov.Loop(), (count, loop.constant(True, BOOLEAN)))
    held = inner.state(state)
    double = inner(Add(), held, held)
    inner.carry(held, double)
    inner.last(double)
    inner.joined(inner(Negative(), held), 0)
    last, parts = inner.done()
    loop.carry(state, last)
    loop.last(last)
    loop.joined(loop(Unsqueeze(), parts, loop.constant([0], I64)), 0)
    return m.done(*loop.done())


def iterator_in_loop() -> Model:
    m = IrModel()
    n, x, h = m.input("n", element=I64), m.input("x", 3, 1), m.input("h", 1, 1)
    loop = m.loop(n)
    rows, state = loop.invariant(x), loop.state(h)
    inner = IrLoop(loop.body, ov.TensorIterator())
    part, held = inner.slice(rows, 0), inner.state(state)
    total = inner(Add(), held, part)
    inner.carry(held, total)
    inner.last(total)
    (last,) = inner.done()
    loop.carry(state, last)
    loop.last(last)
    loop.joined(last, 0)
    return m.done(*loop.done())


CASES = (
    Case(
        "openvino_loop_for",
        TRIPS,
        SOURCE,
        FOR,
        counted,
        (
            run([3, [[1, -2]]], [[[8, -16]], [[-1, 2], [-2, 4], [-4, 8]]]),
            run([1, [[1, -2]]], [[[2, -4]], [[-1, 2]]]),
            run([2, [[5, 0]]], [[[20, 0]], [[-5, 0], [-10, 0]]]),
        ),
    ),
    Case(
        "openvino_loop_for_constant_count",
        TRIPS,
        SOURCE,
        FOR,
        counted_by_constant,
        (run([[[1, -2]]], [[[8, -16]], [[-1, 2], [-2, 4], [-4, 8]]]),),
    ),
    Case(
        "openvino_loop_count_zero",
        TRIPS,
        SOURCE,
        FOR,
        counted,
        (
            run([0, [[1, 2]]], [[[1, 2]], empty(0, 2)]),
            run([2, [[1, 2]]], [[[4, 8]], [[-1, -2], [-2, -4]]]),
            run([0, [[3, 4]]], [[[3, 4]], empty(0, 2)]),
        ),
    ),
    Case(
        "openvino_loop_while",
        TRIPS,
        SOURCE,
        WHILE,
        conditional,
        (
            run([True, [1], [5]], [[8]]),
            run([True, [9], [5]], [[18]]),
            run([False, [1], [5]], [[1]]),
        ),
    ),
    Case(
        "openvino_loop_count_and_condition",
        TRIPS,
        SOURCE,
        BOTH,
        conditional_joined,
        (
            run([5, [1], [100]], [[32], [-1, -2, -4, -8, -16]]),
            run([5, [1], [5]], [[8], [-1, -2, -4]]),
            run([2, [1], [100]], [[4], [-1, -2]]),
        ),
    ),
    Case(
        "openvino_loop_iteration_number",
        TRIPS,
        SOURCE,
        "The iteration number is an integer scalar or 1D tensor that counts from 0.",
        counts_itself,
        (run([4, [1]], [[7], [1, 2, 4, 7]]), run([1, [1]], [[1], [1]])),
    ),
    Case(
        "openvino_loop_sliced_input",
        JOINED,
        SOURCE,
        "axis is an axis to iterate through: an input with axis is sliced.",
        sliced_loop,
        (run([3, [[1], [2], [3]], [[0]]], [[[11]]]), run([2, [[1], [2], [3]], [[0]]], [[[4]]])),
    ),
    Case(
        "openvino_loop_joined_on_axis_1",
        JOINED,
        SOURCE,
        CONCATENATED,
        joined_on_axis_1,
        (run([3, [[1], [2]]], [[[2, 4, 8], [4, 8, 16]]]), run([1, [[1], [2]]], [[[2], [4]]])),
    ),
    Case(
        "openvino_loop_joined_in_parts",
        JOINED,
        SOURCE,
        CONCATENATED,
        joined_in_parts,
        (run([2, [1, 2]], [[2, 4, 4, 8]]), run([1, [1, 2]], [[2, 4]])),
    ),
    Case(
        "openvino_loop_joins_its_state",
        JOINED,
        SOURCE,
        CONCATENATED,
        joins_its_state,
        (run([3, [[1, 1]]], [[[1, 1], [2, 3], [4, 9]]]),),
    ),
    Case(
        "openvino_loop_in_loop",
        NESTED,
        SOURCE,
        FOR,
        loop_in_loop,
        (
            run([2, 2, [1]], [[16], [[-1, -2], [-4, -8]]]),
            run([1, 3, [1]], [[8], [[-1, -2, -4]]]),
        ),
    ),
    Case(
        "openvino_iterator_in_loop",
        NESTED,
        SOURCE,
        FOR,
        iterator_in_loop,
        (run([2, [[1], [2], [3]], [[0]]], [[[12]], [[6], [12]]]),),
    ),
)
