"""The rewriter keeps uses, order and `modified` correct; the verifier notices if they are not."""

from __future__ import annotations

import pytest

from irloop.dialects.openvino.elementwise import Add
from irloop.errors import VerifyError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Node
from irloop.graph.rewriter import Rewriter
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.graph.verify import verify

F32 = TensorType(ElementType.F32, Shape.of(2))


def chain() -> tuple[Graph, Node, Node]:
    """x -> first (x + x) -> second (first + x) -> out"""
    b = Builder(Graph("chain"))
    x = b.parameter("x", F32)
    first = b.emit(Add(), x, x, name="first")
    second = b.emit(Add(), first.output, x, name="second")
    b.result(second.output, "out")
    return b.graph, first, second


def test_uses_count_every_reading_position() -> None:
    graph, first, second = chain()
    (x,) = graph.inputs
    assert x.uses == ((first, 0), (first, 1), (second, 1))
    verify(graph)


def test_replacing_a_node_moves_readers_and_names() -> None:
    graph, first, second = chain()
    first.output.names = ("h",)
    rewriter = Rewriter(graph)
    before = rewriter.modified
    new = rewriter.insert(Add(), (graph.inputs[0], graph.inputs[0]), before=second, name="new")
    rewriter.replace_node(first, new.outputs)
    verify(graph)
    assert (before, rewriter.modified) == (False, True)
    # The node that was inserted has the name of the replaced node.
    assert [node.name for node in graph.nodes] == ["first", "second"]
    assert new.output.names == ("h",)
    assert second.inputs[0] is new.output


def test_a_used_node_cannot_be_erased() -> None:
    graph, first, _ = chain()
    with pytest.raises(VerifyError, match="still used"):
        Rewriter(graph).erase(first)
    verify(graph)


def test_the_same_op_again_is_no_change() -> None:
    graph, first, _ = chain()
    rewriter = Rewriter(graph)
    rewriter.replace_op(first, Add())
    rewriter.set_input(first, 0, graph.inputs[0])
    before = rewriter.modified
    rewriter.set_attributes(first, auto_broadcast="none")
    assert (before, rewriter.modified) == (False, True)
    assert first.op == Add(auto_broadcast="none")


def test_nodes_may_be_added_and_removed_while_walking() -> None:
    graph, first, second = chain()
    rewriter = Rewriter(graph)
    visited = []
    for node in graph.nodes:
        visited.append(node.name)
        if node is first:
            rewriter.insert(Add(), (first.output, first.output), before=second, name="between")
    assert visited == ["first", "between", "second"]
    for node in graph.nodes:
        if node.name == "between":
            rewriter.erase(node)
    assert [node.name for node in graph.nodes] == ["first", "second"]
    assert [node.name for node in reversed(graph)] == ["second", "first"]
    verify(graph)


def test_the_verifier_names_a_node_before_its_producer() -> None:
    graph, first, second = chain()
    Rewriter(graph).move_before(second, first)
    with pytest.raises(VerifyError, match="second: input 0 is not made before it"):
        verify(graph)


def test_the_verifier_finds_an_unrecorded_use() -> None:
    graph, first, _ = chain()
    first.inputs = (graph.inputs[0],)
    with pytest.raises(VerifyError, match="use that does not read it"):
        verify(graph)
