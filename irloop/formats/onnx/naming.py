"""Names of values in a file: unique in their graph and in all graphs around it.

ONNX Runtime takes no name twice along the way from a body out; bodies next to each other may
share names. Names of model inputs and outputs are never changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import onnx

from irloop.graph.model import Graph, Node, Value
from irloop.graph.op import Parameter

__all__ = ["Scope", "StemNames", "names_in"]


class Scope:
    """The names of one graph, and those of the graphs around it."""

    def __init__(self, parent: Scope | None = None) -> None:
        self._parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}
        self.names: dict[Value, str] = {}

    def _is_taken(self, name: str) -> bool:
        scope: Scope | None = self
        while scope is not None:
            if name in scope._taken:
                return True
            scope = scope._parent
        return False

    def fresh(self, wish: str) -> str:
        """`wish` when it is free here, else `wish` with the first free number."""
        name = wish = wish or "value"
        stem = re.sub(r"_\d+$", "", wish) or wish
        while self._is_taken(name):
            self._next[stem] = self._next.get(stem, 0) + 1
            name = f"{stem}_{self._next[stem]}"
        self._taken.add(name)
        return name

    def give(self, value: Value, wish: str = "") -> None:
        """Give a value a name, unless it has one."""
        if value not in self.names:
            self.names[value] = self.fresh(wish or value.name)

    def name_model(self, graph: Graph) -> list[str]:
        """Name every value of the outermost graph; returns the names of its outputs.

        An output that has another name than its value needs an Identity of its own.
        """
        for node in graph.parameters:
            self.give(node.outputs[0])
        outputs = []
        claimed: dict[str, Node] = {}
        for node in graph.results:
            (value,) = node.inputs
            assert value is not None
            outputs.append(self._output(node, value, claimed))
        self._name_nodes(graph)
        return outputs

    def name_body(self, graph: Graph, captured: dict[Node, str]) -> None:
        """Name every value of a body; captured values have the names they have outside."""
        for node, name in captured.items():
            self.names[node.outputs[0]] = name
        for node in graph.parameters:
            self.give(node.outputs[0])
        self._name_nodes(graph)

    def _name_nodes(self, graph: Graph) -> None:
        for node in graph.nodes:
            for value in node.outputs:
                self.give(value)

    def _output(self, node: Node, value: Value, claimed: dict[str, Node]) -> str:
        wishes = [name for name in value.names if name not in claimed]
        own = node.name in value.names or not wishes
        wish = node.name if own else wishes[0]
        earlier = claimed.get(wish)
        if earlier is not None and (earlier.name, earlier.inputs[0]) == (node.name, value):
            # One name twice among the outputs, as the file had it.
            return wish
        if self.names.get(value) == wish and isinstance(value.producer.op, Parameter):
            claimed[wish] = node
            return wish
        name = self.fresh(wish)
        claimed[name] = node
        self.names.setdefault(value, name)
        return name


def names_in(graph: onnx.GraphProto) -> Iterator[str]:
    """The names of all values of a graph of a file, those of bodies included."""
    for items in (graph.input, graph.initializer, graph.output, graph.value_info):
        yield from (item.name for item in items)
    for node in graph.node:
        yield from node.input
        yield from node.output
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from names_in(attribute.g)
            for inner in attribute.graphs:
                yield from names_in(inner)


class StemNames:
    """Names for what one node of a file is written out as: the stem is its own."""

    def __init__(self, stem: str, taken: set[str]) -> None:
        self._stem = stem
        self._taken = taken

    def fresh(self, wish: str) -> str:
        """A name that nothing in the model has."""
        number, name = 1, f"{self._stem}/{wish}"
        while name in self._taken:
            number, name = number + 1, f"{self._stem}/{wish}_{number}"
        self._taken.add(name)
        return name
