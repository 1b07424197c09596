"""Unrolling takes slices with constant indices, so slices must exist and be small."""

from __future__ import annotations

from dataclasses import replace

import pytest

from irloop.dialects.openvino.control_flow import TensorIterator
from irloop.dialects.openvino.elementwise import Abs
from irloop.graph.builder import Builder
from irloop.graph.loops import Concatenated, PortMap, Sliced
from irloop.graph.model import Body, Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.passes import PassConfig
from irloop.passes.common import FoldTrips, Unroll


def sliced(size: int, part: int) -> Model:
    """A TensorIterator that slices an input of `size` elements into parts."""
    b = Builder(Graph("sliced"))
    x = b.parameter("x", TensorType(ElementType.F32, Shape.of(size)), ("x",))
    inner = b.nested("body")
    p = inner.parameter("p", TensorType(ElementType.F32, Shape.of(part)))
    inner.result(inner(Abs(), p, name="r"), "r")
    ports = PortMap(
        (Sliced(0, 0, 0, stride=part, part_size=part),),
        (Concatenated(0, 0, 0, stride=part, part_size=part),),
    )
    body = Body("body", inner.graph, ports)
    node = b.emit(TensorIterator(), x, n_outputs=1, bodies=(body,), name="loop")
    b.result(node.outputs[0], "y")
    return Model(b.graph, "openvino", 11)


def has_loop(model: Model) -> bool:
    return any(isinstance(node.op, TensorIterator) for node in model.graph.nodes)


def test_small_slices_are_unrolled() -> None:
    model = sliced(6, 2)
    assert Unroll().run(model, PassConfig())
    assert not has_loop(model)


@pytest.mark.parametrize("unroll", [Unroll, FoldTrips])
@pytest.mark.parametrize(
    ("size", "part", "wrong"),
    [
        # The indices of such slices would take 64 GB.
        (1 << 31, 1 << 31, {}),
        (1 << 33, 1 << 31, {}),
        # Port maps of a file that claim more than the input has.
        (1, 1, {"part_size": 1 << 31}),
        (1, 1, {"part_size": 2}),
    ],
)
def test_other_slices_stay(
    unroll: type[Unroll], size: int, part: int, wrong: dict[str, int]
) -> None:
    model = sliced(size, part)
    (node,) = [node for node in model.graph.nodes if node.bodies]
    body = node.body()
    (port,) = body.ports.inputs
    assert isinstance(port, Sliced)
    inputs = (replace(port, **wrong),)
    node.bodies = (Body("body", body.graph, PortMap(inputs, body.ports.outputs)),)
    assert not unroll().run(model, PassConfig())
    assert has_loop(model)
