"""Loop and TensorIterator of OpenVINO, with outputs worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from irloop.building.ir_model import IrModel
from irloop.conversion.pipelines import to_onnx
from irloop.dialects.openvino.comparison import Less
from irloop.dialects.openvino.control_flow import Loop, TensorIterator
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add, Multiply
from irloop.dialects.openvino.slicing import Concat
from irloop.errors import ExecutionError, LimitError, UnsupportedError
from irloop.execution.limits import Limits
from irloop.execution.session import Session
from irloop.graph.builder import Builder
from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    PortMap,
    Sliced,
)
from irloop.graph.model import Body, Graph, Model, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType, Shape, TensorType

Array = np.ndarray[Any, np.dtype[Any]]
Make = Callable[[Builder, Sequence[Value]], Sequence[Value]]

F32, I32, I64, BOOL = ElementType.F32, ElementType.I32, ElementType.I64, ElementType.BOOLEAN


def t(element: ElementType, *dims: int | None) -> TensorType:
    return TensorType(element, Shape.of(*dims))


def model(
    op: Op,
    outer: Sequence[TensorType],
    inner: Sequence[TensorType],
    make: Make,
    inputs: Sequence[InputPort],
    outputs: Sequence[OutputPort],
    *,
    iteration: int | None = None,
    condition: int | None = None,
) -> Model:
    """A model with a single loop, whose inputs and outputs are those of the model."""
    graph = Graph("test")
    builder = Builder(graph)
    given = [builder.parameter(f"in{at}", type) for at, type in enumerate(outer)]
    inside = builder.nested("body")
    parameters = [inside.parameter(f"p{at}", type) for at, type in enumerate(inner)]
    for at, value in enumerate(make(inside, parameters)):
        inside.result(value, f"r{at}")
    ports = PortMap(tuple(inputs), tuple(outputs), iteration, condition)
    body = Body("body", inside.graph, ports)
    node = builder.emit(op, *given, n_outputs=len(outputs), name="loop", bodies=(body,))
    for at, value in enumerate(node.outputs):
        builder.result(value, f"out{at}")
    return Model(graph, "openvino", 11)


def run(subject: Model, *inputs: Any, limits: Limits | None = None) -> list[Any]:
    return list(Session(subject).run(list(inputs), limits=limits).values())


def add_one(builder: Builder, values: Sequence[Value]) -> Value:
    return builder(Add(), values[0], builder.constant(1.0, F32))


def counting(
    *outputs: OutputPort,
    trip: TensorType | None = None,
    condition: TensorType | None = None,
) -> Model:
    """A Loop over x -> x + 1; result 0 is the condition (always true), result 1 the state."""

    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        return [builder.constant(True, BOOL), add_one(builder, values)]

    return model(
        Loop(),
        [trip or t(I64), condition or t(BOOL), t(F32, 2)],
        [t(F32, 2)],
        make,
        [Carried(2, 0, 1)],
        outputs or [LastValue(1, 0)],
        condition=0,
    )


X = np.array([1.0, 5.0], np.float32)


@pytest.mark.parametrize("count", [1, 2, 3, 20, 200])
def test_a_state_is_carried_from_iteration_to_iteration(count: int) -> None:
    (last,) = run(counting(), np.array(count), np.array(True), X)
    np.testing.assert_array_equal(last, X + count)


@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("element", [I32, I64])
def test_trip_counts_of_both_types_and_shapes(element: ElementType, shape: tuple[int, ...]) -> None:
    subject = counting(trip=t(element, *shape), condition=t(BOOL, *shape))
    trip = np.full(shape, 3, element.numpy())
    (last,) = run(subject, trip, np.ones(shape, bool), X)
    np.testing.assert_array_equal(last, X + 3)


@pytest.mark.parametrize(("trip", "condition"), [(0, True), (0, False), (5, False)])
def test_zero_iterations_leave_states_and_concatenate_nothing(trip: int, condition: bool) -> None:
    subject = counting(LastValue(1, 0), Concatenated(1, 1, axis=0))
    last, parts = run(subject, np.array(trip), np.array(condition), X)
    np.testing.assert_array_equal(last, X)
    assert parts.shape == (0,)
    assert parts.dtype == np.float32


def test_zero_iterations_keep_the_other_dimensions_that_are_known() -> None:
    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        return [builder.constant(True, BOOL), add_one(builder, values)]

    subject = model(
        Loop(),
        [t(I64), t(BOOL), t(F32, 4, None)],
        [t(F32, 4, None)],
        make,
        [Carried(2, 0, 1)],
        [Concatenated(1, 0, axis=1), Concatenated(1, 1, axis=0)],
        condition=0,
    )
    columns, rows = run(subject, np.array(0), np.array(True), np.zeros((4, 3), np.float32))
    assert columns.shape == (4, 0)
    assert rows.shape == (0, 0)


def test_zero_iterations_without_a_back_edge_return_zeros_and_a_note() -> None:
    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        return [builder.constant(True, BOOL), add_one(builder, values)]

    subject = model(
        Loop(),
        [t(I64), t(BOOL), t(F32, 2)],
        [t(F32, 2)],
        make,
        [Invariant(2, 0)],
        [LastValue(1, 0)],
        condition=0,
    )
    session = Session(subject)
    (last,) = session.run([np.array(0), np.array(True), X]).values()
    np.testing.assert_array_equal(last, np.zeros(2, np.float32))
    assert [note.code for note in session.notes] == ["RUN004"]
    (last,) = session.run([np.array(4), np.array(True), X]).values()
    np.testing.assert_array_equal(last, X + 1)
    assert session.notes == ()


def test_minus_one_is_no_limit_and_the_condition_ends_the_loop() -> None:
    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        state = add_one(builder, values)
        return [builder(Less(), state, builder.constant(10.5, F32)), state]

    subject = model(
        Loop(),
        [t(I64), t(BOOL), t(F32, 1)],
        [t(F32, 1)],
        make,
        [Carried(2, 0, 1)],
        [LastValue(1, 0), Concatenated(1, 1, axis=0)],
        condition=0,
    )
    last, parts = run(subject, np.array(-1), np.array(True), np.array([0.0], np.float32))
    # 11 is the first value that is not below 10.5, and the iteration that computes it counts.
    np.testing.assert_array_equal(last, [11.0])
    np.testing.assert_array_equal(parts, np.arange(1.0, 12.0, dtype=np.float32))


def test_the_trip_count_ends_a_loop_whose_condition_stays_true() -> None:
    last, parts = run(
        counting(LastValue(1, 0), Concatenated(1, 1, axis=0)), np.array(2), np.array(True), X
    )
    np.testing.assert_array_equal(last, X + 2)
    np.testing.assert_array_equal(parts, [2, 6, 3, 7])


@pytest.mark.parametrize(("trips", "ran"), [(3, 3), (0, 0), (-1, 5), (-2, 5), (-5, 5)])
def test_a_negative_trip_count_is_no_limit(trips: int, ran: int) -> None:
    """As in OpenVINO, which counts until the number of the iteration equals the trip count."""
    m = IrModel()
    loop = m.loop(m.input("n", element=I64))
    state = loop.state(m.input("x", 2))
    loop.carry(state, loop(Add(), state, loop.constant(1.0)))
    loop.condition(loop(Less(), loop.iteration(), loop.constant(4, I64)))
    loop.last_of(state)
    subject = m.done(*loop.done())
    for each in (subject, to_onnx(subject)[0]):
        np.testing.assert_array_equal(run(each, np.array(trips), X)[0], X + ran)


def test_a_loop_without_end_reaches_the_limit_that_names_it() -> None:
    with pytest.raises(LimitError, match=r"Loop-5 'loop'.*limit of 5000 iterations"):
        run(counting(), np.array(-1), np.array(True), X, limits=Limits(max_iterations=5000))


def test_a_loop_without_end_reaches_the_time_limit() -> None:
    with pytest.raises(LimitError, match="time limit"):
        run(counting(), np.array(-1), np.array(True), X, limits=Limits(max_seconds=0.1))


def test_a_loop_whose_body_condition_is_always_false_runs_once() -> None:
    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        return [builder.constant(False, BOOL), add_one(builder, values)]

    subject = model(
        Loop(),
        [t(I64), t(BOOL), t(F32, 2)],
        [t(F32, 2)],
        make,
        [Carried(2, 0, 1)],
        [LastValue(1, 0), Concatenated(1, 1, axis=0)],
        condition=0,
    )
    last, parts = run(subject, np.array(7), np.array(True), X)
    np.testing.assert_array_equal(last, X + 1)
    np.testing.assert_array_equal(parts, X + 1)


@pytest.mark.parametrize("element", [I32, I64])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_the_iteration_number_has_the_type_that_the_body_declares(
    element: ElementType, shape: tuple[int, ...]
) -> None:
    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        return [builder.constant(True, BOOL), values[0], builder(Add(), values[1], values[0])]

    subject = model(
        Loop(),
        [t(I64), t(BOOL), t(element, 1)],
        [t(element, *shape), t(element, 1)],
        make,
        [Carried(2, 1, 2)],
        [LastValue(2, 0), Concatenated(1, 1, axis=0)],
        iteration=0,
        condition=0,
    )
    start = np.array([100], element.numpy())
    total, numbers = run(subject, np.array(5), np.array(True), start)
    np.testing.assert_array_equal(total, [110])
    np.testing.assert_array_equal(numbers, [0, 1, 2, 3, 4])
    assert numbers.dtype == element.numpy()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 100])
def test_back_edges_are_simultaneous_in_a_swap(count: int) -> None:
    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        return [builder.constant(True, BOOL), values[1], values[0]]

    subject = model(
        Loop(),
        [t(I64), t(BOOL), t(F32, 1), t(F32, 1)],
        [t(F32, 1), t(F32, 1)],
        make,
        [Carried(2, 0, 1), Carried(3, 1, 2)],
        [LastValue(1, 0), LastValue(2, 1)],
        condition=0,
    )
    a, b = np.array([1], np.float32), np.array([2], np.float32)
    first, second = run(subject, np.array(count), np.array(True), a, b)
    wanted = (b, a) if count % 2 else (a, b)
    np.testing.assert_array_equal(first, wanted[0])
    np.testing.assert_array_equal(second, wanted[1])


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_back_edges_are_simultaneous_in_a_delay_line(count: int) -> None:
    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        return [builder.constant(True, BOOL), add_one(builder, values), values[0], values[1]]

    subject = model(
        Loop(),
        [t(I64), t(BOOL), t(F32, 1), t(F32, 1), t(F32, 1)],
        [t(F32, 1), t(F32, 1), t(F32, 1)],
        make,
        [Carried(2, 0, 1), Carried(3, 1, 2), Carried(4, 2, 3)],
        [LastValue(1, 0), LastValue(2, 1), LastValue(3, 2)],
        condition=0,
    )
    a, b, c = (np.array([value], np.float32) for value in (0, 10, 20))
    found = run(subject, np.array(count), np.array(True), a, b, c)
    state = (0.0, 10.0, 20.0)
    for _ in range(count):
        state = (state[0] + 1, state[0], state[1])
    assert [float(value[0]) for value in found] == list(state)


def test_fibonacci() -> None:
    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        return [builder.constant(True, BOOL), values[1], builder(Add(), values[0], values[1])]

    subject = model(
        Loop(),
        [t(I64), t(BOOL), t(I64), t(I64)],
        [t(I64), t(I64)],
        make,
        [Carried(2, 0, 1), Carried(3, 1, 2)],
        [Concatenated(1, 0, axis=0)],
        condition=0,
    )
    (numbers,) = run(subject, np.array(8), np.array(True), np.array(0), np.array(1))
    np.testing.assert_array_equal(numbers, [1, 1, 2, 3, 5, 8, 13, 21])


def test_one_result_may_feed_two_states_and_two_outputs() -> None:
    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        return [builder.constant(True, BOOL), builder(Add(), values[0], values[1])]

    subject = model(
        Loop(),
        [t(I64), t(BOOL), t(F32, 1), t(F32, 1)],
        [t(F32, 1), t(F32, 1)],
        make,
        [Carried(2, 0, 1), Carried(3, 1, 1)],
        [LastValue(1, 0), Concatenated(1, 1, axis=0)],
        condition=0,
    )
    one = np.ones(1, np.float32)
    last, parts = run(subject, np.array(3), np.array(True), one, one)
    np.testing.assert_array_equal(last, [8])
    np.testing.assert_array_equal(parts, [2, 4, 8])


def gathering(part: int, axis: int, stride: int, inner: tuple[int, ...] = ()) -> Model:
    """A Loop that concatenates iteration number + state, with the shape [2, part] or `inner`."""
    shape = inner or (2, part)

    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        number = builder(Convert(F32), values[0])
        return [builder.constant(True, BOOL), builder(Add(), values[1], number)]

    return model(
        Loop(),
        [t(I64), t(BOOL), t(F32, *shape)],
        [t(I64), t(F32, *shape)],
        make,
        [Invariant(2, 1)],
        [Concatenated(1, 0, axis=axis, start=0, end=-1, stride=stride, part_size=part)],
        iteration=0,
        condition=0,
    )


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("part", [1, 2, 3])
def test_outputs_are_joined_along_any_axis_forwards_and_backwards(
    axis: int, sign: int, part: int
) -> None:
    base = np.arange(2.0 * part, dtype=np.float32).reshape(2, part)
    (found,) = run(gathering(part, axis, sign * part), np.array(4), np.array(True), base)
    parts = [base + i for i in range(4)][::sign]
    np.testing.assert_array_equal(found, np.concatenate(parts, axis=axis))


@pytest.mark.parametrize("sign", [1, -1])
def test_scalars_are_joined_to_a_vector(sign: int) -> None:
    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        return [builder.constant(True, BOOL), builder(Multiply(), values[0], values[0])]

    subject = model(
        Loop(),
        [t(I64), t(BOOL)],
        [t(I64)],
        make,
        [],
        [Concatenated(1, 0, axis=0, stride=sign)],
        iteration=0,
        condition=0,
    )
    (found,) = run(subject, np.array(5), np.array(True))
    np.testing.assert_array_equal(found, [0, 1, 4, 9, 16][::sign])


def growing(*outputs: OutputPort) -> Model:
    """A Loop with the state concat(x, 1)."""

    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        longer = builder(Concat(0), values[0], builder.constant([1.0], F32))
        return [builder.constant(True, BOOL), longer]

    return model(
        Loop(),
        [t(I64), t(BOOL), t(F32, None)],
        [t(F32, None)],
        make,
        [Carried(2, 0, 1)],
        outputs,
        condition=0,
    )


@pytest.mark.parametrize("count", [1, 2, 5, 130])
def test_a_state_may_change_its_shape(count: int) -> None:
    (found,) = run(growing(LastValue(1, 0)), np.array(count), np.array(True), X)
    np.testing.assert_array_equal(found, np.concatenate([X, np.ones(count, np.float32)]))


def test_parts_that_change_their_shape_are_refused_by_name() -> None:
    with pytest.raises(ExecutionError, match=r"output 'loop' joins parts of different shapes") as e:
        run(growing(Concatenated(1, 0, axis=0)), np.array(3), np.array(True), X)
    finding = e.value.diagnostics[0]
    assert finding.found == "[4] in iteration 1"
    assert finding.expected == "[3] as in the first iteration"


def slicing(axis: int, stride: int, dims: tuple[int, ...], part: int = 1) -> Model:
    seen = list(dims)
    seen[axis] = part

    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        return [builder.constant(True, BOOL), builder(Add(), values[0], values[0])]

    return model(
        Loop(),
        [t(I64), t(BOOL), t(F32, *dims)],
        [t(F32, *seen)],
        make,
        [Sliced(2, 0, axis, stride=stride, part_size=part)],
        [Concatenated(1, 0, axis=axis, part_size=part)],
        condition=0,
    )


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("count", [1, 3, 4])
def test_a_loop_takes_only_the_slices_that_it_needs(axis: int, sign: int, count: int) -> None:
    data = np.arange(16.0, dtype=np.float32).reshape(4, 4)
    (found,) = run(slicing(axis, sign, (4, 4)), np.array(count), np.array(True), data)
    order = list(range(4))[::sign][:count]
    np.testing.assert_array_equal(found, 2 * np.take(data, order, axis=axis))


@pytest.mark.parametrize("count", [5, 100, -1])
def test_a_loop_that_runs_out_of_slices_is_an_error(count: int) -> None:
    data = np.zeros((4, 4), np.float32)
    with pytest.raises(ExecutionError, match="more iterations than slices of input 2"):
        run(slicing(0, 1, (4, 4)), np.array(count), np.array(True), data)


def iterator(
    sliced: Sequence[Sliced],
    dims: Sequence[tuple[int, ...]],
    *outputs: OutputPort,
) -> Model:
    """A TensorIterator whose body sums its slices (result 0)."""
    inner = []
    for port, shape in zip(sliced, dims, strict=True):
        seen = list(shape)
        seen[port.axis] = port.part_size
        inner.append(t(F32, *seen))

    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        total = values[0]
        for value in values[1:]:
            total = builder(Add(), total, value)
        return [builder(Add(), total, builder.constant(0.0, F32))]

    return model(TensorIterator(), [t(F32, *shape) for shape in dims], inner, make, sliced, outputs)


DATA = np.arange(12.0, dtype=np.float32).reshape(6, 2)


@pytest.mark.parametrize(
    ("start", "end", "stride", "rows"),
    [
        (0, -1, 1, [[0], [1], [2], [3], [4], [5]]),
        (-1, 0, -1, [[5], [4], [3], [2], [1], [0]]),
        (0, 6, 1, [[0], [1], [2], [3], [4], [5]]),
        (6, 0, -1, [[5], [4], [3], [2], [1], [0]]),
        (1, -1, 1, [[1], [2], [3], [4], [5]]),
        (0, -2, 1, [[0], [1], [2], [3], [4]]),
        (1, 4, 1, [[1], [2], [3]]),
        (-3, -1, 1, [[4], [5]]),
        (3, 0, -1, [[2], [1], [0]]),
        (-2, 0, -1, [[4], [3], [2], [1], [0]]),
        (-1, 2, -1, [[5], [4], [3], [2]]),
        (0, -1, 2, [[0, 1], [2, 3], [4, 5]]),
        (-1, 0, -2, [[4, 5], [2, 3], [0, 1]]),
        (0, -1, 3, [[0, 1, 2], [3, 4, 5]]),
        (2, -1, 2, [[2, 3], [4, 5]]),
        (0, -1, 6, [[0, 1, 2, 3, 4, 5]]),
    ],
)
def test_ranges_of_a_tensor_iterator(
    start: int, end: int, stride: int, rows: list[list[int]]
) -> None:
    port = Sliced(0, 0, 0, start, end, stride, abs(stride))
    subject = iterator(
        [port], [(6, 2)], Concatenated(0, 0, axis=0, part_size=abs(stride)), LastValue(0, 1)
    )
    parts, last = run(subject, DATA)
    np.testing.assert_array_equal(parts, DATA[[row for part in rows for row in part]])
    np.testing.assert_array_equal(last, DATA[rows[-1]])


@pytest.mark.parametrize("stride", [1, -2])
def test_slices_without_elements(stride: int) -> None:
    start, end = (0, -1) if stride > 0 else (-1, 0)
    port = Sliced(0, 0, 0, start, end, stride, abs(stride))
    joined = Concatenated(0, 0, 0, 0, -1, 1, abs(stride))
    parts, last = run(iterator([port], [(6, 0)], joined, LastValue(0, 1)), DATA[:, :0])
    assert parts.shape == (6, 0)
    assert last.shape == (abs(stride), 0)


@pytest.mark.parametrize(
    ("start", "end", "stride"), [(0, -1, 4), (0, -1, -1), (3, 3, 1), (0, 7, 1), (4, 1, 1)]
)
def test_invalid_ranges_are_refused(start: int, end: int, stride: int) -> None:
    port = Sliced(0, 0, 0, start, end, stride, abs(stride))
    inner = t(F32, abs(stride), 2)
    subject = model(
        TensorIterator(),
        [t(F32, None, 2)],
        [inner],
        lambda builder, values: [builder(Add(), values[0], values[0])],
        [port],
        [LastValue(0, 0)],
    )
    with pytest.raises(ExecutionError, match="input 0 cannot be sliced"):
        run(subject, DATA)


def test_backwards_in_and_backwards_out_keeps_the_order() -> None:
    backwards = Sliced(0, 0, 0, -1, 0, -1)
    subject = iterator([backwards], [(6, 2)], Concatenated(0, 0, 0, -1, 0, -1))
    np.testing.assert_array_equal(run(subject, DATA)[0], DATA)


def test_slices_of_two_axes_and_directions_together() -> None:
    other = np.arange(12.0, dtype=np.float32).reshape(2, 6) * 100
    ports = [Sliced(0, 0, 0), Sliced(1, 1, 1, -1, 0, -1)]
    subject = iterator(ports, [(6, 2), (2, 6)], Concatenated(0, 0, axis=0, part_size=2))
    wanted = [DATA[i : i + 1] + other[:, 5 - i : 6 - i] for i in range(6)]
    np.testing.assert_array_equal(run(subject, DATA, other)[0], np.concatenate(wanted))


@pytest.mark.parametrize(("stride", "rows"), [(2, [0, 2, 4]), (-2, [5, 3, 1]), (3, [0, 3])])
def test_a_stride_skips_the_elements_after_a_slice(stride: int, rows: list[int]) -> None:
    port = Sliced(0, 0, 0, *((0, -1) if stride > 0 else (-1, 0)), stride, 1)
    wanted = DATA[rows]
    subject = iterator([port], [(6, 2)], Concatenated(0, 0, axis=0))
    np.testing.assert_array_equal(run(subject, DATA)[0], wanted)
    converted, _ = to_onnx(subject)
    np.testing.assert_array_equal(run(converted, DATA)[0], wanted)
    looped = slicing(0, stride, (6, 2), 1)
    given = np.array(len(rows)), np.array(True), DATA
    np.testing.assert_array_equal(run(looped, *given)[0], wanted + wanted)
    np.testing.assert_array_equal(run(to_onnx(looped)[0], *given)[0], wanted + wanted)


def test_slices_longer_than_the_stride_are_refused() -> None:
    iterated = iterator([Sliced(0, 0, 0, 0, -1, 1, 2)], [(6, 2)], Concatenated(0, 0, 0))
    looped = slicing(0, 1, (6, 2), 2)
    for subject, name, given in (
        (iterated, "input 0", (DATA,)),
        (looped, "input 2", (np.array(2), np.array(True), DATA)),
    ):
        with pytest.raises(ExecutionError, match=f"part_size and stride of {name} disagree"):
            run(subject, *given)
        with pytest.raises(UnsupportedError, match=f"stride 1 of {name} disagree"):
            to_onnx(subject)


def test_an_axis_without_elements_is_no_iteration() -> None:
    m = IrModel()
    loop = m.tensor_iterator()
    part, state = loop.slice(m.input("x", None, 2), 0), loop.state(m.input("y", 1, 2))
    total = loop(Add(), state, part)
    loop.carry(state, total)
    loop.last(total)
    loop.joined(total, 0)
    model = m.done(*loop.done())
    for subject in (model, to_onnx(model)[0], to_onnx(model, prefer="loop")[0]):
        last, joined = run(subject, np.zeros((0, 2), np.float32), X[None])
        np.testing.assert_array_equal(last, X[None])
        assert joined.shape == (0, 2)


def test_slices_that_disagree_on_the_count_are_refused() -> None:
    subject = model(
        TensorIterator(),
        [t(F32, None, 2), t(F32, None, 2)],
        [t(F32, 1, 2), t(F32, 1, 2)],
        lambda builder, values: [builder(Add(), values[0], values[1])],
        [Sliced(0, 0, 0), Sliced(1, 1, 0)],
        [Concatenated(0, 0, axis=0)],
    )
    with pytest.raises(ExecutionError, match="different numbers of slices"):
        run(subject, DATA, DATA[:4])


@pytest.mark.parametrize(
    ("start", "end", "stride", "count"),
    [(0, 4, 1, 4), (4, 0, -1, 4), (0, -1, 1, 1), (0, 1, 1, 1), (0, 6, 2, 3)],
)
def test_without_slices_the_range_of_an_output_counts(
    start: int, end: int, stride: int, count: int
) -> None:
    subject = model(
        TensorIterator(),
        [t(F32, 1)],
        [t(F32, 1)],
        lambda builder, values: [add_one(builder, values)],
        [Carried(0, 0, 0)],
        [Concatenated(0, 0, 0, start, end, stride), LastValue(0, 1)],
    )
    parts, last = run(subject, np.zeros(1, np.float32))
    wanted = np.arange(1.0, count + 1.0, dtype=np.float32)
    np.testing.assert_array_equal(parts, wanted[::-1] if stride < 0 else wanted)
    np.testing.assert_array_equal(last, [count])


def test_a_tensor_iterator_without_any_range_runs_once() -> None:
    subject = model(
        TensorIterator(),
        [t(F32, 1)],
        [t(F32, 1)],
        lambda builder, values: [add_one(builder, values)],
        [Carried(0, 0, 0)],
        [LastValue(0, 0)],
    )
    np.testing.assert_array_equal(run(subject, np.zeros(1, np.float32))[0], [1])


def test_a_state_that_comes_back_as_an_integer_is_converted() -> None:
    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        half = builder(Multiply(), values[0], builder.constant(0.5, F32))
        return [builder.constant(True, BOOL), builder(Convert(I32), half)]

    subject = model(
        Loop(),
        [t(I64), t(BOOL), t(F32, 1)],
        [t(F32, 1)],
        make,
        [Carried(2, 0, 1)],
        [LastValue(1, 0), Concatenated(1, 1, axis=0)],
        condition=0,
    )
    last, parts = run(subject, np.array(3), np.array(True), np.array([27], np.float32))
    # The values 13.5, 6.5 and 3 are converted to 13, 6 and 3.
    np.testing.assert_array_equal(parts, [13, 6, 3])
    assert last.dtype == np.int32


def test_a_tensor_iterator_converts_what_enters_to_the_declared_type() -> None:
    subject = model(
        TensorIterator(),
        [t(ElementType.F16, 4), t(I32, 1)],
        [t(F32, 1), t(F32, 1)],
        lambda builder, values: [builder(Add(), values[0], values[1])],
        [Sliced(0, 0, 0), Carried(1, 1, 0)],
        [LastValue(0, 0)],
    )
    (found,) = run(subject, np.array([1, 2, 3, 4.5], np.float16), np.array([10], np.int32))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [20.5])


def test_a_loop_in_a_loop() -> None:
    def outer(builder: Builder, values: Sequence[Value]) -> list[Value]:
        inside = builder.nested("inner")
        number = inside.parameter("n", t(I64))
        state = inside.parameter("s", t(F32, 1))
        inside.result(inside.constant(True, BOOL), "c")
        inside.result(inside(Add(), state, inside(Convert(F32), number)), "s_next")
        ports = PortMap((Carried(2, 1, 1),), (LastValue(1, 0),), iteration=0, condition=0)
        body = Body("body", inside.graph, ports)
        # The inner trip count is the outer iteration number, so there is no inner iteration at
        # first.
        node = builder.emit(
            Loop(), values[0], builder.constant(True, BOOL), values[1], n_outputs=1, bodies=(body,)
        )
        return [builder.constant(True, BOOL), node.outputs[0]]

    subject = model(
        Loop(),
        [t(I64), t(BOOL), t(F32, 1)],
        [t(I64), t(F32, 1)],
        outer,
        [Carried(2, 1, 1)],
        [LastValue(1, 0), Concatenated(1, 1, axis=0)],
        iteration=0,
        condition=0,
    )
    last, parts = run(subject, np.array(6), np.array(True), np.zeros(1, np.float32))
    wanted = np.cumsum([sum(range(i)) for i in range(6)])
    np.testing.assert_array_equal(parts, wanted)
    np.testing.assert_array_equal(last, [wanted[-1]])


@pytest.mark.parametrize("parts", [1, 15, 16, 17, 33, 100])
def test_outputs_of_unknown_length_grow(parts: int) -> None:
    def make(builder: Builder, values: Sequence[Value]) -> list[Value]:
        state = add_one(builder, values)
        return [builder(Less(), state, values[1]), state]

    subject = model(
        Loop(),
        [t(I64), t(BOOL), t(F32, 1), t(F32, 1)],
        [t(F32, 1), t(F32, 1)],
        make,
        [Carried(2, 0, 1), Invariant(3, 1)],
        [Concatenated(1, 0, axis=0)],
        condition=0,
    )
    stop = np.array([parts], np.float32)
    (found,) = run(subject, np.array(1000), np.array(True), np.zeros(1, np.float32), stop)
    np.testing.assert_array_equal(found, np.arange(1.0, parts + 1.0))


def test_memory_is_refused_before_it_is_taken() -> None:
    with pytest.raises(LimitError, match="memory limit"):
        run(
            counting(Concatenated(1, 0, axis=0)),
            np.array(10**9),
            np.array(True),
            X,
            limits=Limits(max_memory=10**6, max_iterations=None),
        )


def test_a_condition_of_several_values_is_refused() -> None:
    subject = counting(condition=t(BOOL, None))
    with pytest.raises(ExecutionError, match="is not one value"):
        run(subject, np.array(2), np.array([True, True]), X)


@pytest.mark.parametrize("op", [Loop(), TensorIterator()])
def test_a_body_parameter_without_a_value_is_named(op: Op) -> None:
    """OpenVINO reads uninitialised memory (Loop) or refuses the file."""
    subject = model(
        op,
        [t(I64), t(BOOL)],
        [t(F32, 2), t(F32, 2)],
        lambda builder, values: [
            builder.constant(True, BOOL),
            builder(Concat(0), values[0], values[1]),
        ],
        [],
        [LastValue(1, 0)],
        condition=0,
    )
    with pytest.raises(ExecutionError, match="is read, but gets no value") as caught:
        Session(subject)
    assert {item.code for item in caught.value.diagnostics} == {"RUN001"}


def test_a_body_parameter_that_nobody_reads_needs_no_value() -> None:
    subject = model(
        Loop(),
        [t(I64), t(BOOL), t(F32, 2)],
        [t(F32, 2), t(F32, 2)],
        lambda builder, values: [builder.constant(True, BOOL), add_one(builder, values[:1])],
        [Carried(2, 0, 1)],
        [LastValue(1, 0)],
        condition=0,
    )
    (found,) = run(subject, np.array(2), np.array(True), np.array([1, 2], np.float32))
    np.testing.assert_array_equal(found, [3, 4])
