"""Port maps have one normal form in both dialects."""

from __future__ import annotations

from irloop.dialects.openvino.control_flow import TensorIterator
from irloop.dialects.openvino.elementwise import Add
from irloop.graph.builder import Builder
from irloop.graph.loops import Carried, Concatenated, Invariant, LastValue, PortMap, Sliced
from irloop.graph.model import Body, Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.graph.verify import verify
from irloop.passes import PassConfig
from irloop.passes.common import CanonicalPorts
from tests.passes.texts import shown

F32 = ElementType.F32


def tensor(*dims: int) -> TensorType:
    return TensorType(F32, Shape.of(*dims))


def crooked() -> Model:
    """A TensorIterator in which every part that can be written in several ways has an unusual
    form.
    """
    b = Builder(Graph("crooked"))
    x = b.parameter("x", tensor(2, 5), ("x",))
    h = b.parameter("h", tensor(2, 1), ("h",))
    w = b.parameter("w", tensor(2, 1), ("w",))
    inner = b.nested("body")
    p, q = (inner.parameter(name, tensor(2, 1)) for name in "pq")
    a, keep = (inner.parameter(name, tensor(2, 1)) for name in ("a", "keep"))
    inner.parameter("unread", tensor(2, 1))
    once = inner(Add(), a, p, name="once")
    twice = inner(Add(), once, q, name="twice")
    third = inner(Add(), twice, keep, name="third")
    for value in (third, keep, third):
        inner.result(value, f"{value.name}/out")
    ports = PortMap(
        (
            Sliced(0, 0, -1, 5, 0, -1),
            Sliced(1, 1, -1, 5, -6, -1),
            Carried(2, 2, 0),
            Carried(3, 3, 1),
            Invariant(4, 4),
        ),
        (LastValue(0, 0), LastValue(1, 1), Concatenated(2, 2, -1, 0, -1, 1)),
    )
    node = b.emit(
        TensorIterator(),
        *(x, x, h, w, h),
        n_outputs=3,
        bodies=(Body("body", inner.graph, ports),),
        name="loop",
    )
    last, kept, joined = node.outputs
    b.result(b(Add(), last, kept, name="sum"), "sum")
    b.result(joined, "joined")
    verify(b.graph)
    return Model(b.graph, "openvino", 10)


def test_everything_is_written_in_the_normal_form() -> None:
    model = crooked()
    assert CanonicalPorts().run(model, PassConfig())
    verify(model.graph)
    assert shown(model) == (
        "loop.0, loop.1 = TensorIterator():\n"
        "  a from h, then third\n"
        "  p in x, axis 1, -1..0, -1, 1\n"
        "  keep is w\n"
        "  once = Add(a, p)\n"
        "  twice = Add(once, p)\n"
        "  third = Add(twice, keep)\n"
        "  loop.0 is third\n"
        "  loop.1 joins third, axis 1, 0..-1, 1, 1\n"
        "sum = Add(loop.0, w)\n"
        "-> sum, loop.1"
    )
    assert not CanonicalPorts().run(model, PassConfig())


def test_a_part_of_a_range_is_sliced_before_the_loop() -> None:
    model = crooked()
    (node,) = [node for node in model.graph.nodes if node.bodies]
    body = node.body()
    changed = tuple(
        Sliced(port.external, port.parameter, 1, 1, 4) if isinstance(port, Sliced) else port
        for port in body.ports.inputs
    )
    node.bodies = (Body("body", body.graph, PortMap(changed, body.ports.outputs)),)
    assert CanonicalPorts().run(model, PassConfig())
    text = shown(model)
    assert "StridedSlice(x, [0, 1], [0, 4], [1, 1])" in text
    assert "p in loop/StridedSlice, axis 1, 0..-1, 1, 1" in text
