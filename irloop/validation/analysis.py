"""The inferred graph of a model, with the types and shapes that its operations determine.

This is the expensive part of validation: it imports the operation classes and builds the graph.
Rules ask for the inferred graph only when the structure of the file is sound, and get an empty
result if the graph cannot be built. The analysis does not use NumPy: constants are numbers read
from the file, and `infer_dims` folds the shapes that a model computes, without running kernels.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from irloop.errors import InferenceError, IrloopError
from irloop.formats.openvino.document import Document, Layer, Port
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.port_map_reader import Wiring
from irloop.formats.openvino.reader import read_document
from irloop.graph.inference import FOLD_LIMIT, Inference, NodeArguments, known_dims
from irloop.graph.model import Graph, Model, Node, Value, take_apart
from irloop.graph.op import Constant, UnknownOp
from irloop.graph.types import Dim, ElementType, TensorType, ValueType
from irloop.graph.walk import all_graphs
from irloop.opening import Path
from irloop.validation.declared import PACKED
from irloop.validation.error_places import Errors
from irloop.validation.repair import repaired

__all__ = ["Analysis", "LightInference", "Numbers"]


class _Kind:
    """Stands in for a NumPy dtype: has `kind`, the only attribute that inference uses."""

    def __init__(self, element: ElementType) -> None:
        self.kind = "i" if element.is_integer else "f" if element.is_float else "b"


class Numbers:
    """A small constant that inference can use like a NumPy array, although NumPy is not loaded.

    It has only those methods and attributes of an array that inference uses.
    """

    def __init__(
        self, items: tuple[Any, ...], shape: tuple[int, ...], element: ElementType
    ) -> None:
        self.items = items
        self.shape = shape
        self.dtype = _Kind(element)
        self.ndim = len(shape)
        self.size = len(items)

    def reshape(self, *_: int) -> Numbers:
        """Return the elements as a vector, the only shape that inference asks for."""
        return Numbers(self.items, (self.size,), ElementType.F32)

    def tolist(self) -> list[Any]:
        """The elements as a list."""
        return list(self.items)

    def item(self) -> Any:
        """The element of a one-element constant."""
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

    def tobytes(self) -> bytes:
        """Bytes that identify the elements and the shape of the constant.

        They are equal for two constants if and only if their elements and shapes are equal.
        """
        return repr((self.items, self.shape)).encode()


class LightInference(Inference):
    """Type inference that folds only dimensions, and continues when an operation fails.

    The outputs of such an operation keep their declared types. An `InferenceError` is kept in
    `errors`, and unexpected exceptions are ignored. Other errors of irloop, such as a `LimitError`,
    are raised.
    """

    def __init__(self) -> None:
        super().__init__(tolerant=True)

    def visit(self, node: Node) -> None:
        try:
            super().visit(node)
        except IrloopError:
            raise
        except (
            Exception
        ):  # an operation class that fails on invalid input leaves the declared types
            return

    def constant(self, value: Value) -> Any:
        if value in self._constants:
            return self._constants[value]
        numbers: Any = None
        op = value.producer.op
        if isinstance(op, Constant) and op.tensor.count <= FOLD_LIMIT:
            letter = PACKED.get(op.tensor.element)
            if letter is not None:
                items = struct.unpack(f"<{op.tensor.count}{letter}", op.tensor.raw())
                numbers = Numbers(items, op.tensor.shape, op.tensor.element)
        self._constants[value] = numbers
        return numbers

    def _depends_on_values(self, node: Node, *, looked: bool) -> bool:
        return looked and super()._depends_on_values(node, looked=True)

    def _fold(self, node: Node, args: NodeArguments) -> None:
        made = node.outputs[0].type if node.outputs and not node.bodies else None
        comparator = type(node.op).comparator
        if comparator is not None:
            args.looked = True
            self._compare(node, comparator)
        if not isinstance(made, TensorType) or not made.element.is_integer:
            return
        if made.shape.rank not in (None, 0, 1):
            return
        partial = known_dims(node, args)
        if partial is not None:
            self._dims[node.outputs[0]] = partial
            self._fold_dims(node, partial)

    def _compare(self, node: Node, comparator: Callable[[Any, Any], bool]) -> None:
        """Fold a comparison of two known integers, such as ranks or sizes, to a constant boolean.

        Such a comparison may decide which branch of an If is taken.
        """
        pairs = [None if value is None else self.dims(value) for value in node.inputs]
        numbers = [found[0] for found in pairs if found is not None and len(found) == 1]
        if len(numbers) == 2 and all(isinstance(number, int) for number in numbers):
            found = comparator(*numbers)
            constants: dict[Value, Any] = self._constants
            constants[node.outputs[0]] = Numbers((found,), (), ElementType.BOOLEAN)

    def _fold_dims(self, node: Node, partial: tuple[Dim, ...] | None) -> None:
        type = node.outputs[0].type
        if partial is None or not isinstance(type, TensorType) or not type.element.is_integer:
            return
        items = tuple(dim for dim in partial if isinstance(dim, int))
        if len(items) == len(partial):
            shape = () if type.shape.rank == 0 else (len(items),)
            constants: dict[Value, Any] = self._constants
            constants[node.outputs[0]] = Numbers(items, shape, type.element)


class Analysis:
    """The graph of an IR document after type inference; empty if it cannot be built.

    `nets` are the indexes of the root and all bodies, the root first. `wirings` are the port maps
    that are already known, keyed by the identity of their layer. `errors` are problems that were
    found earlier: each layer with one becomes an unknown operation with its declared outputs, so
    that the layers around it can still be checked.
    """

    def __init__(
        self,
        document: Document,
        weights: Path,
        nets: Sequence[NetIndex],
        errors: Errors | None = None,
        *,
        wirings: Mapping[int, Sequence[Wiring]] | None = None,
    ) -> None:
        self.errors: list[InferenceError] = []
        #: Every layer that became a node, with its node.
        self.pairs: list[tuple[Layer, Node]] = []
        self._alone: dict[Value, ValueType] = {}
        self._model: Model | None = None
        self._inference = inference = LightInference()
        by_net = {id(index.net): index for index in nets}
        indexes: dict[int, NetIndex] | None = by_net
        if errors:
            # The repaired document has other nets, which have no indexes yet.
            document, indexes = repaired(document, nets[0], by_net, errors), None
            wirings = None
        try:
            self._model = read_document(document, weights, indexes, wirings)
            graph = self._model.graph
            # Rules inspect the types that a body has before its owner passes types and shapes to
            # it.
            bodies = all_graphs(graph) if len(nets) > 1 else ()
            for body in bodies:
                if body is not graph:
                    inference.run(body)
                    self._alone.update(
                        (value, value.type) for node in body.nodes for value in node.outputs
                    )
            inference.run(graph)
        except (IrloopError, RecursionError):
            return
        self.errors = inference.errors
        self._pair(graph, nets[0], by_net)

    def _pair(self, graph: Graph, index: NetIndex, by_net: Mapping[int, NetIndex]) -> None:
        layers = index.layers
        for node in (*graph.parameters, *graph.nodes, *graph.results):
            if node.location.layer_id is None:
                continue  # the reader added it when it converted an older form
            layer = layers[node.location.layer_id]
            self.pairs.append((layer, node))
            for body in node.bodies:
                self._pair(body.graph, by_net[id(layer.bodies[body.label])], by_net)

    @cached_property
    def _nodes(self) -> dict[int, Node]:
        return {id(layer): node for layer, node in self.pairs}

    @cached_property
    def _layers(self) -> dict[tuple[int | None, str | None, str], Layer]:
        places = ((layer, node.location) for layer, node in self.pairs)
        return {(place.line, place.layer_id, place.path): layer for layer, place in places}

    def layer_at(self, error: InferenceError) -> Layer | None:
        """The layer whose inference failed, or None if the error names no layer."""
        place = error.diagnostics[0].location
        return self._layers.get((place.line, place.layer_id, place.path))

    def type_of(self, layer: Layer, port: Port, *, alone: bool = False) -> TensorType | None:
        """The inferred type of an output; None if it is not a tensor or was not inferred.

        A type inside a body is inferred from the types that the owner of the body passes in the
        first iteration. With `alone`, it is inferred from the declared types of the body's
        Parameters instead.
        """
        node = self._nodes.get(id(layer))
        if node is None or isinstance(node.op, UnknownOp):
            return None
        for value, output in zip(node.outputs, layer.outputs, strict=False):
            if output is port:
                found = self._alone.get(value, value.type) if alone else value.type
                return found if isinstance(found, TensorType) else None
        return None

    def released(self) -> Model | None:
        """Return the model with its declared types, or None if it could not be read.

        This object cannot be used afterwards.
        """
        model, self._model = self._model, None
        self._inference.restore_declared()
        self.close()
        return model

    def close(self) -> None:
        """Free the graph immediately, without the garbage collector."""
        if self._model is not None:
            take_apart(self._model.graph)
        self.pairs.clear()
