"""Turns one net of an IR, the root or a body, into a graph.

A net is the element with the layers and edges: the root element of the file, or the body of a loop
or branch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from irloop.diagnostics import Location
from irloop.errors import ReadError
from irloop.formats.openvino import edge_problems, problems
from irloop.formats.openvino.document import Edge, Layer, Net, Port
from irloop.formats.openvino.markup import attributes_of_info, parse_names
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.numbers import are_ids, is_id, unsigned
from irloop.formats.openvino.older_forms import has_joined_weights, with_parted_weights
from irloop.formats.openvino.places import at_data, at_edge, at_layer, at_port
from irloop.formats.openvino.port_map_record import port_map_of
from irloop.formats.openvino.problems import Problem
from irloop.formats.openvino.reader_state import Shared
from irloop.formats.openvino.texts import element_of_name, parameter_shape, static_shape
from irloop.graph.model import Body, Graph, Node, Value
from irloop.graph.types import ElementType, TensorType
from irloop.progress import counted

__all__ = ["NetReader"]


class NetReader:
    """Reads one net (the root or a body) into a Graph.

    A layer is read after the layers whose outputs it reads. Apart from that, layers keep the order
    of the file.
    """

    #: The type of the layers that are built last; None if there is no such type.
    last: str | None = "Result"

    def __init__(self, reader: Shared, net: Net) -> None:
        self.reader = reader
        self.net = net
        self.index = reader.index_of(net)
        #: The values of a layer, keyed by its output ports.
        self.values: dict[str, dict[str | None, Value]] = {}
        self.prefix = f"{net.path}/" if net.path else ""

    def graph(self, name: str) -> Graph:
        """The graph of this net.

        Raises:
            ReadError: for the first problem in the layers on which its Results depend.
        """
        graph = Graph(name)
        index = self.index
        self._refuse_unnamed()
        for layer in index.parameters:
            self._parameter(graph, layer)
        results = index.results
        if not results and not index.of_type("assign"):
            missing = problems.no_result(index)
            if not missing.is_warning:
                raise self._error(missing)
        layers: Iterable[Layer] = self.net.layers if index.is_in_order else self._ordered()
        if not self.net.path:
            layers = counted("layers", layers, len(self.net.layers), every=256)
        for layer in layers:
            self._node(graph, layer)
        for layer in results:
            self._result(graph, layer)
        return graph

    def _refuse_unnamed(self) -> None:
        """Refuse layers without a name, a type or a unique valid id, and edges that lack an end."""
        index = self.index
        ids_are_sound = are_ids(index.layers)
        for layer in self.net.layers:
            is_named = layer.name is not None and layer.type is not None and layer.id is not None
            if not is_named or not (ids_are_sound or is_id(layer.id)):
                raise self._error(_bad_identity(layer))
        for layer in index.duplicates:
            raise self._error(problems.duplicate_layer(layer, index.layers[layer.id or ""]))
        for edge in index.incomplete:
            ends = ("from_layer", "from_port", "to_layer", "to_port")
            name = next(end for end in ends if getattr(edge, end) is None).replace("_", "-")
            raise self._error(problems.missing_attribute(at_edge(index, edge), "edge", name))

    def _error(self, problem: Problem) -> ReadError:
        return problem.error(self.reader.file)

    def _reachable(self) -> Collection[str]:
        """The ids of the layers that are read."""
        return self.index.reachable

    def _ordered(self) -> Iterator[Layer]:
        """The layers on which a Result or an Assign depends, each after the layers that it reads.

        Raises:
            ReadError: for an edge from an unknown layer, and for a cycle.
        """
        index = self.index
        layers, incoming, reachable = index.layers, index.incoming, self._reachable()
        for key in reachable:
            for edge in incoming.get(key, ()):
                if edge.from_layer not in layers:
                    raise self._error(edge_problems.edge_from_unknown(index, edge))
        done: set[str | None] = set()
        for layer in self.net.layers:
            # Do not start from a Result: Results come last anyway, and one that is early in the
            # file would move the layers that it reads to the front.
            if layer.id not in reachable or layer.id in done or layer.type == self.last:
                continue
            stack = [(layer, iter(index.edges_into(layer)))]
            open_ids: dict[str | None, Layer] = {layer.id: layer}
            while stack:
                current, edges = stack[-1]
                source = next((e.from_layer for e in edges if e.from_layer not in done), None)
                if source is None:
                    stack.pop()
                    del open_ids[current.id]
                    done.add(current.id)
                    yield current
                elif source in open_ids:
                    raise self._error(_cycle(index, list(open_ids), source))
                else:
                    open_ids[source] = layers[source]
                    stack.append((layers[source], iter(incoming.get(source, ()))))

    def _parameter(self, graph: Graph, layer: Layer) -> None:
        data = layer.data
        if layer.data_line is None:
            raise self._error(problems.no_data(layer))
        for edge in self.index.edges_into(layer):
            raise self._error(edge_problems.edge_into_source(self.index, edge, layer))
        shape = parameter_shape(data.get("shape", ""))
        element = element_of_name(data.get("element_type", "dynamic"))
        if element is None:
            raise self._first(problems.unknown_element_type(layer, "element_type"))
        if shape is None:
            raise self._first(problems.bad_shape(layer, "shape"))
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

    def _first(self, *found: Problem | None) -> ReadError:
        """Make an error from the first problem in `found` that is not None."""
        return self._error(next(problem for problem in found if problem is not None))

    def _result(self, graph: Graph, layer: Layer) -> None:
        inputs = self._inputs(layer)
        if len(inputs) != 1:
            raise self._error(problems.number_of_inputs(layer, len(inputs), 1, 1))
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
        types, names = reader.outputs(layer)
        bodies = self._bodies(layer, len(inputs)) if layer.bodies else ()
        count = len(types)
        if bodies:
            mapped = [port.external + 1 for body in bodies for port in body.ports.outputs]
            count = max(count, *mapped, 0)
        place = self._location(layer)
        if len(inputs) == 5 and has_joined_weights(op, inputs):
            inputs = with_parted_weights(graph, op, layer.name or "", inputs, place)
        node = graph.add_node(
            op,
            layer.name or "",
            inputs,
            count,
            types=types,
            names=names,
            bodies=bodies,
            location=place,
        )
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
        if len(values) < min(len(ports), len(node.outputs)):
            raise self._bad_ports(layer, ports)
        self.values[layer.id or ""] = values

    def _bad_ports(self, layer: Layer, ports: Sequence[Port]) -> ReadError:
        """Make the error for the first port that shares its id with another, or lacks an id."""
        problem = next(problems.duplicate_port(layer, ports), None)
        if problem is None:
            nameless = next(port for port in ports if port.id is None)
            problem = problems.missing_attribute(at_port(layer, nameless), "port", "id")
        return self._error(problem)

    def _constant(self, graph: Graph, layer: Layer) -> Node:
        data = layer.data
        for edge in self.index.edges_into(layer):
            raise self._error(edge_problems.edge_into_source(self.index, edge, layer))
        dims, element = static_shape(data.get("shape")), element_of_name(data.get("element_type"))
        offset, size = unsigned(data.get("offset")), unsigned(data.get("size"))
        if dims is None or element is None or element is ElementType.DYNAMIC:
            raise self._bad_constant(layer)
        if offset is None or size is None:
            raise self._bad_constant(layer)
        tensor = self.reader.weights.tensor(layer, element, dims, (offset, size))
        names = parse_names(layer.outputs[0].names) if layer.outputs else ()
        node = graph.add_constant(tensor, layer.name or "", names, self._location(layer)).producer
        if len(data) > len(problems.CONSTANT):
            node.attributes = {key: data[key] for key in data if key not in problems.CONSTANT}
        return node

    def _bad_constant(self, layer: Layer) -> ReadError:
        problem = next(problems.incomplete_constant(layer), None)
        for name in ("offset", "size"):
            text = layer.data.get(name, "")
            if problem is None and unsigned(text) is None:
                problem = problems.malformed_integer(at_data(layer, name), name, text)
        return self._first(
            problem,
            problems.bad_shape(layer, "shape"),
            # `unknown_element_type` reads element_type, which the layer certainly has if nothing
            # was found before.
            None if problem else problems.unknown_element_type(layer, "element_type"),
        )

    def _inputs(self, layer: Layer) -> tuple[Value, ...]:
        """The values on the input ports, in the order of the ports."""
        edges, ports = self.index.edges_into(layer), layer.inputs
        if len(edges) == len(ports) == 1 and edges[0].to_port == ports[0].id:
            return (self._value(edges[0]),)
        keys = [port.id for port in ports]
        if [edge.to_port for edge in edges] == keys and len(set(keys)) == len(keys):
            # Exporters list the edges in the order of the ports.
            return tuple([self._value(edge) for edge in edges])
        return self._sorted_inputs(layer, edges)

    def _sorted_inputs(self, layer: Layer, edges: Sequence[Edge]) -> tuple[Value, ...]:
        places = {port.id: place for place, port in enumerate(layer.inputs)}
        if len(places) != len(layer.inputs):
            raise self._bad_ports(layer, layer.inputs)
        values: dict[int, Value] = {}
        first: dict[int, Edge] = {}
        for edge in edges:
            place = places.get(edge.to_port)
            if place is None:
                raise self._error(edge_problems.unknown_input_port(self.index, edge, layer))
            if place in values:
                other = first[place]
                problem = edge_problems.input_connected_twice(self.index, edge, layer, other)
                raise self._error(problem)
            values[place] = self._value(edge)
            first[place] = edge
        for place in range(len(values)):
            if place not in values:
                raise self._error(problems.open_input(layer, layer.inputs[place]))
        return tuple([values[place] for place in range(len(values))])

    def _value(self, edge: Edge) -> Value:
        values = self.values.get(edge.from_layer or "")
        value = None if values is None else values.get(edge.from_port)
        if value is None:
            source = self.index.layers[edge.from_layer or ""]
            raise self._error(edge_problems.unknown_output_port(self.index, edge, source))
        return value

    def _bodies(self, layer: Layer, n_inputs: int) -> tuple[Body, ...]:
        reader, bodies = self.reader, []
        for label in sorted(layer.bodies, key=_LABELS.index):
            net = layer.bodies[label]
            wiring = reader.wiring(layer, label, self.index)
            ports = port_map_of(wiring, n_inputs, reader.file)
            bodies.append(Body(label, NetReader(reader, net).graph(net.path), ports))
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


_LABELS = ("body", "then", "else")


def _bad_identity(layer: Layer) -> Problem:
    for name in ("id", "name", "type"):
        if layer.attributes.get(name) is None:
            return problems.missing_attribute(at_layer(layer), "layer", name)
    return problems.malformed_integer(at_layer(layer), "id", layer.id or "")


def _cycle(index: NetIndex, path: list[str | None], start: str) -> Problem:
    # A layer may be in several cycles; the rule reports the one that `index.cycles` finds.
    known = next((found for found in index.cycles if start in found), None)
    # The path leads from readers to producers; a cycle is reported in the direction of the data.
    around = [key or "" for key in reversed(path[path.index(start) :])]
    return edge_problems.cycle(index, known or around)
