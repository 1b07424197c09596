"""Finds the captures of a file's bodies, and an order in which its nodes can run.

Names in a GraphProto may come from its outer graphs. A `GraphSource` is a GraphProto with its
nodes, the bodies of each node, and the names it captures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import onnx

from irloop.diagnostics import Location
from irloop.errors import ReadError
from irloop.formats.onnx.attributes import kind_of
from irloop.formats.onnx.decoded import DecodedNode, decode
from irloop.formats.onnx.types import not_text, require_text

__all__ = [
    "GraphSource",
    "NodeSource",
    "body_inputs",
    "inside",
    "label_of",
    "order_of",
    "source_of",
    "step_into",
]

_NO_BODIES: Mapping[str, GraphSource] = MappingProxyType({})


def label_of(proto: onnx.NodeProto) -> str:
    """The name of a node or, without a name, its type and first output."""
    first = next((name for name in proto.output if name), "")
    return proto.name or (f"{proto.op_type}({first})" if first else proto.op_type)


def step_into(proto: onnx.NodeProto, attribute: str) -> str:
    """The path from a graph into a body of one of its nodes, as in ``If_2/then``."""
    return f"{label_of(proto)}/{attribute.removesuffix('_branch')}"


def inside(error: ReadError, path: str) -> ReadError:
    """Return a copy of `error` in which `path` precedes the path of each diagnostic.

    `path` is the path of the body or node in which the error occurred.
    """
    placed = [
        replace(
            item,
            location=replace(
                item.location, path="/".join(filter(None, (path, item.location.path)))
            ),
        )
        for item in error.diagnostics
    ]
    return ReadError(error.message, diagnostics=placed)


@dataclass(slots=True, eq=False, repr=False)
class NodeSource:
    """A node and the graphs in its attributes, keyed by label: ``body``, ``branches[0]``."""

    decoded: DecodedNode
    bodies: Mapping[str, GraphSource]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs; an omitted one is empty."""
        return self.decoded.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs; an omitted one is empty."""
        return self.decoded.outputs

    @property
    def proto(self) -> onnx.NodeProto:
        """The node in the file."""
        return self.decoded.proto

    @property
    def needs(self) -> tuple[str, ...]:
        """The names that the node reads: its inputs, and the outer names that its bodies use."""
        if not self.bodies:
            return self.inputs
        captured = [name for body in self.bodies.values() for name in body.captures]
        return (*self.inputs, *captured)


@dataclass(slots=True, eq=False, repr=False)
class GraphSource:
    """A GraphProto, with its nodes, its inputs and the values that it captures.

    `captures` are the names of values of outer graphs, in the order of their first use. `inputs`
    are the inputs without default values.
    """

    proto: onnx.GraphProto
    nodes: list[NodeSource]
    inputs: list[onnx.ValueInfoProto]
    captures: tuple[str, ...]


def source_of(
    proto: onnx.GraphProto,
    limit: int | None = None,
    decoded: Sequence[DecodedNode] | None = None,
) -> GraphSource:
    """Return the nodes, inputs and captured outer values of a graph and of all its bodies.

    Some exporters declare more inputs for a body than its node feeds. The surplus inputs have the
    names of outer values and count as captures. `limit` is the number of inputs that the node
    feeds; None means all. `decoded` are the nodes of the graph, if they are decoded already.

    Raises:
        ReadError: when a name of the graph or of a body is not UTF-8, or is defined twice.
    """
    _require_names(proto)
    if decoded is None:
        decoded = decode(proto)
    if not all(node.is_text for node in decoded):
        raise not_text("a name of a node")
    nodes = [_node_source(node) for node in decoded]
    own = {item.name for item in proto.initializer}
    own.update(item.values.name for item in proto.sparse_initializer)
    inputs = [item for item in proto.input if item.name not in own][:limit]
    own.update(item.name for item in inputs)
    for node in nodes:
        for name in node.outputs:
            if name and name in own:
                raise _defined_twice(proto, node.proto, name)
            own.add(name)
    captures: dict[str, None] = {}
    for node in nodes:
        captures.update((name, None) for name in node.needs if name not in own)
    captures.update((item.name, None) for item in proto.output if item.name not in own)
    captures.pop("", None)
    return GraphSource(proto, nodes, inputs, tuple(captures))


def _defined_twice(graph: onnx.GraphProto, node: onnx.NodeProto, name: str) -> ReadError:
    place = label_of(node)
    return ReadError(
        f"{name!r} is defined twice in graph {graph.name!r}",
        location=Location(path=place),
        expected="one input, initializer or node that defines it",
        found=f"{node.op_type} {place!r} defines it too",
    )


def _require_names(proto: onnx.GraphProto) -> None:
    names = [proto.name, proto.doc_string]
    for items in (proto.input, proto.output, proto.value_info, proto.initializer):
        names += [item.name for item in items]
    names += [item.values.name for item in proto.sparse_initializer]
    for entry in proto.metadata_props:
        names += [entry.key, entry.value]
    require_text(names, "a name of a graph")


def _node_source(node: DecodedNode) -> NodeSource:
    if not node.attributes:
        return NodeSource(node, _NO_BODIES)
    proto = node.proto
    bodies: dict[str, GraphSource] = {}
    for attribute in node.attributes:
        kind = kind_of(attribute)
        if kind == onnx.AttributeProto.GRAPH:
            try:
                bodies[attribute.name] = source_of(attribute.g, body_inputs(proto))
            except ReadError as error:
                raise inside(error, step_into(proto, attribute.name)) from None
        elif kind == onnx.AttributeProto.GRAPHS:
            for index, graph in enumerate(attribute.graphs):
                bodies[f"{attribute.name}[{index}]"] = source_of(graph)
    return NodeSource(node, bodies)


def body_inputs(proto: onnx.NodeProto) -> int | None:
    """The number of body inputs that a node feeds; None if that is unknown."""
    if proto.domain not in ("", "ai.onnx"):
        return None
    counts = {"If": 0, "Loop": max(2, len(proto.input)), "Scan": len(proto.input)}
    return counts.get(proto.op_type)


def order_of(graph: GraphSource) -> list[NodeSource]:
    """Return the nodes in an order in which each node comes after those that compute its inputs.

    If the file has such an order already, it is kept.

    Raises:
        ReadError: when nodes form a cycle; the message names these nodes.
    """
    if _is_in_order(graph):
        return graph.nodes
    makers: dict[str, int] = {}
    for index, node in enumerate(graph.nodes):
        for name in node.outputs:
            if name:
                makers.setdefault(name, index)
    order: list[int] = []
    state = [0] * len(graph.nodes)
    for start in range(len(graph.nodes)):
        if state[start] == 0:
            _visit(graph, start, makers, state, order)
    return [graph.nodes[index] for index in order]


def _is_in_order(graph: GraphSource) -> bool:
    """Return whether every node comes after all nodes whose outputs it reads.

    This holds for most files.
    """
    later: set[str] = set()
    for node in reversed(graph.nodes):
        later.update(node.outputs)
        later.discard("")
        if not later.isdisjoint(node.needs):
            return False
    return True


def _visit(
    graph: GraphSource, start: int, makers: dict[str, int], state: list[int], order: list[int]
) -> None:
    stack = [(start, iter(graph.nodes[start].needs))]
    state[start] = 1
    while stack:
        index, needs = stack[-1]
        for name in needs:
            maker = makers.get(name)
            if maker is None or state[maker] == 2:
                continue
            if state[maker] == 1:
                raise _cycle(graph, [item for item, _ in stack], maker, name)
            state[maker] = 1
            stack.append((maker, iter(graph.nodes[maker].needs)))
            break
        else:
            stack.pop()
            state[index] = 2
            order.append(index)


def _cycle(graph: GraphSource, stack: list[int], maker: int, name: str) -> ReadError:
    nodes = [graph.nodes[index].proto for index in stack[stack.index(maker) :]]
    names = [f"{node.op_type} {node.name or node.output[0]!r}" for node in nodes[:8]]
    return ReadError(
        f"the nodes of graph {graph.proto.name!r} form a cycle through {name!r}",
        location=Location(path=label_of(nodes[0])),
        expected="nodes that can be put into an order",
        found=" -> ".join(reversed(names)) + (" ..." if len(nodes) > 8 else ""),
    )
