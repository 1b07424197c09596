"""The wires of a loop follow replaced values, and states that share a value stay separate."""

from __future__ import annotations

import numpy as np
import pytest

from irloop.dialects.onnx import control_flow as onnx
from irloop.dialects.onnx import elementwise as onnx_elementwise
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino import elementwise as ov_elementwise
from irloop.execution.session import run
from irloop.graph.builder import Builder
from irloop.graph.loops import Carried, Invariant, LastValue, PortMap
from irloop.graph.model import Body, Graph, Model, Node, Value
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.graph.verify import verify
from irloop.graph.walk import all_graphs
from irloop.passes import Manager, Pass
from irloop.passes.common import CanonicalPorts, ChooseInitialStates, LowLatency
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.session import Session

PAIR = TensorType(ElementType.F32, Shape.of(2))
NUMBER = TensorType(ElementType.I64, Shape(()))
TRUTH = TensorType(ElementType.BOOLEAN, Shape(()))


def sharing(dialect: str) -> Model:
    """A loop with a, b = x, y; n times: a, b = a + b, a + b. The body does not read its input
    `unused`.
    """
    is_onnx = dialect == "onnx"
    b = Builder(Graph("sharing"))
    trip = b.parameter("n", NUMBER, ("n",))
    starts = b.parameter("starts", TRUTH, ("starts",))
    x, y = (b.parameter(name, PAIR, (name,)) for name in "xy")
    inner = b.nested("body")
    inner.parameter("iteration", NUMBER)
    goes_on = inner.parameter("goes_on", TRUTH)
    first, second = (inner.parameter(name, PAIR) for name in ("first", "second"))
    inner.parameter("unused", PAIR)
    added = inner(onnx_elementwise.Add() if is_onnx else ov_elementwise.Add(), first, second)
    inner.result(goes_on, "goes_on/out")
    inner.result(added, "first/out")
    inner.result(added, "second/out")
    ports = PortMap(
        (Carried(1, 1, 0), Carried(2, 2, 1), Carried(3, 3, 2), Invariant(4, 4)),
        (LastValue(1, 0), LastValue(2, 1)),
        0,
        0,
    )
    node = b.emit(
        onnx.Loop() if is_onnx else ov.Loop(),
        *(trip, starts, x, y, x),
        n_outputs=2,
        bodies=(Body("body", inner.graph, ports),),
        name="loop",
    )
    for value, name in zip(node.outputs, ("last_a", "last_b"), strict=True):
        b.result(value, name)
    verify(b.graph)
    return Model(b.graph, dialect, 21 if is_onnx else 15)


@pytest.mark.parametrize(
    ("dialect", "item"),
    [
        ("openvino", CanonicalPorts()),
        ("openvino", ChooseInitialStates()),
        ("openvino", LowLatency(keep_loops=True)),
        ("onnx", CanonicalPorts()),
    ],
    ids=lambda item: item if isinstance(item, str) else item.name,
)
@pytest.mark.parametrize(
    ("trips", "wanted"),
    [
        (0, ([1.0, 2.0], [10.0, 20.0])),
        (1, ([11.0, 22.0], [11.0, 22.0])),
        (2, ([22.0, 44.0], [22.0, 44.0])),
    ],
)
def test_states_with_one_next_value_keep_their_initial_values(
    dialect: str, item: Pass, trips: int, wanted: tuple[list[float], list[float]]
) -> None:
    given = {
        "n": np.asarray(trips, np.int64),
        "starts": np.asarray(True),
        "x": np.asarray([1, 2], np.float32),
        "y": np.asarray([10, 20], np.float32),
    }
    model = sharing(dialect)
    before = run(model, given)
    assert Manager([item], check=True).run_passes(model)
    after = run(model, given)
    for found in (before, after):
        assert [found[name].tolist() for name in ("last_a", "last_b")] == list(wanted)


def opened(model: Model) -> tuple[LoopWires, MatchRewriter, MatchRewriter]:
    """The wires of the loop, a rewriter of the graph around it, and one of its body."""
    (node,) = [node for node in model.graph.nodes if node.bodies]
    wires = LoopWires.of(node)
    assert wires is not None
    session = Session(model)
    return wires, session.rewriter(model.graph), session.rewriter(wires.graph)


def readers(model: Model) -> set[Node]:
    """Every node that reads a value of the model, bodies included."""
    found: set[Node] = set()
    for graph in all_graphs(model.graph):
        for node in (*graph.parameters, *graph.nodes):
            found |= {user for value in node.outputs for user, _ in value.uses}
    return found


