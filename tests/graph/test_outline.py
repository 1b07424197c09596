"""The outline of a graph: scopes and repeated blocks, and what holds for every graph."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

import pytest

import irloop
from irloop.graph.model import Graph, Node
from irloop.graph.op import Constant
from irloop.graph.outline import Group, Item, members, outline
from irloop.graph.repeats import Run, runs


def nodes_of(graph: Graph) -> list[Node]:
    operations = [node for node in graph.nodes if not isinstance(node.op, Constant)]
    return [*graph.parameters, *operations, *graph.results]


def chain(names: Iterable[str], operation: Callable[[int], str] = lambda _: "Relu") -> Graph:
    """A chain of operations with the given names."""
    b = irloop.Builder("onnx", opset=17)
    value = b.input("x", "f32", [2])
    for at, name in enumerate(names):
        value = b.op(operation(at), value, name=name)
    b.output("y", value)
    return b.model().graph


def layers(count: int, *, scoped: bool = False) -> Graph:
    """A stem, `count` layers of six operations with a residual edge and a shared input, a head."""
    b = irloop.Builder("onnx", opset=17)
    x, mask = b.input("x", "f32", [4, 4]), b.input("mask", "f32", [4, 4])
    x = b.op("Sqrt", b.op("Tanh", x, name="stem_1"), name="stem_2")
    for at in range(count):
        prefix = f"/net/layer.{at}/" if scoped else f"n{at}_"
        inner = b.op("MatMul", x, x, name=f"{prefix}scores")
        inner = b.op("Add", inner, mask, name=f"{prefix}masked")
        inner = b.op("Softmax", inner, axis=-1, name=f"{prefix}softmax")
        inner = b.op("MatMul", inner, x, name=f"{prefix}values")
        inner = b.op("Relu", inner, name=f"{prefix}relu")
        x = b.op("Add", x, inner, name=f"{prefix}sum")
    b.output("y", b.op("Sigmoid", x, name="head"))
    return b.model().graph


def net(seed: int) -> Graph:
    """A random graph; some operations have scopes, and some pieces of it repeat."""
    chosen = random.Random(seed)  # noqa: S311
    b = irloop.Builder("onnx", opset=17)
    values = [b.input("x", "f32", [2])]
    scopes = ["", "/a/b/", "/a/c.0/", "/a/c.1/", "d/"]
    kinds = [chosen.choice(["Relu", "Tanh", "Add", "Mul"]) for _ in range(chosen.randint(1, 9))]
    for at in range(chosen.randint(1, 80)):
        kind = kinds[at % len(kinds)] if chosen.random() < 0.95 else "Exp"
        count = 2 if kind in ("Add", "Mul") else 1
        near = values[-1] if chosen.random() < 0.7 else chosen.choice(values[-9:])
        inputs = [near, *[chosen.choice(values[-5:])][: count - 1]]
        values.append(b.op(kind, *inputs, name=f"{chosen.choice(scopes)}op{at}"))
    b.output("y", values[-1])
    return b.model().graph


def groups_in(items: Iterable[Item]) -> Iterator[Group]:
    for item in items:
        if isinstance(item, Group):
            yield item
            for copy in item.copies:
                yield from groups_in(copy)


def described(copy: tuple[Item, ...]) -> Any:
    """The operations of a copy with the positions in it that they read."""
    nodes = [node for item in copy for node in members(item)]
    places = {node: at for at, node in enumerate(nodes)}
    return [
        (node.op, [None if value is None else places.get(value.producer) for value in node.inputs])
        for node in nodes
    ]


@pytest.mark.parametrize("seed", range(60))
def test_every_node_is_in_one_group_and_the_order_is_executable(seed: int) -> None:
    nodes = nodes_of(net(seed))
    found = outline(nodes)
    flat = [node for item in found for node in members(item)]
    assert sorted(map(id, flat)) == sorted(map(id, nodes))
    places = {node: at for at, node in enumerate(flat)}
    for node in flat:
        for value in node.inputs:
            assert (
                value is None
                or value.producer not in places
                or places[value.producer] < places[node]
            )
    for group in groups_in(found):
        assert len(group.names) == len(group.copies)
        assert all(described(copy) == described(group.copies[0]) for copy in group.copies)


def test_layers_without_scopes_are_one_block_that_repeats() -> None:
    items = outline(nodes_of(layers(12)))
    (group,) = [item for item in items if isinstance(item, Group)]
    assert [len(group.copies), len(list(members(group)))] == [12, 72]
    # A block begins where a layer begins: there the fewest values are passed on.
    assert [node.name for node in members(group)][:6] == [
        "n0_scores", "n0_masked", "n0_softmax", "n0_values", "n0_relu", "n0_sum",
    ]  # fmt: skip
    names = [item.name for item in items if isinstance(item, Node)]
    assert names == ["x", "mask", "stem_1", "stem_2", "head", "y"]


def test_layers_with_scopes_are_one_block_with_their_names() -> None:
    items = outline(nodes_of(layers(12, scoped=True)))
    (block,) = [item for item in items if isinstance(item, Group)]
    assert block.names == tuple(f"net/layer/{at}" for at in range(12))
    assert [node.name for copy in block.copies for node in copy if isinstance(node, Node)][6] == (
        "/net/layer.1/scores"
    )


def test_a_scope_is_a_group_and_unnamed_nodes_inside_belong_to_it() -> None:
    names = ["/a/x", "Fused_1", "/a/y", "/a/z", "/b/x", "/b/y", "/b/z", "last"]
    kinds = ["Relu", "Tanh", "Exp", "Abs", "Neg", "Sqrt", "Floor", "Ceil"]
    items = outline(nodes_of(chain(names, kinds.__getitem__)))
    found = [
        (item.names, [node.name for node in members(item)])
        for item in items
        if isinstance(item, Group)
    ]
    assert found == [(("a",), names[:4]), (("b",), names[4:7])]


def test_scopes_that_a_file_mixes_are_kept_together() -> None:
    b = irloop.Builder("onnx", opset=17)
    left = right = b.input("x", "f32", [2])
    for at in range(4):
        left = b.op("Relu", left, name=f"/left/op{at}")
        right = b.op("Tanh", right, name=f"/right/op{at}")
    b.output("y", b.op("Add", left, right, name="sum"))
    items = outline(nodes_of(b.model().graph))
    assert [item.names[0] for item in items if isinstance(item, Group)] == ["left", "right"]


def test_short_graphs_have_no_groups() -> None:
    items = outline(nodes_of(chain(["a", "b", "c", "d"])))
    assert not any(isinstance(item, Group) for item in items)


def test_blocks_with_other_attributes_are_not_the_same() -> None:
    b = irloop.Builder("onnx", opset=17)
    value = b.input("x", "f32", [2, 2])
    for at in range(12):
        value = b.op("Softmax", value, axis=-1 if at < 6 else 0, name=f"s{at}")
        value = b.op("Relu", value, name=f"r{at}")
    b.output("y", value)
    found = list(groups_in(outline(nodes_of(b.model().graph))))
    assert [len(group.copies) for group in found] == [6, 6]


def test_a_very_large_graph_without_structure_is_in_parts() -> None:
    chosen = random.Random(0)  # noqa: S311
    kinds = [chosen.choice(["Relu", "Tanh", "Exp", "Abs", "Neg", "Sin"]) for _ in range(2500)]
    nodes = nodes_of(chain((f"op{at}" for at in range(2500)), kinds.__getitem__))
    items = outline(nodes)
    assert len(items) < 30
    assert all(isinstance(item, Group) for item in items)
    assert [node for item in items for node in members(item)] == nodes
    assert max(sum(1 for _ in members(item)) for item in items) <= 250 + 20


def test_runs_of_a_text() -> None:
    assert Run(1, 9, 2) in runs("xababababy")
    assert Run(0, 6, 1) in runs("aaaaaa")
    assert runs("abcdefgh") == set()
    assert runs("") == set()
    # Within a block the same element may occur several times.
    assert Run(0, 12, 4) in runs("aabcaabcaabc")


def steps_of(act: Callable[[], object]) -> int:
    """The number of bytecode instructions that an act takes: unlike time it is always the same."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("shape", ["chain", "layers", "scoped", "deep", "fan"])
def test_the_work_is_linear(shape: str) -> None:
    def graph(size: int) -> Graph:
        if shape == "chain":
            return chain(f"op{at}" for at in range(size))
        if shape == "deep":
            deep = "/".join("a" * 40)
            return chain(f"{deep}/{at % 7}/op{at}" for at in range(size))
        if shape == "fan":
            b = irloop.Builder("onnx", opset=17)
            x = b.input("x", "f32", [2])
            values = [b.op("Relu", x, name=f"{at % 3}/r{at}") for at in range(size)]
            b.output("y", b.op("Sum", *values, name="sum"))
            return b.model().graph
        return layers(size // 6, scoped=shape == "scoped")

    small, large = (nodes_of(graph(size)) for size in (240, 960))
    assert steps_of(lambda: outline(large)) < 6 * steps_of(lambda: outline(small))
