"""Collects the content of a page about a model as plain data for JSON.

The content consists of graphs, nodes, edges and wires. A wire connects a port of a node with bodies
to a parameter or a result of one of its bodies. The data is flat, even if bodies are nested: nodes
and graphs are numbered, and refer to each other by these numbers.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence, Set
from typing import Any

from irloop.drawing.port_words import fed, given, input_label
from irloop.graph.describe import attributes, constant, format_of
from irloop.graph.loops import (
    Carried,
    InputPort,
    LastValue,
    OutputPort,
    ScanInput,
    Sliced,
)
from irloop.graph.model import Body, Graph, Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.outline import Group, Item, outline
from irloop.graph.walk import node_path
from irloop.opening import open_regular
from irloop.pages.about import LISTED, about, pairs
from irloop.pages.boxes import defaults, description, family, label, rows, specification
from irloop.pages.weights import Weights
from irloop.progress import counted

__all__ = ["MOST_NODES", "Contents"]

#: Maximum number of bytes that are read of the file, shown of one line, and shown of all lines.
MOST_READ, MOST_LINE, MOST_SHOWN = 256 << 20, 400, 8 << 20

#: Maximum number of nodes of a page. Nodes of deeper bodies are left out first; the page then has a
#: note.
MOST_NODES = 50_000


class Contents:
    """The content of the page of one model; `data` becomes its JSON.

    `numbers` maps nodes to their numbers in the page. `nodes`, `graphs` and `constants` hold the
    entries of the page.
    """

    def __init__(self, model: Model, title: str, *, whole_weights: bool = False) -> None:
        self._model = model
        self._weights = Weights(whole=whole_weights)
        self.numbers: dict[Node, int] = {}
        self.nodes: list[dict[str, Any]] = []
        self.graphs: list[dict[str, Any]] = []
        self.constants: list[dict[str, Any]] = []
        self._constant_numbers: dict[Node, int] = {}
        #: What operations of each type do: in one sentence, and all that is known; and the
        #: attributes that have a default.
        self._descriptions: dict[str, tuple[str, list[str], list[list[str]]]] = {}
        self._left_out = 0
        self._add_graphs()
        self._add_source()
        self.data: dict[str, Any] = {
            "title": title,
            "format": ", ".join([format_of(model), *(note.message for note in model.notes)]),
            "about": about(model, self.numbers),
            "graphs": self.graphs,
            "nodes": self.nodes,
            "constants": self.constants,
            "descriptions": self._descriptions,
            "left_out": self._left_out,
        }

    def _add_graphs(self) -> None:
        """Add the graph and its bodies, level by level, until there are too many nodes."""
        level: list[tuple[Graph, Node | None, Body | None]] = [(self._model.graph, None, None)]
        while level:
            deeper: list[tuple[Graph, Node | None, Body | None]] = []
            for graph, owner, body in level:
                self._add_graph(graph, owner, body)
                deeper += [
                    (inner.graph, node, inner)
                    for node in graph.nodes
                    if node in self.numbers
                    for inner in node.bodies
                ]
            level = deeper

    def _add_graph(self, graph: Graph, owner: Node | None, body: Body | None) -> None:
        number = len(self.graphs)
        entry: dict[str, Any] = {
            "label": "" if body is None else body.label,
            "owner": None if owner is None else self.numbers[owner],
            "nodes": [],
            "edges": [],
        }
        self.graphs.append(entry)
        if owner is not None:
            self.nodes[self.numbers[owner]].setdefault("bodies", []).append(number)
        members = counted("operations", self._members(graph), len(graph), every=64)
        shown = [node for node in members if self._add_node(node, number)]
        for node in shown:
            for position, value in enumerate(node.inputs):
                if value is not None and value.producer in self.numbers:
                    source = self.numbers[value.producer]
                    entry["edges"].append([source, value.index, self.numbers[node], position])
        entry["nodes"] = self._tree(outline(shown))
        if owner is not None and body is not None:
            self._add_wires(entry, owner, body)

    def _tree(self, items: Sequence[Item]) -> list[Any]:
        """The outline of a graph with numbers for nodes."""
        return [
            {"names": item.names, "copies": [self._tree(copy) for copy in item.copies]}
            if isinstance(item, Group)
            else self.numbers[item]
            for item in items
        ]

    def _members(self, graph: Graph) -> Iterator[Node]:
        """Yield the nodes that are drawn as boxes; a constant is drawn only if it is a result."""
        yield from graph.parameters
        for node in graph.nodes:
            if not isinstance(node.op, Constant) or node.outputs[0].is_output:
                yield node
        yield from graph.results

    def _add_node(self, node: Node, graph: int) -> bool:
        if len(self.nodes) >= MOST_NODES:
            self._left_out += 1
            return False
        entry: dict[str, Any] = {
            "kind": _kind(node),
            "type": node.op.label,
            "label": label(node),
            "family": family(node),
            "rows": rows(node, self._model.dialect),
            "name": node.name,
            "path": node_path(node),
            "graph": graph,
            "attributes": list(pairs({**attributes(node), **node.attributes})),
            "inputs": [self._input(value) for value in node.inputs[:LISTED]],
            "outputs": [
                {"name": value.name, "type": str(value.type)} for value in node.outputs[:LISTED]
            ],
            "info": list(pairs(node.info)),
            "line": node.location.line,
            "layer": node.location.layer_id,
        }
        if isinstance(node.op, Constant):
            entry["constant"] = self._constant(node)
            entry["role"] = constant(node.op)
        if entry["kind"] in ("operation", "owner"):
            self._describe(node)
        self.numbers[node] = len(self.nodes)
        self.nodes.append(entry)
        return True

    def _describe(self, node: Node) -> None:
        if node.op.label not in self._descriptions:
            told = specification(node, self._model.dialect)
            known = list(pairs(defaults(node)))
            self._descriptions[node.op.label] = description(node), told, known

    def _input(self, value: Value | None) -> dict[str, Any] | None:
        if value is None:
            return None
        if isinstance(value.producer.op, Constant):
            return {"name": value.name, "constant": self._constant(value.producer)}
        return {"name": value.name, "type": str(value.type)}

    def _constant(self, node: Node) -> int:
        """Return the index of a constant in `constants`; add the constant if it is not there yet.

        Each constant has only one entry, so its weights are read only once.
        """
        if node in self._constant_numbers:
            return self._constant_numbers[node]
        assert isinstance(node.op, Constant)
        self._constant_numbers[node] = len(self.constants)
        self.constants.append(
            {
                "name": node.name,
                "path": node_path(node),
                "type": str(node.op.tensor.type),
                "line": node.location.line,
                "layer": node.location.layer_id,
                "weights": self._weights.of(node.op.tensor),
            }
        )
        return self._constant_numbers[node]

    def _add_wires(self, entry: dict[str, Any], owner: Node, body: Body) -> None:
        """Add the wires between the ports of `owner` and the parameters and results of a body."""
        ports = body.ports
        parameters = [self.numbers.get(node) for node in body.graph.parameters]
        results = [self.numbers.get(node) for node in body.graph.results]
        states = {port.parameter: position for position, port in enumerate(ports.carried)}
        entry["in"] = []
        for position, node in enumerate(parameters):
            if node is None:
                continue
            port = ports.by_parameter.get(position)
            iteration = position == ports.iteration
            words = fed(port, iteration) if body.label == "body" else "same value"
            self.nodes[node]["role"] = words
            if port is not None:
                wire = [_input_kind(port, body), port.external, node, words, states.get(position)]
                entry["in"].append(wire)
        entry["out"] = [
            [_output_kind(out, body), results[out.result], out.external, given(out, body.label)]
            for out in ports.outputs
            if results[out.result] is not None
        ]
        entry["back"] = [
            [results[port.result], parameters[port.parameter], states[port.parameter]]
            for port in ports.carried
            if results[port.result] is not None and parameters[port.parameter] is not None
        ]
        going_on = None if ports.condition is None else results[ports.condition]
        if going_on is not None:
            self.nodes[going_on]["role"] = "goes on while true"
        # Inputs that no body reads, such as the trip count, are ports without a wire.
        labels = self.nodes[self.numbers[owner]].setdefault("ports", {})
        mapped = {port.external for port in ports.inputs}
        for position, value in enumerate(owner.inputs):
            if value is not None or position in mapped:
                omitted = ["omitted"] if value is None else []
                labels[position] = [*input_label(owner, position), *omitted]

    def _add_source(self) -> None:
        """Add to each node and constant its line in the XML file, and one that has attributes."""
        if self._model.dialect != "openvino" or self._model.source is None:
            return
        entries = [*self.nodes, *self.constants]
        lines = {entry["line"] for entry in entries if entry["line"] is not None}
        texts = source_lines(self._model.source, lines | {line + 1 for line in lines})
        for entry in entries:
            if entry["line"] in texts:
                attributes = texts.get(entry["line"] + 1, "")
                is_own = attributes.startswith("<data ")
                entry["xml"] = f"{texts[entry['line']]} {attributes if is_own else ''}".rstrip()


def _kind(node: Node) -> str:
    if node.bodies:
        return "owner"
    if isinstance(node.op, Constant):
        return "constant"
    if node.graph is not None and not node.inputs and node in node.graph.parameters:
        return "parameter"
    return "result" if not node.outputs else "operation"


def _input_kind(port: InputPort, body: Body) -> str:
    if isinstance(port, Carried):
        return "state"
    if isinstance(port, Sliced | ScanInput):
        return "slice"
    return "invariant" if body.label == "body" else "plain"


def _output_kind(port: OutputPort, body: Body) -> str:
    if isinstance(port, LastValue):
        return "last" if body.label == "body" else "plain"
    return "joined"


def source_lines(path: str, wanted: Set[int]) -> dict[int, str]:
    """The texts of lines by number, from 1; lines that cannot be read are left out."""
    texts: dict[int, str] = {}
    shown, last = 0, max(wanted, default=0)
    try:
        with io.BufferedReader(open_regular(path)) as raw:
            line, read = 1, 0
            while line <= last and read < MOST_READ and shown < MOST_SHOWN:
                text = raw.readline(MOST_READ - read)
                if not text:
                    break
                if line in wanted:
                    texts[line] = _line_text(text)
                    shown += len(texts[line])
                read += len(text)
                line += 1
    except OSError:
        # If the file no longer exists, the page shows only the line number.
        return texts
    return texts


def _line_text(text: bytes) -> str:
    decoded = text[: 4 * MOST_LINE].decode("utf-8", "replace").strip()
    return decoded if len(decoded) <= MOST_LINE else f"{decoded[:MOST_LINE]}…"
