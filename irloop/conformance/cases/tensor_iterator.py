"""Cases of TensorIterator-1: slices, strides, parts, reversal, back edges, concatenated outputs."""

from __future__ import annotations

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.elementwise import Add, Multiply, Negative
from irloop.faults.case import Case, run
from irloop.graph.model import Model
from irloop.graph.types import ElementType

__all__ = ["CASES"]

I64 = ElementType.I64

SLICES = "TensorIterator: slices"
JOINED = "TensorIterator: joined outputs"
STATES = "TensorIterator: back edges"

SOURCE = "OpenVINO TensorIterator-1"
AXIS = (
    "axis is an axis to iterate through. Only if it is specified, the input or output is divided "
    "into pieces and start, end and stride attributes define how slicing is performed."
)
START = (
    "start is an index where the iteration starts from. Negative value means counting indexes from "
    "the end."
)
STRIDE = "stride is a step of iteration. Negative value means backward iteration."
PART = "part_size is a size of a part that is sent to the body in one iteration."
BACK = (
    "back_edges is a set of rules to transfer tensor values from body outputs at one iteration to "
    "body parameters at the next iteration."
)


def running_sum() -> Model:
    m = IrModel()
    x, h = m.input("x", 3, 2), m.input("h", 1, 2)
    loop = m.tensor_iterator()
    part, state = loop.slice(x, 0), loop.state(h)
    total = loop(Add(), state, part)
    loop.carry(state, total)
    loop.last(total)
    loop.joined(loop(Negative(), total), 0)
    return m.done(*loop.done())


def along_axis_1() -> Model:
    m = IrModel()
    x, h = m.input("x", 2, 3), m.input("h", 2, 1)
    loop = m.tensor_iterator()
    part, state = loop.slice(x, 1), loop.state(h)
    total = loop(Add(), loop(Add(), state, state), part)
    loop.carry(state, total)
    loop.last(total)
    loop.joined(total, 1)
    return m.done(*loop.done())


def backwards() -> Model:
    m = IrModel()
    x, h = m.input("x", 3, 1), m.input("h", 1, 1)
    loop = m.tensor_iterator()
    part, state = loop.slice(x, 0, -1, 0, -1), loop.state(h)
    total = loop(Add(), loop(Add(), state, state), part)
    loop.carry(state, total)
    loop.last(total)
    loop.joined(total, 0, -1, 0, -1)
    return m.done(*loop.done())


def parts_of_two() -> Model:
    m = IrModel()
    x = m.input("x", 4, 1)
    loop = m.tensor_iterator()
    part = loop.slice(x, 0, 0, -1, 2, 2)
    loop.joined(loop(Add(), part, part), 0, 0, -1, 2, 2)
    loop.last(part)
    return m.done(*loop.done())


def parts_of_two_backwards() -> Model:
    m = IrModel()
    x, h = m.input("x", 4, 1), m.input("h", 2, 1)
    loop = m.tensor_iterator()
    part, state = loop.slice(x, 0, -1, 0, -2, 2), loop.state(h)
    total = loop(Add(), state, part)
    loop.carry(state, total)
    loop.last(total)
    loop.joined(total, 0, 0, -1, 2, 2)
    return m.done(*loop.done())


def of_a_range() -> Model:
    m = IrModel()
    x, h = m.input("x", 5, 1), m.input("h", 1, 1)
    loop = m.tensor_iterator()
    part, state = loop.slice(x, 0, 1, 4), loop.state(h)
    total = loop(Add(), loop(Add(), state, state), part)
    loop.carry(state, total)
    loop.last(total)
    return m.done(*loop.done())


def any_length() -> Model:
    m = IrModel()
    x, h = m.input("x", None, 2), m.input("h", 1, 2)
    loop = m.tensor_iterator()
    part, state = loop.slice(x, 0), loop.state(h)
    total = loop(Add(), state, part)
    loop.carry(state, total)
    loop.last(total)
    loop.joined(total, 0)
    return m.done(*loop.done())


def two_inputs() -> Model:
    m = IrModel()
    x, w = m.input("x", 3, 1), m.input("w", 1, 3)
    loop = m.tensor_iterator()
    first, second = loop.slice(x, 0), loop.slice(w, 1, -1, 0, -1)
    loop.joined(loop(Multiply(), first, second), 1)
    return m.done(*loop.done())


def exchanged() -> Model:
    m = IrModel()
    x, a, b = m.input("x", 3, 1), m.input("a", 1, 1), m.input("b", 1, 1)
    loop = m.tensor_iterator()
    part, first, second = loop.slice(x, 0), loop.state(a), loop.state(b)
    loop.carry(first, second)
    loop.carry(second, first)
    loop.last(second)
    loop.last(first)
    loop.joined(loop(Add(), part, first), 0)
    return m.done(*loop.done())


