"""Names of values in a file, unique in their graph and in all its outer graphs.

ONNX Runtime refuses a name that occurs both in a body and in a graph around it; separate bodies may
share names. Names of model inputs and outputs are never changed. A name that has to change gets a
number, and never becomes the name of another value of the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import onnx

from irloop.graph.model import Graph, Node, Value
from irloop.graph.op import Parameter
from irloop.graph.walk import all_graphs

__all__ = ["Scope", "StemNames", "names_in"]


class Scope:
    """Assigns names to the values of a graph, unique in it and its outer graphs."""

    def __init__(self, model: Graph, parent: Scope | None = None) -> None:
        self._model = model
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
        """Return a name that is not used in this scope, and mark it as used.

        The name is `wish` itself if that is unused. Otherwise it is made from `wish` and a number,
        as in ``x_1``. The number replaces a number at the end of `wish`, unless `wish` is the name
        of a value of the model.
        """
        name = wish = wish or "value"
        if not self._is_taken(wish):
            self._taken.add(wish)
            return wish
        originals = self._originals
        stem = wish if wish in originals else re.sub(r"_\d+$", "", wish) or wish
        while self._is_taken(name) or name in originals:
            self._next[stem] = self._next.get(stem, 0) + 1
            name = f"{stem}_{self._next[stem]}"
        self._taken.add(name)
        return name

    @cached_property
    def _originals(self) -> frozenset[str]:
        """The names that all values of the model and its bodies have in memory."""
        if self._parent is not None:
            return self._parent._originals
        nodes = [
            node for each in all_graphs(self._model) for node in (*each.parameters, *each.nodes)
        ]
        return frozenset(value.name for node in nodes for value in node.outputs)

    def give(self, value: Value) -> None:
        """Give `value` a name that is unique in this scope, unless it has one already.

        The name is `value.name`. A number is appended if the name is used.
        """
        if value not in self.names:
            self.names[value] = self.fresh(value.name)

    def name_model(self, graph: Graph) -> list[str]:
        """Name every value of the outermost graph; return the names of its outputs.

        If the name of an output differs from the name that its value has in `names`, the caller
        must add an Identity that copies the value to the output.
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
        """Name every value of a body; captured values keep their outer names.

        `captured` maps the Parameter node of each captured value to its name outside the body.
        """
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
            # The file had this name twice among its outputs.
            return wish
        if self.names.get(value) == wish and isinstance(value.producer.op, Parameter):
            claimed[wish] = node
            return wish
        name = self.fresh(wish)
        claimed[name] = node
        self.names.setdefault(value, name)
        return name


def names_in(graph: onnx.GraphProto) -> Iterator[str]:
    """The names of all values in a graph of a file, including those in bodies."""
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
    """Names for the expansion of one node; they share a stem that is unique in the model."""

    def __init__(self, stem: str, taken: set[str]) -> None:
        self._stem = stem
        self._taken = taken

    def fresh(self, wish: str) -> str:
        """A name that is unique in the model: the stem, `wish` and, if needed, a number."""
        number, name = 1, f"{self._stem}/{wish}"
        while name in self._taken:
            number, name = number + 1, f"{self._stem}/{wish}_{number}"
        self._taken.add(name)
        return name