def negated(rewriter: MatchRewriter, value: Value, before: Node | None) -> Value:
    op = ov_elementwise.Negative()
    return rewriter.insert(op, (value,), before=before, name="negated").output


def test_wires_follow_a_replacement_in_the_body() -> None:
    wires, _, inner = opened(sharing("openvino"))
    _, first, second = wires.states
    added = first.result
    assert added is not None
    assert second.result is added
    other = negated(inner, first.parameter, None)
    inner.replace_value(added, other)
    assert first.result is second.result is other
    assert [leaving.value for leaving in wires.outputs] == [other, other]
    # A value that a pass gives to a wire is followed as well.
    given = negated(inner, second.parameter, None)
    first.result = wires.outputs[0].value = wires.goes_on = given
    inner.replace_value(given, other)
    assert first.result is wires.outputs[0].value is wires.goes_on is other


def test_wires_follow_a_replacement_outside() -> None:
    model = sharing("openvino")
    wires, outer, _ = opened(model)
    trip, _, x, y = model.graph.inputs
    entering = [item for item in wires.inputs if item.outer is x]
    assert len(entering) == 2
    minus = negated(outer, y, wires.node)
    outer.replace_value(x, minus)
    assert [item.outer for item in entering] == [minus, minus]
    entering[0].outer = x
    assert [item.outer for item in entering] == [x, minus]
    outer.replace_value(x, y)
    assert entering[0].outer is y
    count = outer.insert(ov_elementwise.Abs(), (trip,), before=wires.node, name="count").output
    wires.trip = trip
    outer.replace_value(trip, count)
    assert wires.trip is count


def test_a_value_replaced_during_a_pass_is_connected_to_the_new_loop() -> None:
    model = sharing("openvino")
    wires, outer, inner = opened(model)
    _, first, _ = wires.states
    added = first.result
    assert added is not None
    first.result = negated(inner, added, None)
    wires.outputs[0].value = first.result
    # First a, b = -(a + b), a + b; then a * b replaces a + b, and -(a * b) is replaced by a * b.
    product = inner.insert(
        ov_elementwise.Multiply(), added.producer.inputs, before=added.producer, name="product"
    ).output
    inner.replace_value(added, product)
    inner.replace_value(first.result, product)
    inner.erase_unread([added.producer])
    wires.replace(wires.node.op, outer)
    verify(model.graph)
    assert all(node.graph is not None for node in readers(model))
    for trips, wanted in [(0, [[1, 2], [10, 20]]), (2, [[100, 1600], [100, 1600]])]:
        pairs = (np.array(pair, np.float32) for pair in ([1, 2], [10, 20]))
        found = run(model, [np.array(trips), np.array(True), *pairs])
        assert [value.tolist() for value in found.values()] == wanted


def test_reading_wires_changes_nothing() -> None:
    model = sharing("onnx")
    before = readers(model)
    opened(model)
    assert readers(model) == before


def _reads(count: int, dialect: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the wires of a loop with `count` states are read while they are numbered."""
    b = Builder(Graph("wide"))
    outer = [b.parameter("n", NUMBER), b.parameter("starts", TRUTH)]
    outer += [b.parameter(f"x{at}", PAIR) for at in range(count)]
    inner = b.nested("body")
    inner.parameter("iteration", NUMBER)
    inner.result(inner.parameter("goes_on", TRUTH), "goes_on/out")
    states = [inner.parameter(f"s{at}", PAIR) for at in range(count)]
    for at, state in enumerate(states):
        inner.result(state, f"s{at}/out")
    ports = PortMap(
        tuple(Carried(1 + at, 1 + at, at) for at in range(count + 1)),
        tuple(LastValue(1 + at, at) for at in range(count)),
        0,
        0,
    )
    op = onnx.Loop() if dialect == "onnx" else ov.Loop()
    body = Body("body", inner.graph, ports)
    node = b.emit(op, *outer, n_outputs=count, bodies=(body,), name="loop")
    wires = LoopWires.of(node)
    assert wires is not None
    found: list[object] = []

    def counted(end: tuple[Node, int]) -> Value:
        found.append(end)
        value = end[0].inputs[end[1]]
        assert value is not None
        return value

    monkeypatch.setattr("irloop.dialects.wire_ends.value_at", counted)
    wires.numbered(op)
    return len(found)


@pytest.mark.parametrize("dialect", ["onnx", "openvino"])
def test_the_work_for_the_wires_grows_with_their_number(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Formerly the work grew with the cube: a loop with 2,000 states took more than two minutes."""
    assert _reads(80, dialect, monkeypatch) <= 4.1 * _reads(20, dialect, monkeypatch)
