"""One net of an IR, the root or a body, becomes a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irloop.diagnostics import Location
from irloop.errors import ReadError
from irloop.formats.openvino.attributes import AttributeProblem
from irloop.formats.openvino.layers import Shared
from irloop.formats.openvino.markup import attributes_of_info, parse_names
from irloop.formats.openvino.numbers import unsigned
from irloop.formats.openvino.older_forms import has_joined_weights, with_parted_weights
from irloop.formats.openvino.port_map_reader import Wirer
from irloop.formats.openvino.texts import element_of_name, parse_shape
from irloop.formats.openvino.xml import Edge, Layer, Net
from irloop.graph.loops import PortMap
from irloop.graph.model import Body, Graph, Node, Value, link, make_node
from irloop.graph.types import ElementType, TensorType

__all__ = ["NetReader"]


class NetReader:
    """Reads the root or one body: producers before readers, otherwise in the file's order."""

    def __init__(self, reader: Shared, net: Net) -> None:
        self.reader = reader
        self.net = net
        self.layers: dict[str, Layer] = {}
        self.incoming: dict[str, list[Edge]] = {}
        #: The values of a layer by its output ports.
        self.values: dict[str, dict[str | None, Value]] = {}
        self.prefix = f"{net.path}/" if net.path else ""

    def graph(self, name: str) -> Graph:
        """The graph of this net."""
        graph = Graph(name)
        self._index()
        sinks = []
        for layer in self.net.layers:
            kind = layer.type
            if kind == "Parameter":
                self._parameter(graph, layer)
            elif kind == "Result" or (kind is not None and kind.lower() == "assign"):
                sinks.append(layer)
        if not sinks:
            raise self._no_result()
        layers = self._as_it_stands()
        for layer in self._ordered(self._reachable(sinks)) if layers is None else layers:
            self._node(graph, layer)
        for layer in sinks:
            if layer.type == "Result":
                self._result(graph, layer)
        return graph

    def _index(self) -> None:
        layers, incoming = self.layers, self.incoming
        for layer in self.net.layers:
            id = layer.id or ""
            if unsigned(id) is None or layer.type is None or layer.name is None:
                raise self._bad_identity(layer)
            if layers.setdefault(id, layer) is not layer:
                raise self.reader.error(
                    layer,
                    "another layer has the same id",
                    "IRL105",
                    expected="ids that are unique in their net",
                    found=f"id={id} on line {layers[id].line} too",
                )
        for edge in self.net.edges:
            target = edge.to_layer
            if target is None or edge.to_port is None or edge.from_layer is None:
                raise self._bad_edge(edge)
            into = incoming.get(target)
            if into is None:
                incoming[target] = [edge]
            else:
                into.append(edge)

    def _bad_identity(self, layer: Layer) -> ReadError:
        for name in ("id", "name", "type"):
            if layer.attributes.get(name) is None:
                return self.reader.error(
                    layer,
                    f"the layer has no {name}",
                    "IRL103",
                    expected="id, name, type and version",
                    found=", ".join(layer.attributes) or "no attributes",
                )
        return self.reader.error(
            layer, "the id is no number", "IRL104", expected="decimal digits", found=repr(layer.id)
        )

    def _bad_edge(self, edge: Edge) -> ReadError:
        return ReadError(
            "an edge lacks an attribute",
            location=Location(
                self.reader.file, edge.line, self.net.path, None, f"{self.net.element_path}/edges"
            ),
            code="IRL103",
            expected="from-layer, from-port, to-layer and to-port",
            found=f"from layer {edge.from_layer} port {edge.from_port} "
            f"to layer {edge.to_layer} port {edge.to_port}",
        )

    def _no_result(self) -> ReadError:
        wrong = [layer for layer in self.net.layers if (layer.type or "").lower() == "result"]
        return ReadError(
            "the model has no layers"
            if not self.net.layers
            else f"nothing leaves {self.net.path or 'the model'}: it has no Result",
            location=Location(
                self.reader.file,
                wrong[0].line if wrong else self.net.line,
                self.net.path,
                None,
                self.net.element_path,
            ),
            code="IRL108",
            expected='at least one layer of type="Result"',
            found=f'type="{wrong[0].type}"' if wrong else f"{len(self.net.layers)} layers",
            cause="the letter case of Result matters" if wrong else "the file was cut or edited",
        )

    def _as_it_stands(self) -> list[Layer] | None:
        """All layers when they stand in an order and each is read by a later one; else None.

        Files of exporters are so; what cannot be reached would end in a layer nobody reads.
        """
        read = {edge.from_layer for edge in self.net.edges if edge.to_layer in self.layers}
        done: set[str | None] = set()
        for layer in self.net.layers:
            for edge in self.incoming.get(layer.id or "", ()):
                if edge.from_layer not in done:
                    return None
            if layer.id not in read and layer.type not in _ENDS:
                return None
            done.add(layer.id)
        return self.net.layers

    def _reachable(self, sinks: list[Layer]) -> set[str]:
        incoming, layers = self.incoming, self.layers
        seen = {layer.id or "" for layer in sinks}
        stack = list(seen)
        while stack:
            for edge in incoming.get(stack.pop(), ()):
                source = edge.from_layer
                if source is None or source in seen:
                    continue
                if source not in layers:
                    raise self._unknown_source(edge)
                seen.add(source)
                stack.append(source)
        return seen

    def _unknown_source(self, edge: Edge) -> ReadError:
        return self.reader.error(
            self.layers[edge.to_layer or ""],
            "an edge comes from a layer that does not exist",
            "IRL201",
            line=edge.line,
            expected="from-layer: the id of a layer of the same net",
            found=f"from-layer={edge.from_layer}",
        )

    def _ordered(self, reachable: set[str]) -> Iterator[Layer]:
        """Reachable layers, producers before readers, otherwise as they stand in the file.

        Raises:
            ReadError: for a cycle, which it names.
        """
        done: set[str] = set()
        for layer in self.net.layers:
            assert layer.id is not None
            # Results come last in any case; starting from one would put its producers first.
            if layer.id not in reachable or layer.id in done or layer.type == "Result":
                continue
            stack = [(layer, iter(self.incoming.get(layer.id, ())))]
            open_ids = {layer.id: layer}
            while stack:
                current, edges = stack[-1]
                source = self._next_source(edges, done)
                if source is None:
                    stack.pop()
                    assert current.id is not None
                    del open_ids[current.id]
                    done.add(current.id)
                    yield current
                elif source in open_ids:
                    raise self._cycle(list(open_ids.values()), source)
                else:
                    open_ids[source] = self.layers[source]
                    stack.append((self.layers[source], iter(self.incoming.get(source, ()))))

    @staticmethod
    def _next_source(edges: Iterator[Edge], done: set[str]) -> str | None:
        for edge in edges:
            if edge.from_layer not in done:
                return edge.from_layer
        return None

    def _cycle(self, path: list[Layer], start: str) -> ReadError:
        first = next(index for index, layer in enumerate(path) if layer.id == start)
        # The path goes from readers to producers; a cycle is read along the data.
        around = [layer.name or "" for layer in reversed(path[first:])]
        shown = " -> ".join([*around[:8], "..."] if len(around) > 8 else [*around, around[0]])
        return self.reader.error(
            path[first],
            f"layers form a cycle: {shown}",
            "IRL207",
            expected="edges without a way back",
            found=f"a cycle of {len(around)} layers",
            cause="a loop has to be a Loop or TensorIterator with back edges",
        )

    def _parameter(self, graph: Graph, layer: Layer) -> None:
        reader, data = self.reader, layer.data
        if layer.data_line is None:
            raise reader.error(
                layer, "the layer has no data", "IRL103", expected="<data shape element_type/>"
            )
        if self.incoming.get(layer.id or ""):
            raise self._edge_into(layer)
        shape = parse_shape(data.get("shape", ""))
        element = element_of_name(data.get("element_type", "dynamic"))
        if shape is None or element is None:
            name = "element_type" if element is None else "shape"
            raise reader.error(
                layer,
                f"attribute {name!r} cannot be read",
                "IRL111" if element is None else "IRL112",
                line=layer.data_line,
                expected="a type such as f32" if element is None else "1,3,?,1..5 or ...",
                found=repr(data.get(name)),
            )
        value = graph.add_parameter(
            layer.name or "",
            TensorType(element, shape),
            parse_names(layer.outputs[0].names) if layer.outputs else (),
            self._location(layer),
        )
        node = value.producer
        unknown = {key: data[key] for key in data if key not in ("shape", "element_type")}
        if unknown:
            node.attributes = unknown
        self._keep_info(node, layer)
        self._keep_values(node, layer)

    def _edge_into(self, layer: Layer) -> ReadError:
        edge = self.incoming[layer.id or ""][0]
        return self.reader.error(
            layer,
            f"an edge leads into a {layer.type}",
            "IRL208",
            line=edge.line,
            expected="no inputs",
            found=f"an edge from layer {edge.from_layer}",
        )

    def _result(self, graph: Graph, layer: Layer) -> None:
        inputs = self._inputs(layer)
        if len(inputs) != 1:
            raise self.reader.error(
                layer,
                "a Result has one input",
                "IRL406",
                expected="one edge into it",
                found=f"{len(inputs)} edges",
            )
        node = graph.add_result(inputs[0], layer.name or "", self._location(layer))
        names = layer.attributes.get("output_names")
        if names is not None and self.reader.has_info:
            node.attributes = {"output_names": names}
        self._keep_info(node, layer)

    def _node(self, graph: Graph, layer: Layer) -> None:
        reader, kind = self.reader, layer.type
        if kind in ("Parameter", "Result"):
            return
        if kind == "Const":
            node = self._constant(graph, layer)
            self._keep_values(node, layer)
            if reader.has_info:
                self._keep_info(node, layer)
            return
        op, unknown = reader.op(layer)
        inputs = self._inputs(layer)
        types = reader.output_types(layer)
        bodies = self._bodies(layer, len(inputs)) if layer.bodies else ()
        count = len(types)
        if bodies:
            mapped = [port.external + 1 for body in bodies for port in body.ports.outputs]
            count = max(count, *mapped, 0)
        names = tuple([parse_names(port.names) for port in layer.outputs])
        place = self._location(layer)
        if len(inputs) == 5 and has_joined_weights(op, inputs):
            inputs = with_parted_weights(graph, op, layer.name or "", inputs, place)
        node = make_node(op, layer.name or "", inputs, count, types, names, bodies, place)
        link(graph, node, before=None)
        if unknown:
            node.attributes = unknown
        self._keep_values(node, layer)
        if reader.has_info:
            self._keep_info(node, layer)

    def _keep_values(self, node: Node, layer: Layer) -> None:
        ports = layer.outputs
        if len(ports) == 1:
            self.values[layer.id or ""] = {ports[0].id: node.outputs[0]}
            return
        values = {port.id: value for port, value in zip(ports, node.outputs, strict=False)}
        if len(values) != len(ports):
            raise self._duplicate_port(layer)
        self.values[layer.id or ""] = values

    def _constant(self, graph: Graph, layer: Layer) -> Node:
        reader, data = self.reader, layer.data
        missing = [name for name in _CONST if name not in data]
        if missing:
            raise reader.error(
                layer,
                f"attribute {missing[0]!r} is missing",
                "IRL305",
                line=layer.data_line,
                expected=", ".join(_CONST),
                found=", ".join(data) or "no data",
            )
        if self.incoming.get(layer.id or ""):
            raise self._edge_into(layer)
        shape = parse_shape(data["shape"])
        dims = None if shape is None else shape.static()
        element = element_of_name(data["element_type"])
        offset, size = unsigned(data["offset"]), unsigned(data["size"])
        if dims is None or element is None or offset is None or size is None:
            raise self._bad_constant(layer, dims, element)
        if element is ElementType.DYNAMIC:
            raise self._bad_constant(layer, dims, None)
        try:
            tensor = reader.weights.tensor(element, dims, offset, size)
        except AttributeProblem as problem:
            raise reader.problem(layer, problem) from None
        names = parse_names(layer.outputs[0].names) if layer.outputs else ()
        node = graph.add_constant(tensor, layer.name or "", names, self._location(layer)).producer
        if len(data) > len(_CONST):
            node.attributes = {key: data[key] for key in data if key not in _CONST}
        return node

    def _bad_constant(
        self, layer: Layer, dims: tuple[int, ...] | None, element: ElementType | None
    ) -> ReadError:
        data = layer.data
        if element is None:
            name, expected, code = "element_type", "a type such as f32", "IRL111"
        elif dims is None:
            name, expected, code = "shape", "known dimensions such as 1,3", "IRL305"
        else:
            name = "size" if unsigned(data["size"]) is None else "offset"
            expected, code = "decimal digits", "IRL104"
        return self.reader.error(
            layer,
            f"attribute {name!r} cannot be read",
            code,
            line=layer.data_line,
            expected=expected,
            found=repr(data[name]),
        )

    def _inputs(self, layer: Layer) -> tuple[Value, ...]:
        """The values on the input ports, in the order of the ports."""
        edges, ports = self.incoming.get(layer.id or "", ()), layer.inputs
        if len(edges) == len(ports) == 1 and edges[0].to_port == ports[0].id:
            return (self._value(edges[0], layer),)
        return self._sorted_inputs(layer, edges)

    def _sorted_inputs(self, layer: Layer, edges: Sequence[Edge]) -> tuple[Value, ...]:
        places = {port.id: place for place, port in enumerate(layer.inputs)}
        if len(places) != len(layer.inputs):
            raise self._duplicate_port(layer)
        values: dict[int, Value] = {}
        for edge in edges:
            place = places.get(edge.to_port)
            if place is None or place in values:
                raise self._bad_target(layer, edge, place is not None)
            values[place] = self._value(edge, layer)
        for place in range(len(values)):
            if place not in values:
                port = layer.inputs[place]
                raise self.reader.error(
                    layer,
                    f"input port {port.id} has no edge, but a port after it has",
                    "IRL204",
                    line=port.line,
                    expected="inputs connected without a gap",
                    found=f"edges to {len(values)} of {len(layer.inputs)} ports",
                )
        return tuple([values[place] for place in range(len(values))])

    def _duplicate_port(self, layer: Layer) -> ReadError:
        return self.reader.error(
            layer,
            "two ports have the same id, or a port has none",
            "IRL106",
            expected="unique ids",
            found=", ".join(str(port.id) for port in [*layer.inputs, *layer.outputs][:20]),
        )

    def _bad_target(self, layer: Layer, edge: Edge, taken: bool) -> ReadError:
        if taken:
            return self.reader.error(
                layer,
                f"two edges lead to input port {edge.to_port}",
                "IRL206",
                line=edge.line,
                expected="one edge an input port",
                found=f"another one from layer {edge.from_layer}",
            )
        return self.reader.error(
            layer,
            f"an edge leads to input port {edge.to_port}, which the layer does not have",
            "IRL203",
            line=edge.line,
            expected=_port_list([port.id for port in layer.inputs]),
            found=f"to-port={edge.to_port}",
        )

    def _value(self, edge: Edge, reading: Layer) -> Value:
        values = self.values.get(edge.from_layer or "")
        value = None if values is None else values.get(edge.from_port)
        if value is None:
            raise self._bad_source(edge, reading)
        return value

    def _bad_source(self, edge: Edge, reading: Layer) -> ReadError:
        layer = self.layers[edge.from_layer or ""]
        if layer.type == "Result":
            return self.reader.error(
                reading,
                f"an edge comes from Result {layer.path!r}, which has no outputs",
                "IRL203",
                line=edge.line,
            )
        return self.reader.error(
            layer,
            f"an edge comes from output port {edge.from_port}, which the layer does not have",
            "IRL203",
            line=edge.line,
            expected=_port_list([port.id for port in layer.outputs]),
            found=f"from-port={edge.from_port}",
        )

    def _bodies(self, layer: Layer, n_inputs: int) -> tuple[Body, ...]:
        bodies = []
        for label in sorted(layer.bodies, key=_LABELS.index):
            net = layer.bodies[label]
            ports: PortMap = Wirer(self.reader.file, layer, label, n_inputs).read()
            bodies.append(Body(label, NetReader(self.reader, net).graph(net.path), ports))
        return tuple(bodies)

    def _location(self, layer: Layer) -> Location:
        return Location(self.reader.file, layer.line, f"{self.prefix}{layer.name}", layer.id)

    def _keep_info(self, node: Node, layer: Layer) -> None:
        if not self.reader.has_info:
            return
        if layer.rt_info is not None:
            node.info = attributes_of_info(layer.rt_info)
        for value, port in zip(node.outputs, layer.outputs, strict=False):
            if port.rt_info is not None:
                value.info = attributes_of_info(port.rt_info)


#: Types that may stand where nobody reads them.
_ENDS = frozenset({"Parameter", "Result", "Assign"})
_CONST = ("element_type", "shape", "offset", "size")
_LABELS = ("body", "then", "else")


def _port_list(ids: list[str | None]) -> str:
    shown = ", ".join(str(id) for id in ids[:20])
    return f"one of the ports {shown}" if ids else "no edge: the layer has no such ports"
