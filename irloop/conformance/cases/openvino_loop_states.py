"""Cases of Loop-5 about states, and about invariant inputs beside them."""

from __future__ import annotations

from irloop.conformance.case import Case, run
from irloop.conformance.ir import IrModel
from irloop.dialects.openvino.activation import SoftMax1
from irloop.dialects.openvino.comparison import LogicalNot
from irloop.dialects.openvino.elementwise import Add, Negative
from irloop.dialects.openvino.reduction import ReduceSum
from irloop.dialects.openvino.shape import Broadcast3, ShapeOf3, Unsqueeze
from irloop.dialects.openvino.slicing import Concat, Slice
from irloop.graph.model import Model
from irloop.graph.types import ElementType

__all__ = ["CASES"]

STATES = "Loop-5: states"

SOURCE = "OpenVINO Loop-5"
BACK = "Back edges transfer values from the body's outputs to its parameters of the next iteration."

I64, BOOLEAN, F32 = ElementType.I64, ElementType.BOOLEAN, ElementType.F32


def exchanged() -> Model:
    m = IrModel()
    n, a, b = m.input("n", element=I64), m.input("a", 2), m.input("b", 2)
    loop = m.loop(n)
    first, second = loop.state(a), loop.state(b)
    loop.carry(first, second)
    loop.carry(second, first)
    loop.last(second)
    loop.last(first)
    return m.done(*loop.done())


def fibonacci() -> Model:
    m = IrModel()
    n, a, b = (m.input(name, element=I64) for name in ("n", "a", "b"))
    loop = m.loop(n)
    first, second = loop.state(a), loop.state(b)
    total = loop(Add(), first, second)
    loop.carry(first, second)
    loop.carry(second, total)
    loop.last(second)
    return m.done(*loop.done())


def truths() -> Model:
    m = IrModel()
    n, x = m.input("n", element=I64), m.input("x", 2, element=BOOLEAN)
    loop = m.loop(n)
    state = loop.state(x)
    other = loop(LogicalNot(), state)
    loop.carry(state, other)
    loop.last(other)
    return m.done(*loop.done())


def growing() -> Model:
    m = IrModel()
    n, x = m.input("n", element=I64), m.input("x", None)
    loop = m.loop(n)
    state = loop.state(x, dims=[None])
    longer = loop(Concat(0), state, loop.constant([1]))
    loop.carry(state, longer)
    loop.last(longer)
    return m.done(*loop.done())


def growing_unseen() -> Model:
    m = IrModel()
    n, x, y = m.input("n", element=I64), m.input("x", 2), m.input("y")
    loop = m.loop(n)
    state, total = loop.state(x, dims=[None]), loop.state(y)
    more = loop(Add(), total, loop(ReduceSum(keep_dims=False), state, loop.constant([0], I64)))
    loop.carry(state, loop(Concat(0), state, loop.constant([1])))
    loop.carry(total, more)
    loop.last(more)
    return m.done(*loop.done())


def unread() -> Model:
    m = IrModel()
    n, x = m.input("n", element=I64), m.input("x", None)
    loop = m.loop(n)
    state, fixed = loop.state(x), loop.invariant(x)
    value = loop(Negative(), fixed)
    loop.carry(state, value)
    loop.last(value)
    return m.done(*loop.done())


def softmax_of_invariant() -> Model:
    m = IrModel()
    n, x, h = m.input("n", element=I64), m.input("x", 1, 2), m.input("h", 1, 2)
    loop = m.loop(n)
    fixed, state = loop.invariant(x), loop.state(h)
    total = loop(Add(), state, loop(SoftMax1(axis=1), fixed))
    loop.carry(state, total)
    loop.last(total)
    return m.done(*loop.done())


def concat_of_invariant() -> Model:
    m = IrModel()
    x, y, h = m.input("x", 2, 1), m.input("y", 3, 1), m.input("h", 1, 1)
    loop = m.loop(m.constant(3, I64))
    fixed, part, state = loop.invariant(x), loop.slice(y, 0), loop.state(h)
    loop.carry(state, state)
    loop.joined(loop(Negative(), loop(Concat(axis=0), fixed, part)), 0, 0, -1, 3, 3)
    loop.joined(loop(Negative(), loop(Concat(axis=0), state, loop(Negative(), part))), 1)
    return m.done(*loop.done())


