"""The memory of a graph that is taken apart is freed without the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from irloop.dialects.openvino.control_flow import TensorIterator
from irloop.dialects.openvino.elementwise import Add
from irloop.graph.loops import Carried, LastValue, PortMap
from irloop.graph.model import Body, Graph, Node, Value, take_apart


def loop_graph() -> Graph:
    """A TensorIterator whose body doubles its state."""
    body = Graph("body")
    state = body.add_parameter("state")
    body.add_result(body.add_node(Add(), "twice", (state, state), 1).output, "next")
    graph = Graph("main")
    ports = PortMap((Carried(0, 0, 0),), (LastValue(0, 0),))
    given = (graph.add_parameter("x"),)
    loop = graph.add_node(TensorIterator(), "loop", given, 1, bodies=(Body("body", body, ports),))
    graph.add_result(loop.output, "y")
    return graph


def left_of(build: Callable[[], Graph], end: Callable[[Graph], object]) -> int:
    """The number of nodes and values of a graph that are in memory when nothing refers to the
    graph.
    """
    gc.collect()
    gc.disable()
    try:
        before = {id(item) for item in gc.get_objects() if isinstance(item, Node | Value | Graph)}
        end(build())
        after = [item for item in gc.get_objects() if isinstance(item, Node | Value | Graph)]
        return sum(id(item) not in before for item in after)
    finally:
        gc.enable()


@pytest.mark.parametrize(("end", "left"), [(bool, 12), (take_apart, 0)])
def test_nothing_is_left_of_a_graph_taken_apart(end: Callable[[Graph], object], left: int) -> None:
    # Cycles keep both graphs alive, each with a parameter, an operation, a result and 2 values.
    assert left_of(loop_graph, end) == left
