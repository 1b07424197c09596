"""Cases of Loop-5 about states, and about invariant inputs beside them."""

from __future__ import annotations

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import LogicalNot
from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.slicing import Concat
from irloop.faults.case import Case, run
from irloop.graph.model import Model
from irloop.graph.types import ElementType

__all__ = ["CASES"]

STATES = "Loop-5: states"

SOURCE = "OpenVINO Loop-5"
BACK = "Back edges transfer values from the body's outputs to its parameters of the next iteration."

I64, BOOLEAN, F32 = ElementType.I64, ElementType.BOOLEAN, ElementType.F32


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


CASES = (
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
)
