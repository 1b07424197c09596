"""States that continue with one and the same value stay apart when a loop is put together anew."""

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
from irloop.graph.model import Body, Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.graph.verify import verify
from irloop.passes import Manager, Pass
from irloop.passes.common import CanonicalPorts, ChooseInitialStates, LowLatency

PAIR = TensorType(ElementType.F32, Shape.of(2))
NUMBER = TensorType(ElementType.I64, Shape(()))
TRUTH = TensorType(ElementType.BOOLEAN, Shape(()))


def sharing(dialect: str) -> Model:
    """a, b = x, y; n times: a, b = a + b, a + b.  `unused` enters and is not read."""
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
