"""The model in memory: values, nodes, bodies, graphs.

A `Graph` is closed: every value a body uses enters through one of its parameters. Inputs are
`Parameter` nodes and outputs are `Result` nodes, so that every use of a value is a node's
input. Graphs are built through `Graph` and `Builder`, and changed through `Rewriter`, which alone
keeps values and their uses consistent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

from irloop.diagnostics import (
    DRAWERS,
    MAKERS,
    NOWHERE,
    SHOWN_ROWS,
    Diagnostic,
    Location,
    html_picture,
    html_table,
    html_text,
)
from irloop.errors import UsageError
from irloop.graph.loops import Carried, PortMap
from irloop.graph.op import Constant, Op, Parameter, Result
from irloop.graph.tensor import Tensor
from irloop.graph.types import UNKNOWN_TYPE, ValueType

if TYPE_CHECKING:
    import onnx
    import openvino

__all__ = ["Body", "Graph", "Model", "Node", "Nodes", "Use", "Value", "result_type"]


class Value:
    """One output of a node.

    `names` are tensor names, by which users address a value; they are not the name of the
    node. `uses` are the (node, input position) pairs that read it.
    """

    __slots__ = ("_uses", "index", "info", "names", "producer", "type")

    def __init__(
        self,
        producer: Node,
        index: int,
        type: ValueType = UNKNOWN_TYPE,
        names: tuple[str, ...] = (),
    ) -> None:
        self.producer = producer
        self.index = index
        self.type = type
        self.names = names
        self.info: Mapping[str, Any] = _NOTHING
        # A dict keeps the order of uses and removes one in constant time.
        self._uses: dict[Use, None] = {}

    @property
    def uses(self) -> tuple[Use, ...]:
        """Every use of this value as a pair (node, input position).

        The uses are in the order in which they were added.
        """
        return tuple(self._uses)

    @property
    def is_used(self) -> bool:
        """Return whether some node reads this value."""
        return bool(self._uses)

    @property
    def is_output(self) -> bool:
        """Return whether the value is an output of its graph, that is, when a Result reads it."""
        return any(isinstance(user.op, Result) for user, _ in self._uses)

    @property
    def name(self) -> str:
        """The first tensor name, or one made from the producer's name."""
        if self.names:
            return self.names[0]
        if len(self.producer.outputs) == 1:
            return self.producer.name
        return f"{self.producer.name}.{self.index}"

    def __repr__(self) -> str:
        return f"<Value {self.name!r} {self.type}>"


_NOTHING: Mapping[str, Any] = {}
Use = tuple["Node", int]


@dataclass(slots=True)
class Body:
    """A graph owned by a node, and its wiring. `label` is body, then or else."""

    label: str
    graph: Graph
    ports: PortMap


class Node:
    """An operation in a graph.

    `inputs` hold None where an optional input is omitted. `attributes` holds the attributes in the
    file that the op class does not know; they are written back. `info` is runtime information.
    """

    __slots__ = (
        "_next",
        "_previous",
        "attributes",
        "bodies",
        "graph",
        "info",
        "inputs",
        "location",
        "name",
        "op",
        "outputs",
    )

    def __init__(self, op: Op, name: str, location: Location = NOWHERE) -> None:
        self.op = op
        self.name = name
        self.location = location
        self.inputs: tuple[Value | None, ...] = ()
        self.outputs: tuple[Value, ...] = ()
        self.bodies: tuple[Body, ...] = ()
        self.attributes: Mapping[str, Any] = _NOTHING
        self.info: Mapping[str, Any] = _NOTHING
        self.graph: Graph | None = None
        self._previous: Node | None = None
        self._next: Node | None = None

    @property
    def output(self) -> Value:
        """The only output of a node that has exactly one."""
        (value,) = self.outputs
        return value

    @property
    def owner(self) -> Node | None:
        """The loop or If around the node; None in the model itself."""
        return None if self.graph is None else self.graph.owner

    @property
    def following(self) -> Node | None:
        """The next node in its graph; None for the last."""
        return self._next

    @property
    def read_inputs(self) -> tuple[Value | None, ...]:
        """The inputs that the operation reads, without surplus inputs, which engines ignore."""
        limit = self.op.arity[1]
        return self.inputs if limit is None or self.bodies else self.inputs[:limit]

    def body(self, label: str = "body") -> Body:
        """The body with this label (KeyError if there is none)."""
        for body in self.bodies:
            if body.label == label:
                return body
        raise KeyError(label)

    def __repr__(self) -> str:
        return f"<Node {self.op.label} {self.name!r}>"


