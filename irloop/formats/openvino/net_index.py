"""An index of one net: layers by id and type, edges by their ends.

A net is the element with the layers and edges: the root element of the file, or the body of a loop
or branch. The reader and the rules use the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from irloop.formats.openvino.document import Edge, Layer, Net, Port

__all__ = ["LOOPS", "NetIndex", "PortFacts", "Source"]

#: Operations with one body, by their type in lower case.
LOOPS = frozenset({"tensoriterator", "loop"})

#: A layer and one of its output ports.
Source = tuple[Layer, Port]


#: Types of layers that may have no readers.
_ENDS = frozenset({"Parameter", "Result", "Assign"})


class PortFacts:
    """Collects the ids, precisions and dimensions that occur in the ports of a net.

    A rule first checks these sets. It looks at each port separately only if a set contains a value
    that may be wrong.
    """

    def __init__(self, net: Net) -> None:
        self.ids: set[str | None] = set()
        self.precisions: set[str | None] = set()
        self.dims: set[tuple[str, ...]] = set()
        #: Layers with two ports of the same id on the same side.
        self.repeating: list[Layer] = []
        ids, precisions, dims = self.ids, self.precisions, self.dims
        # Many layers share their ports, which are examined only once.
        inputs = {id(layer.inputs): layer.inputs for layer in net.layers}
        outputs = {id(layer.outputs): layer.outputs for layer in net.layers}
        for ports in inputs.values():
            for port in ports:
                ids.add(port.id)
                dims.add(port.dims)
        for ports in outputs.values():
            for port in ports:
                ids.add(port.id)
                dims.add(port.dims)
                precisions.add(port.precision)
        if any(map(_repeats, inputs.values())) or any(map(_repeats, outputs.values())):
            self.repeating += [
                layer for layer in net.layers if _repeats(layer.inputs) or _repeats(layer.outputs)
            ]


def _repeats(ports: Sequence[Port]) -> bool:
    if len(ports) < 2:
        return False
    return len({port.id for port in ports}) < len(ports)


class NetIndex:
    """One net (the root or a body): layers by id and type, edges by both ends.

    If two layers have the same id, the first one is used; IRL105 reports the others.
    """

    def __init__(self, net: Net, parent: NetIndex | None) -> None:
        self.net = net
        self.parent = parent
        self.layers: dict[str, Layer] = {}
        self.duplicates: list[Layer] = []
        self.by_type: dict[str, list[Layer]] = {}
        for layer in net.layers:
            kind = layer.type
            self.by_type.setdefault(kind.lower() if kind else "", []).append(layer)
            if layer.id is None:
                continue
            if self.layers.setdefault(layer.id, layer) is not layer:
                self.duplicates.append(layer)
        self.incoming: dict[str, list[Edge]] = {}
        #: Edges without one of their four attributes.
        self.incomplete: list[Edge] = []
        incoming = self.incoming
        for edge in net.edges:
            target = edge.to_layer
            if target is not None:
                into = incoming.get(target)
                if into is None:
                    incoming[target] = [edge]
                else:
                    into.append(edge)
            if (
                edge.from_layer is None
                or edge.from_port is None
                or edge.to_port is None
                or target is None
            ):
                self.incomplete.append(edge)

    @cached_property
    def outgoing(self) -> dict[str, list[Edge]]:
        """The edges, keyed by the id of the layer from which they start."""
        outgoing: dict[str, list[Edge]] = {}
        for edge in self.net.edges:
            source = edge.from_layer
            if source is None:
                continue
            out = outgoing.get(source)
            if out is None:
                outgoing[source] = [edge]
            else:
                out.append(edge)
        return outgoing

    def of_type(self, *names: str) -> list[Layer]:
        """Layers of these types (lower case), in document order within a type."""
        return [layer for name in names for layer in self.by_type.get(name, ())]

    @property
    def parameters(self) -> list[Layer]:
        """The layers whose type is spelt `Parameter`, as OpenVINO requires."""
        return [layer for layer in self.of_type("parameter") if layer.type == "Parameter"]

    @property
    def results(self) -> list[Layer]:
        """The layers whose type is spelled Result, the only spelling that OpenVINO accepts."""
        return [layer for layer in self.of_type("result") if layer.type == "Result"]

    @property
    def constants(self) -> list[Layer]:
        """The layers whose type is exactly "Const"; OpenVINO accepts no other spelling."""
        return [layer for layer in self.of_type("const") if layer.type == "Const"]

    def edges_into(self, layer: Layer) -> list[Edge]:
        """The edges that end in a layer."""
        return [] if layer.id is None else self.incoming.get(layer.id, [])

    def edges_out_of(self, layer: Layer) -> list[Edge]:
        """The edges that start in a layer."""
        return [] if layer.id is None else self.outgoing.get(layer.id, [])

    def ending_nowhere(self, edges: Mapping[str, list[Edge]]) -> Iterator[tuple[str, Edge]]:
        """Yield (layer id, edge) for each edge that names a layer id that the net does not have.

        `edges` is `incoming` or `outgoing`, whose keys are the layer ids at one end of the
        edges. The pairs are yielded in the order of `edges`.
        """
        # The order of a set differs from process to process, so `edges` is iterated instead.
        unknown = edges.keys() - self.layers.keys()
        for name in edges if unknown else ():
            if name in unknown:
                yield from ((name, edge) for edge in edges[name])

    def source(self, layer: Layer, position: int = 0) -> Source | None:
        """Return the layer and the output port that input `position` of `layer` reads.

        The result is None if there is no such input or it has no valid edge.
        """
        if position >= len(layer.inputs):
            return None
        return self.source_of_port(layer, layer.inputs[position])

    def source_of_port(self, layer: Layer, port: Port) -> Source | None:
        """The layer and output port that an input port reads, if they are valid."""
        for edge in self.edges_into(layer):
            if edge.to_port == port.id:
                return self.source_of_edge(edge)
        return None

    def source_of_edge(self, edge: Edge) -> Source | None:
        """The layer and output port that an edge starts from, if both exist."""
        producer = self.layers.get(edge.from_layer or "")
        if producer is None:
            return None
        for port in producer.outputs:
            if port.id == edge.from_port:
                return producer, port
        return None

    @cached_property
    def ports(self) -> PortFacts:
        """The ids, precisions and dimensions that occur in ports."""
        return PortFacts(self.net)

    @cached_property
    def edge_numbers(self) -> dict[int, int]:
        """The number of each edge, counted from 1, keyed by `id(edge)`."""
        return {id(edge): number for number, edge in enumerate(self.net.edges, 1)}

    @cached_property
    def is_in_order(self) -> bool:
        """Return whether every layer comes after the layers that it reads, and no layer is useless.

        A layer is useless if no other layer reads it; Parameters, Results and Assigns need no
        reader. Files of exporters normally satisfy both conditions.
        """
        layers, incoming = self.layers, self.incoming
        read = {edge.from_layer for edge in self.net.edges if edge.to_layer in layers}
        done: set[str | None] = set()
        for layer in self.net.layers:
            for edge in incoming.get(layer.id or "", ()):
                if edge.from_layer not in done:
                    return False
            if layer.id not in read and layer.type not in _ENDS:
                return False
            done.add(layer.id)
        return True

    @cached_property
    def reachable(self) -> set[str]:
        """Ids of the layers that a Result or an Assign depends on."""
        incoming, layers = self.incoming, self.layers
        # If all Results are misspelt (IRL108), use the misspelt ones.
        sinks = [*self.results, *self.of_type("assign")] or self.of_type("result")
        stack = [layer.id for layer in sinks if layer.id is not None]
        seen = set(stack)
        while stack:
            for edge in incoming.get(stack.pop(), ()):
                source = edge.from_layer
                if source is not None and source not in seen and source in layers:
                    seen.add(source)
                    stack.append(source)
        return seen

    @cached_property
    def computed(self) -> set[str]:
        """Ids of the layers whose values depend on an input of the net, or on a variable.

        A shape does not count as depending on the value that has it.
        """
        stack = [layer.id for layer in self.of_type("parameter", "readvalue") if layer.id]
        seen = set(stack)
        while stack:
            for key in self._readers(stack.pop()):
                if key not in seen and (self.layers[key].type or "").lower() != "shapeof":
                    seen.add(key)
                    stack.append(key)
        return seen

    @cached_property
    def cycles(self) -> list[list[str]]:
        """The ids of layers that depend on themselves, one list for each cycle found."""
        place = {key: number for number, key in enumerate(self.layers)}
        last = len(place)
        for edge in self.net.edges:
            # Files nearly always list producers first, and then no search is needed.
            if place.get(edge.from_layer or "", -1) >= place.get(edge.to_layer or "", last):
                break
        else:
            return []
        return self._search_cycles()

    def _search_cycles(self) -> list[list[str]]:
        cycles: list[list[str]] = []
        state: dict[str, int] = {}
        for start in self.layers:
            if start in state:
                continue
            state[start] = 1
            path, readers = [start], [self._readers(start)]
            while path:
                reader = next(readers[-1], None)
                if reader is None:
                    state[path.pop()] = 2
                    readers.pop()
                elif reader not in state:
                    state[reader] = 1
                    path.append(reader)
                    readers.append(self._readers(reader))
                elif state[reader] == 1:
                    cycles.append(path[path.index(reader) :])
        return cycles

    def _readers(self, key: str) -> Iterator[str]:
        for edge in self.outgoing.get(key, ()):
            if edge.to_layer in self.layers:
                yield edge.to_layer

    def is_used(self, layer: Layer) -> bool:
        """Return whether a Result or an Assign depends on the layer."""
        return layer.id in self.reachable

    def upstream(self, layer: Layer) -> list[Layer]:
        """Every layer that `layer` depends on."""
        layers: dict[str, Layer] = {}
        stack = [layer]
        while stack:
            for edge in self.edges_into(stack.pop()):
                source = self.layers.get(edge.from_layer or "")
                if source is not None and source.id is not None and source.id not in layers:
                    layers[source.id] = source
                    stack.append(source)
        return list(layers.values())

    def downstream(self, layer: Layer) -> Iterator[Layer]:
        """The layers that read an output of `layer`."""
        for edge in self.edges_out_of(layer):
            reader = self.layers.get(edge.to_layer or "")
            if reader is not None:
                yield reader
