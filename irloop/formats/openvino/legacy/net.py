"""Turns one net of versions 2 to 7, the root or a body, into a graph.

There are no Results: an output that no edge reads is an output of the model. A body has no
Parameters either: `bound` gives the values of the ports that its owner feeds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import cast

from irloop.errors import InferenceError
from irloop.formats.openvino import edge_problems, problems
from irloop.formats.openvino.document import Layer, Net, Port
from irloop.formats.openvino.legacy import LEGACY, LegacyLayer
from irloop.formats.openvino.legacy.base import Dims, LayerFault, precision_of
from irloop.formats.openvino.legacy.blobs import Blobs, missing_blob, placed
from irloop.formats.openvino.legacy.preprocess import Means
from irloop.formats.openvino.legacy.refused import unknown_type
from irloop.formats.openvino.legacy.steps import Steps
from irloop.formats.openvino.net import NetReader
from irloop.formats.openvino.numbers import dim_integer
from irloop.formats.openvino.places import at_layer, at_net
from irloop.formats.openvino.reader_state import Shared
from irloop.graph.builder import element_of
from irloop.graph.model import Graph, Value
from irloop.graph.op import Constant, Parameter
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.progress import counted

__all__ = ["LegacyNet", "Place"]

#: A layer and one of its ports, by their ids.
Place = tuple[str, str]


class LegacyNet(NetReader):
    """Reads one net of versions 2 to 7 into the graph of `steps`."""

    last = None

    def __init__(
        self,
        reader: Shared,
        net: Net,
        steps: Steps,
        precision: str | None,
        bound: Mapping[Place, Value] | None = None,
    ) -> None:
        super().__init__(reader, net)
        self.steps = steps
        self.precision = precision
        self.bound = bound or {}
        self.means = Means(net, self._inputs_of_net()) if bound is None else None

    def graph(self, name: str) -> Graph:
        """The graph of the root.

        Raises:
            ReadError: for the first problem of the file.
        """
        self.read_layers()
        graph = self.steps.graph
        for layer in self.net.layers:
            self._outputs(graph, layer)
        if not graph.results:
            raise self._error(nothing_to_compute(self.net))
        self.drop_unread()
        return graph

    def read_layers(self) -> None:
        """Build every layer, each after the layers that it reads.

        Raises:
            ReadError: for the first problem of the net.
        """
        self._refuse_unnamed()
        for layer in self.net.layers:
            self.steps.names.reserve(layer.name or "")
        layers: Collection[Layer] | Iterator[Layer] = self._ordered()
        if not self.net.path:
            layers = counted("layers", layers, len(self.net.layers), every=256)
        for layer in layers:
            self.read_layer(layer)

    def read_layer(self, layer: Layer) -> None:
        """Build one layer, whose sources are built.

        Raises:
            ReadError: for the first problem of the layer, or of its body.
        """
        try:
            self._layer(layer)
        except LayerFault as fault:
            raise self._error(placed(layer, fault)) from None
        except InferenceError as error:
            first = error.diagnostics[0]
            raise self._error(_contradiction(layer, first.message, first)) from error

    def body(self, net: Net, steps: Steps, bound: Mapping[Place, Value]) -> LegacyNet:
        """The reader of the body of a layer of this net."""
        return LegacyNet(self.reader, net, steps, self.precision, bound)

    def drop_unread(self) -> None:
        """Erase the constants that no operation reads, such as shapes that the ports state, too."""
        from irloop.graph.rewriter import Rewriter

        rewriter = Rewriter(self.steps.graph)
        for node in reversed(self.steps.graph):
            if node.op.pure and node.outputs and not any(v.is_used for v in node.outputs):
                rewriter.erase(node)

    def value_of(self, place: Place) -> Value | None:
        """The value of an output port, or None if there is no such port."""
        return self.values.get(place[0], {}).get(place[1])

    def _reachable(self) -> Collection[str]:
        return self.index.layers

    def _ordered(self) -> Iterator[Layer]:
        for _, edge in self.index.ending_nowhere(self.index.incoming):
            raise self._error(edge_problems.edge_to_unknown(self.index, edge))
        yield from super()._ordered()

    def _inputs_of_net(self) -> list[Layer]:
        return self.index.of_type("input")

    def _layer(self, layer: Layer) -> None:
        steps = self.steps
        steps.location, steps.prefix = self._location(layer), layer.name or ""
        steps.outputs = tuple(self._declared(layer, port) for port in layer.outputs)
        steps.blobs = Blobs(layer, self.reader.weights, self._precision(layer))
        kind = (layer.type or "").lower()
        special: Mapping[str, Callable[[Layer], tuple[Value, ...]]] = {
            "input": self._input,
            "const": self._const,
            "tensoriterator": self._iterator,
        }
        made = special.get(kind, self._plain)(layer)
        steps.location, steps.prefix = self._location(layer), layer.name or ""
        self._keep(layer, made)

    def _plain(self, layer: Layer) -> tuple[Value, ...]:
        """Build a layer by its class."""
        steps, inputs = self.steps, self._inputs(layer)
        op = self._op(layer)
        if not op.takes(len(inputs)):
            raise self._error(problems.number_of_inputs(layer, len(inputs), *op.arity))
        if op.has_outputs:
            steps.out()  # refuses a layer without outputs
        ins = tuple(steps.dims(value) for value in inputs)
        outs = tuple(steps.out(at) for at in range(len(steps.outputs)))
        steps.shapes = op.weights(ins, outs)
        for tag in op.needed:
            if not steps.has(tag):
                raise missing_blob(tag)
        if op.is_real:
            inputs = tuple(steps.real(value) for value in inputs)
        made = op.build(steps, *inputs)
        return (made,) if isinstance(made, Value) else tuple(made)

    def _op(self, layer: Layer) -> LegacyLayer:
        version = self.version
        cls = LEGACY.find(layer.type or "", version)
        if cls is None or not issubclass(cls, LegacyLayer):
            raise unknown_type(layer, version)
        if cls.refusal:
            raise LayerFault(cls.refusal, code="IRL121")
        key = (layer.type, *layer.data.items())
        known = self.reader.ops.get(key)
        if known is None:
            known = self.reader.ops[key] = cls.read(layer.data), {}
        return cast("LegacyLayer", known[0])

    @property
    def version(self) -> int:
        """The version of the IR."""
        return self.reader.version

    # Layers that are no operation

    def _input(self, layer: Layer) -> tuple[Value, ...]:
        for edge in self.index.edges_into(layer):
            raise self._error(edge_problems.edge_into_source(self.index, edge, layer))
        steps, name = self.steps, layer.name or ""
        steps.out()
        graph, place = steps.graph, self._location(layer)
        value = graph.add_parameter(name, steps.outputs[0], (name,), place)
        return (value if self.means is None else self.means.subtracted(steps, layer, value),)

    def _const(self, layer: Layer) -> tuple[Value, ...]:
        for edge in self.index.edges_into(layer):
            raise self._error(edge_problems.edge_into_source(self.index, edge, layer))
        steps = self.steps
        value = steps.tensor(steps.blobs.tensor("custom", steps.out()))
        if element_of(value) is ElementType.F16:
            value = steps.real(value)
        return (value,)

    def _iterator(self, layer: Layer) -> tuple[Value, ...]:
        from irloop.formats.openvino.legacy.tensor_iterator import Iterating

        return Iterating(self, layer, self._inputs(layer)).build()

    # Inputs and outputs

    def _inputs(self, layer: Layer) -> tuple[Value, ...]:
        bound = self.bound
        free = {port.id: bound.get((layer.id or "", port.id or "")) for port in layer.inputs}
        edges = self.index.edges_into(layer)
        if not any(value is not None for value in free.values()):
            values = super()._inputs(layer)
            if len(values) < len(layer.inputs):
                raise self._error(problems.open_input(layer, layer.inputs[len(values)]))
            return values
        if len(free) < len(layer.inputs):
            raise self._bad_ports(layer, layer.inputs)
        for edge in edges:
            if edge.to_port not in free:
                raise self._error(edge_problems.unknown_input_port(self.index, edge, layer))
            if free[edge.to_port] is not None:
                raise LayerFault(
                    "has an input port that both an edge and the port map feed",
                    code="IRL206",
                    found=f"port {edge.to_port}",
                    fix="remove the edge, or the entry of the port map",
                )
            free[edge.to_port] = self._value(edge)
        for port in layer.inputs:
            if free[port.id] is None:
                raise self._error(problems.open_input(layer, port))
        return tuple(value for value in free.values() if value is not None)

    def _keep(self, layer: Layer, made: tuple[Value, ...]) -> None:
        """Check what was built against the declared outputs, and give it the layer's name."""
        declared = self.steps.outputs
        if len(made) < len(declared):
            raise LayerFault(
                "has too many outputs",
                code="IRL404",
                expected=str(len(made)),
                found=str(len(declared)),
            )
        kept = []
        for index, (value, type) in enumerate(zip(made, declared, strict=False)):
            final = self._as_declared(value, type)
            if not final.names:
                name = layer.name or ""
                final.names = (name if len(declared) == 1 else f"{name}.{index}",)
            kept.append(final)
        nodes = {value.producer for value in kept}
        if len(nodes) == 1:
            node = nodes.pop()
            if node.name.startswith(f"{layer.name}/"):
                node.name = layer.name or ""
        ports = layer.outputs
        self.values[layer.id or ""] = {
            port.id: value for port, value in zip(ports, kept, strict=True)
        }
        if len(self.values[layer.id or ""]) < len(ports):
            raise self._bad_ports(layer, ports)

    def _as_declared(self, value: Value, type: TensorType) -> Value:
        """The value in the declared shape and element type.

        Raises:
            LayerFault: when it has another number of elements.
        """
        steps = self.steps
        dims, wanted = steps.dims(value), type.shape.dims
        if dims != wanted:
            plain = [dim for dim in dims if dim != 1]
            if plain != [dim for dim in wanted or () if dim != 1]:
                raise LayerFault(
                    "declares an output of other sizes than it computes",
                    code="IRL401",
                    expected=str(list(dims)),
                    found=str(list(wanted or ())),
                    cause="the file was edited, or its sizes were changed for another input",
                )
            value = steps.shaped(value, [dim for dim in wanted or () if isinstance(dim, int)])
        return steps.convert(value, type.element)

    def _outputs(self, graph: Graph, layer: Layer) -> None:
        """Make each output of a layer that no edge reads an output of the model."""
        read = {edge.from_port for edge in self.index.edges_out_of(layer)}
        for index, port in enumerate(layer.outputs):
            if port.id in read:
                continue
            name = layer.name or ""
            if len(layer.outputs) > 1:
                name = f"{name}.{index}"
            value = self.values[layer.id or ""][port.id]
            self.steps.location, self.steps.prefix = self._location(layer), name
            if value.is_output or isinstance(value.producer.op, Constant | Parameter):
                value = self.steps.renamed(value, name)
            value.names = (name,)
            graph.add_result(value, name, self._location(layer))

    # Declarations

    def _precision(self, layer: Layer) -> str | None:
        return layer.attributes.get("precision", self.precision)

    def _declared(self, layer: Layer, port: Port) -> TensorType:
        text = port.precision or self._precision(layer)
        key = (text, port.dims)
        known = self.reader.types.get(key)
        if known is None:
            element = precision_of(text, "has an output")
            if element is ElementType.F16:
                element = ElementType.F32  # the engine gave and took f32 for f16
            known = self.reader.types[key] = TensorType(
                element, Shape(self.dims_of_port(layer, port))
            )
        return known

    def dims_of_port(self, layer: Layer, port: Port) -> Dims:
        """The declared dimensions of a port.

        Raises:
            LayerFault: when one of them is not a number.
        """
        too_many = problems.too_many_dims(layer, port)
        if too_many is not None:
            raise self._error(too_many)
        dims = []
        for text in port.dims:
            dim = dim_integer(text)
            if dim is None or dim < 0:
                raise LayerFault(
                    "has a port with an invalid size",
                    code="IRL113",
                    expected="a number, 0 or more",
                    found=repr(text),
                )
            dims.append(dim)
        return tuple(dims)


def nothing_to_compute(net: Net) -> problems.Problem:
    """The problem of a net all of whose outputs are read, or that has no layers."""
    return problems.Problem(
        "IRL108",
        at_net(net),
        "the net has no output: every output of its layers is read by another layer",
        expected="an output port without an edge, which is an output of the model",
        found=f"{len(net.layers)} layers",
        cause="" if net.layers else "the layers were removed",
        fix="restore the layers, or remove the edge from the output of the model",
    )


def _contradiction(layer: Layer, message: str, first: object) -> problems.Problem:
    return problems.Problem(
        "IRL404",
        at_layer(layer),
        message,
        getattr(first, "expected", ""),
        getattr(first, "found", ""),
        fix="compare the sizes of its ports with the attributes of the layer",
    )