class Graph:
    """Parameters, results and the nodes between them, in an executable order.

    The nodes form a linked list: iterating while nodes are added or removed is safe; a node added
    after the current one is still visited.
    """

    __slots__ = (
        "_first",
        "_kinds",
        "_last",
        "_owners",
        "_size",
        "name",
        "owner",
        "parameters",
        "results",
    )

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.parameters: list[Node] = []
        self.results: list[Node] = []
        self.owner: Node | None = None
        self._first: Node | None = None
        self._last: Node | None = None
        self._size = 0
        #: How many of the nodes have each operation class, and how many have bodies. Passes look
        #: here before they visit all nodes.
        self._kinds: dict[type[Op], int] = {}
        self._owners = 0

    @property
    def inputs(self) -> tuple[Value, ...]:
        """The values that enter the graph, in order."""
        return tuple(node.outputs[0] for node in self.parameters)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The values that the results return, in order."""
        values = (node.inputs[0] for node in self.results)
        return tuple(value for value in values if value is not None)

    def input(self, position: int) -> Value:
        """The input at `position`; unlike `inputs`, this does not build a list."""
        return self.parameters[position].outputs[0]

    def output(self, position: int) -> Value:
        """Return the value that is connected to the result at `position`.

        The result must be connected.
        """
        value = self.results[position].inputs[0]
        assert value is not None, "a result is not connected"
        return value

    @property
    def nodes(self) -> Nodes:
        """The nodes between parameters and results, in order."""
        return Nodes(self)

    @property
    def kinds(self) -> tuple[type[Op], ...]:
        """The operation classes of the nodes between parameters and results, except in bodies."""
        return tuple(self._kinds)

    @property
    def has_bodies(self) -> bool:
        """Return whether a node of the graph owns a body."""
        return self._owners > 0

    def __reversed__(self) -> Iterator[Node]:
        node = self._last
        while node is not None:
            yield node
            node = node._previous

    def __len__(self) -> int:
        return self._size

    def __bool__(self) -> bool:
        return True

    def add_parameter(
        self,
        name: str,
        type: ValueType = UNKNOWN_TYPE,
        names: tuple[str, ...] = (),
        location: Location = NOWHERE,
    ) -> Value:
        """Append an input and return its value."""
        node = Node(Parameter(), name, location)
        node.graph = self
        value = Value(node, 0, type, names)
        node.outputs = (value,)
        self.parameters.append(node)
        return value

    def add_result(self, value: Value, name: str, location: Location = NOWHERE) -> Node:
        """Append an output that returns `value`."""
        node = Node(Result(), name, location)
        node.graph = self
        node.inputs = (value,)
        value._uses[(node, 0)] = None
        self.results.append(node)
        return node

    def add_constant(
        self, tensor: Tensor, name: str, names: tuple[str, ...] = (), location: Location = NOWHERE
    ) -> Value:
        """Append a constant and return its value."""
        op, types = Constant(tensor), (tensor.type,)
        node = self.add_node(op, name, (), 1, types=types, names=(names,), location=location)
        return node.outputs[0]

    def add_node(
        self,
        op: Op,
        name: str,
        inputs: tuple[Value | None, ...],
        n_outputs: int,
        *,
        types: tuple[ValueType, ...] = (),
        names: tuple[tuple[str, ...], ...] = (),
        bodies: tuple[Body, ...] = (),
        location: Location = NOWHERE,
    ) -> Node:
        """Append a node after all others; its inputs must precede it or be parameters."""
        if n_outputs != 1 or bodies:
            node = make_node(op, name, inputs, n_outputs, types, names, bodies, location)
            link(self, node, before=None)
            return node
        # Nearly every node takes this path. It is `make_node` and `link` written out, because the
        # calls would take a third of the time of building a large graph.
        node = Node(op, name, location)
        node.inputs = inputs
        for position, value in enumerate(inputs):
            if value is not None:
                value._uses[node, position] = None
        type = types[0] if types else UNKNOWN_TYPE
        node.outputs = (Value(node, 0, type, names[0] if names else ()),)
        node.graph = self
        last = node._previous = self._last
        if last is None:
            self._first = node
        else:
            last._next = node
        self._last = node
        self._size += 1
        kinds, kind = self._kinds, op.__class__
        kinds[kind] = kinds.get(kind, 0) + 1
        return node

    def __repr__(self) -> str:
        return f"<Graph {self.name!r}: {len(self.parameters)} in, {self._size} nodes>"


class Nodes(Sequence[Node]):
    """The nodes of a graph as a sequence: `nodes[0]`, `nodes[-1]`, `nodes[2:5]`, `len(nodes)`.

    The sequence always shows the current nodes of the graph. Iterating while nodes are added or
    removed is safe. A node is found by its index by walking from the nearer end, so to visit many
    nodes, iterating is faster than indexing.
    """

    __slots__ = ("_graph",)

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __iter__(self) -> Iterator[Node]:
        node = self._graph._first
        while node is not None:
            yield node
            node = node._next

    def __reversed__(self) -> Iterator[Node]:
        return reversed(self._graph)

    def __len__(self) -> int:
        return len(self._graph)

    def __contains__(self, node: object) -> bool:
        if not isinstance(node, Node) or isinstance(node.op, Parameter | Result):
            return False
        return node.graph is self._graph

    @overload
    def __getitem__(self, index: int) -> Node: ...

    @overload
    def __getitem__(self, index: slice) -> list[Node]: ...

    def __getitem__(self, index: int | slice) -> Node | list[Node]:
        if isinstance(index, slice):
            return list(self)[index]
        count = len(self)
        position = index + count if index < 0 else index
        if not 0 <= position < count:
            raise IndexError(f"the graph has {count} nodes, and no node {index}")
        if position >= count // 2:
            return next(islice(reversed(self), count - 1 - position, None))
        return next(islice(self, position, None))

    def __repr__(self) -> str:
        return f"<{len(self)} nodes of {self._graph!r}>"


def make_node(
    op: Op,
    name: str,
    inputs: tuple[Value | None, ...],
    n_outputs: int,
    types: tuple[ValueType, ...] = (),
    names: tuple[tuple[str, ...], ...] = (),
    bodies: tuple[Body, ...] = (),
    location: Location = NOWHERE,
) -> Node:
    """Make a node and its outputs, and record the node as a user of its inputs.

    The node is in no graph yet: `Graph` and `Rewriter` put it into one.
    """
    node = Node(op, name, location)
    node.inputs = inputs
    for position, value in enumerate(inputs):
        if value is not None:
            value._uses[(node, position)] = None
    node.outputs = tuple(
        Value(
            node,
            index,
            types[index] if index < len(types) else UNKNOWN_TYPE,
            names[index] if index < len(names) else (),
        )
        for index in range(n_outputs)
    )
    node.bodies = bodies
    for body in bodies:
        body.graph.owner = node
    return node


def link(graph: Graph, node: Node, before: Node | None) -> None:
    """Insert `node` into the linked list of `graph`, before `before` or (None) at the end."""
    node.graph = graph
    node._next = before
    node._previous = graph._last if before is None else before._previous
    if node._previous is None:
        graph._first = node
    else:
        node._previous._next = node
    if before is None:
        graph._last = node
    else:
        before._previous = node
    graph._size += 1
    _count(graph, node.op, 1)
    graph._owners += bool(node.bodies)


def unlink(node: Node) -> None:
    """Remove `node` from its graph's list.

    The node keeps its own links, so that a running iteration continues.
    """
    graph = node.graph
    assert graph is not None
    if node._previous is None:
        graph._first = node._next
    else:
        node._previous._next = node._next
    if node._next is None:
        graph._last = node._previous
    else:
        node._next._previous = node._previous
    node.graph = None
    graph._size -= 1
    _count(graph, node.op, -1)
    graph._owners -= bool(node.bodies)


def change_op(node: Node, op: Op) -> None:
    """Give a node another operation."""
    graph = None if isinstance(node.op, Parameter | Result) else node.graph
    if graph is not None:
        _count(graph, node.op, -1)
        _count(graph, op, 1)
    node.op = op


def change_bodies(node: Node, bodies: tuple[Body, ...]) -> None:
    """Replace the bodies of `node` by `bodies`.

    An empty tuple removes all bodies.
    """
    if node.graph is not None:
        node.graph._owners += bool(bodies) - bool(node.bodies)
    node.bodies = bodies
    for body in bodies:
        body.graph.owner = node


def _count(graph: Graph, op: Op, change: int) -> None:
    kinds, kind = graph._kinds, op.__class__
    count = kinds.get(kind, 0) + change
    if count:
        kinds[kind] = count
    else:
        del kinds[kind]


def take_apart(graph: Graph) -> None:
    """Cut all links in a graph and its bodies, which must not be used afterwards.

    The links form cycles, whose memory is otherwise freed only once the garbage collector finds
    them.
    """
    rest = [graph]
    while rest:
        current = rest.pop()
        for node in (*current.parameters, *current.nodes, *current.results):
            rest += [body.graph for body in node.bodies]
            for value in node.outputs:
                value._uses.clear()
            node.inputs, node.outputs, node.bodies = (), (), ()
            node.graph = node._next = node._previous = None
        current.parameters, current.results, current.owner = [], [], None
        current._first, current._last, current._size = None, None, 0
        current._kinds, current._owners = {}, 0


@dataclass(slots=True)
class Model:
    """A graph, and the properties of the model that its file stores.

    `dialect` is "openvino" or "onnx". `version` is the IR version (10, 11) or the ONNX IR version.
    `opsets` maps an ONNX domain to its opset ("" is ai.onnx); the opset of an OpenVINO node is that
    of its operation class. `metadata` is kept as it was read, and written back.
    """

    graph: Graph
    dialect: str
    version: int
    opsets: dict[str, int] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    source: str | None = None
    #: What the reader has to say about the file, such as a part that it ignored.
    notes: tuple[Diagnostic, ...] = ()

    def to_onnx(self) -> onnx.ModelProto:
        """The model as an `onnx.ModelProto`; an IR must be converted before.

        Raises:
            UsageError: for an IR.
            WriteError: when ONNX cannot represent it, or it has more than 2 GiB.
        """
        made: onnx.ModelProto = self._made("onnx")
        return made

    def to_openvino(self) -> openvino.Model:
        """The model as an `openvino.Model`; an ONNX model must be converted before.

        No file is written. The object has a copy of the weights, because OpenVINO keeps no memory
        of others alive.

        Raises:
            UsageError: for an ONNX model, or if OpenVINO is not installed.
            WriteError: when an IR cannot represent it, or OpenVINO does not read it.
        """
        return self._made("openvino")

    def _made(self, dialect: str) -> Any:
        if self.dialect != dialect:
            raise UsageError(
                f"the model has the format {self.dialect}",
                expected=dialect,
                fix=f"convert it first: irloop.convert(model, {dialect!r}) returns the new model",
            )
        return MAKERS[dialect](self)

    def _repr_html_(self) -> str:
        """HTML for notebooks: inputs, outputs, operations and, for a small model, a picture.

        Operations are listed in tables, in which a click opens a body. If there is a picture, the
        tables of operations are closed at first.
        """
        opsets = ", ".join(f"{name or 'ai.onnx'} {n}" for name, n in sorted(self.opsets.items()))
        words = f"{self.dialect} {self.version}" + (f", opset {opsets}" if opsets else "")
        borders = [("input", value.name, value.type) for value in self.graph.inputs]
        borders += [("output", node.name, result_type(node)) for node in self.graph.results]
        head = f"<p><b>{html_text(self.graph.name or 'model')}</b>, {html_text(words)}</p>"
        border = html_table(("", "name", "type"), borders[:SHOWN_ROWS])
        tables = _graph_html(self.graph, NESTED)
        drawn = next((found for draw in DRAWERS if (found := draw(self.graph, ""))), "")
        if not drawn:
            return f"{head}{border}{tables}"
        closed = f"<details><summary>operations</summary>{tables}</details>"
        return f"{head}{html_picture(drawn)}{border}{closed}"


#: Maximum number of bodies that are shown inside each other in a notebook.
NESTED = 4


def _graph_html(graph: Graph, depth: int) -> str:
    """HTML of the operations of a graph and then of its bodies, without constants."""
    nodes = [node for node in graph.nodes if not isinstance(node.op, Constant)]
    rows = (
        (
            node.op.label,
            node.name,
            ", ".join("-" if value is None else value.name for value in node.inputs),
            ", ".join(str(value.type) for value in node.outputs),
        )
        for node in nodes[:SHOWN_ROWS]
    )
    parts = [html_table(("operation", "name", "inputs", "types"), rows)]
    if len(nodes) > SHOWN_ROWS:
        parts.append(f"<p>and {len(nodes) - SHOWN_ROWS} more operations</p>")
    bodies = [(node, body) for node in nodes[:SHOWN_ROWS] for body in node.bodies]
    for node, body in bodies if depth else ():
        title = html_text(f"{body.label} of {node.op.label} {node.name}")
        wires = html_table(("wire", "from", "to"), _wires(body))
        inside = f"{wires}{_graph_html(body.graph, depth - 1)}"
        parts.append(f"<details><summary>{title}</summary>{inside}</details>")
    return "".join(parts)


def _wires(body: Body) -> Iterator[tuple[str, str, str]]:
    """Yield the kind, source and target of each entry of the port map and of each back edge."""
    parameters, results = body.graph.parameters, body.graph.results
    for port in body.ports.inputs:
        kind = type(port).__name__
        yield kind, f"input {port.external}", parameters[port.parameter].name
        if isinstance(port, Carried):
            yield "back edge", results[port.result].name, parameters[port.parameter].name
    for out in body.ports.outputs:
        yield type(out).__name__, results[out.result].name, f"output {out.external}"


def result_type(node: Node) -> ValueType:
    """The type of the value that a Result returns."""
    value = node.inputs[0]
    return UNKNOWN_TYPE if value is None else value.type
