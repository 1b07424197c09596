"""Random loops with every legal port map, whose results passes and conversions must keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from irloop.dialects.openvino.comparison import Less
from irloop.dialects.openvino.control_flow import Loop, TensorIterator
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.elementwise import Add, Maximum, Multiply
from irloop.execution.session import run
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
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.graph.verify import verify

Array = np.ndarray[Any, np.dtype[Any]]
F32 = ElementType.F32
BLOCK = TensorType(F32, Shape.of(2, 2))


@dataclass(frozen=True)
class Plan:
    """The properties of a generated loop."""

    kind: str
    trips: int
    states: tuple[tuple[int, int], ...]
    slices: tuple[tuple[int, bool, int], ...]
    joined: tuple[tuple[int, int, bool], ...]
    stop_after: int | None
    runtime_trip: bool
    uses_iteration: bool
    invariant: bool
    #: Outputs of the loop that are no outputs of the model, unless all would be.
    unread: frozenset[int] = frozenset()


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Any loop that both formats allow."""
    kind = draw(st.sampled_from(["Loop", "TensorIterator"]))
    n_states = draw(st.integers(1, 3))
    low = 0 if kind == "Loop" else 1
    slices = draw(
        st.lists(
            st.tuples(st.integers(0, 1), st.booleans(), st.integers(1, 2)),
            max_size=2,
        )
    )
    joined = draw(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1), st.booleans()), max_size=2)
    )
    trips = draw(st.integers(low, 4))
    if kind == "TensorIterator" and not slices and not joined:
        # Nothing sets the trip count.
        trips = 1
    return Plan(
        kind=kind,
        trips=trips,
        # Each state becomes the sum of two values of the body, or one value itself.
        states=tuple((draw(st.integers(0, 9)), draw(st.integers(-1, 9))) for _ in range(n_states)),
        slices=tuple(slices),
        joined=tuple(joined),
        stop_after=draw(st.none() | st.integers(0, 3)) if kind == "Loop" else None,
        runtime_trip=draw(st.booleans()) and kind == "Loop",
        uses_iteration=draw(st.booleans()) and kind == "Loop",
        invariant=draw(st.booleans()),
        unread=draw(st.frozensets(st.integers(0, 4), max_size=4)),
    )


def build(plan: Plan) -> tuple[Model, list[Array]]:
    """The model of a plan and inputs for it."""
    rng = np.random.default_rng(0)
    b = Builder(Graph("drawn"))
    arrays: list[Array] = []

    def outer(name: str, shape: tuple[int, ...]) -> Value:
        arrays.append(rng.integers(-3, 4, shape).astype(np.float32))
        return b.parameter(name, TensorType(F32, Shape(shape)), (name,))

    inner = b.nested("body")
    externals: list[Value] = []
    ports: list[InputPort] = []
    pool: list[Value] = []
    parameters: list[Value] = []

    def parameter(name: str, type: TensorType) -> Value:
        value = inner.parameter(name, type)
        parameters.append(value)
        return value

    if plan.kind == "Loop":
        if plan.runtime_trip:
            arrays.append(np.array(plan.trips, np.int64))
            trip = b.parameter("trip", TensorType(ElementType.I64, Shape(())), ("trip",))
        else:
            trip = b.i64(plan.trips)
        externals += [trip, b.constant(True, ElementType.BOOLEAN)]
    first_result = 1 if plan.kind == "Loop" else 0
    for index in range(len(plan.states)):
        externals.append(outer(f"state{index}", (2, 2)))
        ports.append(Carried(len(externals) - 1, len(parameters), first_result + index))
        pool.append(parameter(f"s{index}", BLOCK))
    for index, (axis, reverse, part) in enumerate(plan.slices):
        shape = [2, 2]
        shape[axis] = plan.trips * part
        externals.append(outer(f"sliced{index}", tuple(shape)))
        seen = [2, 2]
        seen[axis] = part
        start, end, stride = (-1, 0, -part) if reverse else (0, -1, part)
        ports.append(Sliced(len(externals) - 1, len(parameters), axis, start, end, stride, part))
        value = parameter(f"x{index}", TensorType(F32, Shape(tuple(seen))))
        # A slice of one row or column is broadcast to the shape of the states.
        pool.append(inner(Maximum(), value, inner.constant(np.full((2, 2), -1.0), F32)))
    if plan.invariant:
        externals.append(outer("fixed", (2, 2)))
        ports.append(Invariant(len(externals) - 1, len(parameters)))
        pool.append(parameter("f", BLOCK))
    iteration = None
    goes_on = None
    if plan.kind == "Loop":
        goes_on = inner.constant(True, ElementType.BOOLEAN)
    if plan.uses_iteration or plan.stop_after is not None:
        iteration = len(parameters)
        number = parameter("i", TensorType(ElementType.I64, Shape(())))
        pool.append(inner(Add(), pool[0], inner(Convert(F32), number)))
        if plan.stop_after is not None:
            goes_on = inner(Less(), number, inner.i64(plan.stop_after))
    pool.append(inner(Multiply(), pool[0], inner.constant(0.5, F32)))
    results: list[Value] = [] if goes_on is None else [goes_on]
    for left, right in plan.states:
        value = pool[left % len(pool)]
        if right >= 0:
            value = inner(Add(), value, pool[right % len(pool)])
        results.append(value)
    outputs: list[OutputPort] = [
        LastValue(first_result + index, index) for index in range(len(plan.states))
    ]
    # Without slices, a TensorIterator counts by the range of its output.
    counts = plan.kind == "TensorIterator" and not plan.slices
    for source, axis, reverse in plan.joined:
        whole = 2 * plan.trips if counts else -1
        start, end, stride = (whole, 0, -2) if reverse else (0, whole, 2)
        outputs.append(Concatenated(len(results), len(outputs), axis, start, end, stride, 2))
        results.append(pool[source % len(pool)])
    for index, value in enumerate(results):
        inner.result(value, f"r{index}")
    op = Loop() if plan.kind == "Loop" else TensorIterator()
    condition = 0 if plan.kind == "Loop" else None
    body = Body("body", inner.graph, PortMap(tuple(ports), tuple(outputs), iteration, condition))
    node = b.emit(op, *externals, n_outputs=len(outputs), bodies=(body,), name="loop")
    read = [at for at in range(len(outputs)) if at not in plan.unread] or range(len(outputs))
    for index in read:
        value = node.outputs[index]
        value.names = (f"out{index}",)
        b.result(value, f"out{index}")
    verify(b.graph)
    return Model(b.graph, "openvino", 10), arrays


def values(model: Model, arrays: list[Array]) -> list[Array]:
    """The outputs of a model in irloop's executor."""
    return list(run(model, arrays).values())
