"""The inferred graph of a model: what its operations say about types and shapes.

The dear part of validation: it imports the operation classes and builds the graph. Rules ask
for it only when the structure of the file is sound, and get nothing where it cannot be built.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.errors import InferenceError, IrloopError
from irloop.formats.openvino.reader import read_document
from irloop.formats.openvino.xml import Layer
from irloop.graph.inference import Inference
from irloop.graph.model import Graph, Node
from irloop.graph.types import TensorType
from irloop.graph.walk import all_graphs

if TYPE_CHECKING:
    from irloop.validation.context import Context

__all__ = ["Analysis"]

_Key = tuple[int | None, str | None, str]


class Analysis:
    """The graph behind a context, inferred; empty when it cannot be built."""

    def __init__(self, context: Context) -> None:
        self.errors: list[InferenceError] = []
        self._nodes: dict[_Key, Node] = {}
        self._layers: dict[_Key, Layer] = {}
        graph = self._graph(context)
        if graph is None:
            return
        for index in context.nets:
            for layer in index.net.layers:
                self._layers[layer.line, layer.id, layer.path] = layer
        for each in all_graphs(graph):
            for node in (*each.parameters, *each.nodes, *each.results):
                place = node.location
                self._nodes[place.line, place.layer_id, place.path] = node

    def _graph(self, context: Context) -> Graph | None:
        inference = Inference(tolerant=True)
        try:
            graph = read_document(context.document, context.weights.path).graph
            inference.run(graph)
        except (IrloopError, RecursionError):
            return None
        self.errors = inference.errors
        return graph

    def node_of(self, layer: Layer) -> Node | None:
        """The node that a layer became, or None for one that readers drop."""
        return self._nodes.get((layer.line, layer.id, layer.path))

    def layer_of(self, node: Node) -> Layer | None:
        """The layer behind a node."""
        place = node.location
        return self._layers.get((place.line, place.layer_id, place.path))

    def output_types(self, layer: Layer) -> tuple[TensorType | None, ...]:
        """What was inferred for the outputs of a layer; None for what is no tensor."""
        node = self.node_of(layer)
        values = () if node is None else node.outputs
        return tuple(v.type if isinstance(v.type, TensorType) else None for v in values)

    def nodes(self) -> Iterator[tuple[Layer, Node]]:
        """Every layer that became a node, with that node."""
        for key, node in self._nodes.items():
            layer = self._layers.get(key)
            if layer is not None:
                yield layer, node