def size_beside_growing_state() -> Model:
    m = IrModel()
    n, x = m.input("n", element=I64), m.input("x", None)
    loop = m.loop(n)
    fixed, state = loop.invariant(x), loop.state(x)
    zero, one = loop.constant([0], I64), loop.constant([1], I64)
    longest = loop(Add(), loop.iteration(), loop.constant(6, I64))
    end = loop(Unsqueeze(), longest, loop.constant(0, I64))
    loop.carry(state, loop(Slice(), loop(Concat(0), state, fixed), zero, end, one, zero))
    ones = loop(Broadcast3(), loop.constant(1), loop(ShapeOf3(I64), fixed))
    loop.joined(loop(ReduceSum(keep_dims=True), ones, zero), 0)
    return m.done(*loop.done())


def exchanged_sizes() -> Model:
    m = IrModel()
    n, x, y = m.input("n", element=I64), m.input("x", None), m.input("y", None)
    loop = m.loop(n)
    first, second = loop.state(x), loop.state(y)
    loop.carry(first, loop(Negative(), second))
    loop.carry(second, loop(Negative(), first))
    loop.joined(loop(ReduceSum(keep_dims=True), first, loop.constant([0], I64)), 0)
    return m.done(*loop.done())


CASES = (
    Case(
        "openvino_loop_states_exchanged",
        STATES,
        SOURCE,
        BACK,
        exchanged,
        (
            run([3, [1, 2], [3, 4]], [[3, 4], [1, 2]]),
            run([2, [1, 2], [3, 4]], [[1, 2], [3, 4]]),
        ),
    ),
    Case(
        "openvino_loop_fibonacci",
        STATES,
        SOURCE,
        BACK,
        fibonacci,
        (run([10, 0, 1], [55]), run([1, 0, 1], [1]), run([5, 0, 1], [5])),
    ),
    Case(
        "openvino_loop_state_of_boolean",
        STATES,
        SOURCE,
        BACK,
        truths,
        (run([3, [True, False]], [[False, True]]), run([2, [True, False]], [[True, False]])),
    ),
    Case(
        "openvino_loop_state_grows",
        STATES,
        SOURCE,
        BACK,
        growing,
        (run([2, [5, 6]], [[5, 6, 1, 1]]), run([3, [5]], [[5, 1, 1, 1]])),
    ),
    Case(
        "openvino_loop_growing_state_is_no_output",
        STATES,
        SOURCE,
        BACK,
        growing_unseen,
        # the sums of the growing state are 3, 4 and 5
        (run([3, [1, 2], 0], [12]), run([1, [1, 2], 0], [3])),
    ),
    Case(
        "openvino_loop_size_beside_a_growing_state",
        STATES,
        SOURCE,
        "An invariant input is the same in every iteration.",
        size_beside_growing_state,
        # the sum of as many ones as x has elements
        (run([4, [1, 2, 3]], [[3, 3, 3, 3]]), run([3, [1, 2]], [[2, 2, 2]])),
    ),
    Case(
        "openvino_loop_states_exchange_sizes",
        STATES,
        SOURCE,
        BACK,
        exchanged_sizes,
        # sums of (1, 2, 4), -(3, 5) and (1, 2, 4)
        (
            run([3, [1, 2, 4], [3, 5]], [[7, -8, 7]]),
            run([3, [1, 2, 4], [3, 5]], [[7, -8, 7]]),
            run([3, [2, 2, 4], [3, 6]], [[8, -9, 8]]),
        ),
    ),
    Case(
        "openvino_loop_unread_state_without_iteration",
        STATES,
        SOURCE,
        BACK,
        unread,
        (run([0, [1, 2, 3]], [[1, 2, 3]]), run([2, [1, 2, 3]], [[-1, -2, -3]])),
    ),
    Case(
        "openvino_loop_softmax_of_an_invariant",
        STATES,
        SOURCE,
        "An invariant input is the same in every iteration.",
        softmax_of_invariant,
        # softmax of (ln 3, 0) is (3/4, 1/4)
        (run([2, [[1.0986122886681098, 0]], [[0, 0]]], [[[1.5, 0.5]]]),),
    ),
    Case(
        "openvino_loop_concat_of_an_invariant",
        STATES,
        SOURCE,
        "An invariant input is the same in every iteration.",
        concat_of_invariant,
        (
            run(
                [[[1], [2]], [[5], [6], [7]], [[4]]],
                [
                    [[-1], [-2], [-5], [-1], [-2], [-6], [-1], [-2], [-7]],
                    [[-4, -4, -4], [5, 6, 7]],
                ],
            ),
        ),
    ),
)
