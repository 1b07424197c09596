"""The inferred graph of a model: what its operations say about types and shapes.

The dear part of validation: it imports the operation classes and builds the graph. Rules ask
for it only when the structure of the file is sound, and get nothing where it cannot be built.
NumPy stays out of it: constants are numbers read from the file, and shapes that a model
computes are followed by `infer_dims`, not by running kernels.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from irloop.errors import InferenceError, IrloopError
from irloop.formats.openvino.reader import read_document
from irloop.formats.openvino.xml import Layer
from irloop.graph.inference import FOLD_LIMIT, Arguments, Inference
from irloop.graph.model import Graph, Node, Value
from irloop.graph.op import Constant, UnknownOp
from irloop.graph.types import Dim, ElementType, TensorType
from irloop.graph.walk import all_graphs
from irloop.validation.repair import repaired

if TYPE_CHECKING:
    from irloop.validation.context import Context

__all__ = ["Analysis", "Numbers"]

_Key = tuple[int | None, str | None, str]
_FORMATS = {
    ElementType.I64: "q",
    ElementType.I32: "i",
    ElementType.I16: "h",
    ElementType.I8: "b",
    ElementType.U64: "Q",
    ElementType.U32: "I",
    ElementType.U16: "H",
    ElementType.U8: "B",
    ElementType.BOOLEAN: "B",
    ElementType.F32: "f",
    ElementType.F64: "d",
    ElementType.F16: "e",
}


class _Kind:
    """The part of a NumPy dtype that inference looks at."""

    def __init__(self, element: ElementType) -> None:
        self.kind = "i" if element.is_integer else "f" if element.is_float else "b"


class Numbers:
    """A small constant with as much of NumPy's array interface as inference uses."""

    def __init__(
        self, items: tuple[Any, ...], shape: tuple[int, ...], element: ElementType
    ) -> None:
        self.items = items
        self.shape = shape
        self.dtype = _Kind(element)
        self.ndim = len(shape)
        self.size = len(items)

    def reshape(self, *_: int) -> Numbers:
        """The items as a vector; other shapes are not asked for."""
        return Numbers(self.items, (self.size,), ElementType.F32)

    def tolist(self) -> list[Any]:
        """The items as a list."""
        return list(self.items)

    def item(self) -> Any:
        """The only item."""
        (only,) = self.items
        return only

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> Any:
        return self.items[index]

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __bytes__(self) -> bytes:
        return repr((self.items, self.shape)).encode()


class _LightInference(Inference):
    """Inference that folds nothing but dimensions, and never raises."""

    def visit(self, node: Node) -> None:
        try:
            super().visit(node)
        except IrloopError:
            raise
        except Exception:  # an op class that stumbles over nonsense leaves the declared types
            return

    def constant(self, value: Value) -> Any:
        if value in self._constants:
            return self._constants[value]
        found: Any = None
        op = value.producer.op
        if isinstance(op, Constant) and op.tensor.count <= FOLD_LIMIT:
            letter = _FORMATS.get(op.tensor.element)
            if letter is not None:
                items = struct.unpack(f"<{op.tensor.count}{letter}", op.tensor.raw())
                found = Numbers(items, op.tensor.shape, op.tensor.element)
        self._constants[value] = found
        return found

    def _fold(self, node: Node, args: Arguments) -> None:
        if node.bodies or isinstance(node.op, Constant):
            return
        partial = node.op.infer_dims(args)
        if partial is not None:
            self._dims[node.outputs[0]] = partial
            self._fold_dims(node, partial)

    def _fold_dims(self, node: Node, partial: tuple[Dim, ...] | None) -> None:
        type = node.outputs[0].type
        if partial is None or not isinstance(type, TensorType) or not type.element.is_integer:
            return
        items = tuple(dim for dim in partial if isinstance(dim, int))
        if len(items) == len(partial):
            shape = () if type.shape.rank == 0 else (len(items),)
            known: dict[Value, Any] = self._constants
            known[node.outputs[0]] = Numbers(items, shape, type.element)


class Analysis:
    """The graph behind a context, inferred; empty when it cannot be built.

    Layers with errors stand in it as unknown operations that give what they declare, so that
    an error hides nothing about the layers around it.
    """

    def __init__(self, context: Context, *, as_it_is: bool = False) -> None:
        self.errors: list[InferenceError] = []
        self._as_it_is = as_it_is
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
        inference = _LightInference(tolerant=True)
        broken = bool(context.errors) and not self._as_it_is
        document = repaired(context) if broken else context.document
        try:
            graph = read_document(document, context.weights.path).graph
            inference.run(graph)
        except (IrloopError, RecursionError):
            return None
        self.errors = inference.errors
        return graph

    def node_of(self, layer: Layer) -> Node | None:
        """The node that a layer became, or None for one that readers drop."""
        return self._nodes.get((layer.line, layer.id, layer.path))

    def layer_at(self, error: InferenceError) -> Layer | None:
        """The layer whose inference failed."""
        place = error.diagnostics[0].location
        return self._layers.get((place.line, place.layer_id, place.path))

    def output_types(self, layer: Layer) -> tuple[TensorType | None, ...]:
        """What was inferred for the outputs of a layer; None for what is no tensor."""
        node = self.node_of(layer)
        values = () if node is None or isinstance(node.op, UnknownOp) else node.outputs
        return tuple(v.type if isinstance(v.type, TensorType) else None for v in values)

    def nodes(self) -> Iterator[tuple[Layer, Node]]:
        """Every layer that became a node, with that node."""
        for key, node in self._nodes.items():
            layer = self._layers.get(key)
            if layer is not None:
                yield layer, node