def shared_result() -> Model:
    m = IrModel()
    x, a, b = m.input("x", 2, 1), m.input("a", 1, 1), m.input("b", 1, 1)
    loop = m.tensor_iterator()
    part, first, second = loop.slice(x, 0), loop.state(a), loop.state(b)
    total = loop(Add(), loop(Multiply(), first, second), part)
    loop.carry(first, total)
    loop.carry(second, total)
    loop.last(total)
    return m.done(*loop.done())


def invariant() -> Model:
    m = IrModel()
    x, w = m.input("x", 3, 1), m.input("w", 1, 2)
    loop = m.tensor_iterator()
    part, fixed = loop.slice(x, 0), loop.invariant(w)
    loop.joined(loop(Multiply(), part, fixed), 0)
    return m.done(*loop.done())


def slice_as_it_is() -> Model:
    m = IrModel()
    x = m.input("x", 3, 1)
    loop = m.tensor_iterator()
    part = loop.slice(x, 0, -1, 0, -1)
    loop.joined(part, 0)
    loop.last(loop(Negative(), part))
    return m.done(*loop.done())


CASES = (
    Case(
        "iterator_running_sum",
        SLICES,
        SOURCE,
        AXIS,
        running_sum,
        (
            run(
                [[[1, 2], [3, 4], [5, 6]], [[0, 0]]],
                [[[9, 12]], [[-1, -2], [-4, -6], [-9, -12]]],
            ),
            run([[[1, 0], [0, 0], [0, 1]], [[1, 1]]], [[[2, 2]], [[-2, -1], [-2, -1], [-2, -2]]]),
        ),
    ),
    Case(
        "iterator_along_axis_1",
        SLICES,
        SOURCE,
        AXIS,
        along_axis_1,
        # ((0*2 + 1)*2 + 2)*2 + 3 = 11
        (run([[[1, 2, 3], [4, 5, 6]], [[0], [0]]], [[[11], [32]], [[1, 4, 11], [4, 13, 32]]]),),
    ),
    Case(
        "iterator_backwards",
        SLICES,
        SOURCE,
        STRIDE,
        backwards,
        # 3; 3*2 + 2 = 8; 8*2 + 1 = 17, concatenated from the end
        (run([[[1], [2], [3]], [[0]]], [[[17]], [[17], [8], [3]]]),),
    ),
    Case(
        "iterator_parts_of_two",
        SLICES,
        SOURCE,
        PART,
        parts_of_two,
        (run([[[1], [2], [3], [4]]], [[[2], [4], [6], [8]], [[3], [4]]]),),
    ),
    Case(
        "iterator_parts_of_two_backwards",
        SLICES,
        SOURCE,
        STRIDE,
        parts_of_two_backwards,
        (run([[[1], [2], [3], [4]], [[0], [0]]], [[[4], [6]], [[3], [4], [4], [6]]]),),
    ),
    Case(
        "iterator_of_a_range",
        SLICES,
        SOURCE,
        START,
        of_a_range,
        # elements 1, 2 and 3: ((2)*2 + 3)*2 + 4 = 18
        (run([[[1], [2], [3], [4], [5]], [[0]]], [[[18]]]),),
    ),
    Case(
        "iterator_of_any_length",
        SLICES,
        SOURCE,
        AXIS,
        any_length,
        (
            run([[[1, 2], [3, 4]], [[0, 0]]], [[[4, 6]], [[1, 2], [4, 6]]]),
            run([[[1, 2]], [[5, 5]]], [[[6, 7]], [[6, 7]]]),
            run([[[1, 0], [1, 0], [1, 0]], [[0, 0]]], [[[3, 0]], [[1, 0], [2, 0], [3, 0]]]),
        ),
    ),
    Case(
        "iterator_two_inputs_in_two_directions",
        SLICES,
        SOURCE,
        STRIDE,
        two_inputs,
        (run([[[1], [2], [3]], [[10, 20, 30]]], [[[30, 40, 30]]]),),
    ),
    Case(
        "iterator_states_exchanged",
        STATES,
        SOURCE,
        BACK,
        exchanged,
        # (a, b) is (1, 2), (2, 1), (1, 2); the outputs are the last b and the last a of the body
        (run([[[10], [20], [30]], [[1]], [[2]]], [[[2]], [[1]], [[11], [22], [31]]]),),
    ),
    Case(
        "iterator_one_result_for_two_states",
        STATES,
        SOURCE,
        BACK,
        shared_result,
        # 2*3 + 1 = 7; 7*7 + 5 = 54
        (run([[[1], [5]], [[2]], [[3]]], [[[54]]]),),
    ),
    Case(
        "iterator_invariant",
        STATES,
        SOURCE,
        "An input without axis is given to the body as it is in each iteration.",
        invariant,
        (run([[[1], [2], [3]], [[10, 20]]], [[[10, 20], [20, 40], [30, 60]]]),),
    ),
    Case(
        "iterator_joins_a_slice_as_it_is",
        JOINED,
        SOURCE,
        AXIS,
        slice_as_it_is,
        (run([[[1], [2], [3]]], [[[3], [2], [1]], [[-1]]]),),
    ),
)
