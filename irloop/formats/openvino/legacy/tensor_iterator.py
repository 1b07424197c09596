"""TensorIterator of versions 4 to 7, whose bodies have neither Parameters nor Results.

An entry of the port map and a back edge name a layer of the body and one of its ports. Here, every
input port that is named becomes a Parameter, and every output port a Result.
"""

from __future__ import annotations

from typing import Any

from irloop.dialects.openvino.control_flow import TensorIterator
from irloop.formats.openvino.document import BackEdge, Layer, MapEntry, Net, Port
from irloop.formats.openvino.legacy.base import Dims, LayerFault
from irloop.formats.openvino.numbers import signed
from irloop.graph.builder import element_of
from irloop.graph.loops import (
    Carried,
    Concatenated,
    InputPort,
    Invariant,
    LastValue,
    OutputPort,
    PortMap,
    Sliced,
)
from irloop.graph.model import Body, Node, Value
from irloop.graph.types import Shape, TensorType

__all__ = ["Iterating"]

#: A layer and one of its ports, by their ids.
Place = tuple[str, str]


class Iterating:
    """Builds one TensorIterator of a net."""

    def __init__(self, outer: Any, layer: Layer, inputs: tuple[Value, ...]) -> None:
        self.outer = outer
        self.layer = layer
        self.inputs = inputs
        net = layer.bodies.get("body")
        section = layer.port_maps.get("body")
        if net is None or section is None:
            what = "body" if net is None else "port_map"
            raise LayerFault(f"has no {what}", code="IRL501" if net is None else "IRL502")
        self.net: Net = net
        self.section = section
        self.steps = outer.steps.nested(net.path)
        #: The Result of each output port of the body.
        self._results: dict[Place, int] = {}

    def build(self) -> tuple[Value, ...]:
        """Build the TensorIterator and return its outputs.

        Raises:
            LayerFault: when the port map or a back edge is not valid.
            ReadError: for a problem in the body.
        """
        entries = [(entry, self._place(entry)) for entry in self.section.inputs]
        starts: dict[Place, BackEdge] = {}
        for edge in self.layer.back_edges or ():
            starts.setdefault(_end(edge, edge.to_layer, edge.to_port), edge)
        bound: dict[Place, Value] = {}
        for number, (entry, place) in enumerate(entries):
            if place in bound:
                raise LayerFault(
                    "feeds a port of its body twice",
                    code="IRL511",
                    found=f"layer {place[0]}, port {place[1]}",
                )
            bound[place] = self._parameter(entry, place, number)
        missing = next((place for place in starts if place not in bound), None)
        if missing is not None:
            raise LayerFault(
                "has a back edge to a port that the port map does not feed",
                code="IRL519",
                found=f"layer {missing[0]}, port {missing[1]}",
                fix="add an input of the port map with the first value of the state",
            )
        body = self.outer.body(self.net, self.steps, bound)
        body.read_layers()
        ins = [self._input(body, at, *pair, starts) for at, pair in enumerate(entries)]
        outs = [self._output(body, entry) for entry in self.section.outputs]
        body.drop_unread()
        ports = PortMap(tuple(ins), tuple(sorted(outs, key=lambda out: out.external)))
        if {out.external for out in outs} != set(range(len(self.layer.outputs))):
            raise LayerFault("has an output that the port map does not name", code="IRL508")
        node: Node = self.outer.steps.emit(
            TensorIterator(),
            *self.inputs,
            n_outputs=len(self.layer.outputs),
            bodies=(Body("body", self.steps.graph, ports),),
        )
        return node.outputs

    def _place(self, entry: MapEntry) -> Place:
        get = entry.attributes.get
        layer, port = get("internal_layer_id"), get("internal_port_id")
        if layer is None or port is None:
            name = "internal_layer_id" if layer is None else "internal_port_id"
            raise LayerFault(
                f"has an entry of its port map without {name}", code="IRL103", expected=name
            )
        return layer, port

    def _external(self, entry: MapEntry, ports: list[Port]) -> int:
        """The position of the port of the layer that an entry names."""
        wanted = entry.attributes.get("external_port_id")
        for at, port in enumerate(ports):
            if port.id == wanted:
                return at
        raise LayerFault(
            f"has an {entry.kind} of its port map that names no port of its own",
            code="IRL503" if entry.kind == "input" else "IRL504",
            expected=", ".join(str(port.id) for port in ports),
            found=str(wanted),
        )

    def _parameter(self, entry: MapEntry, place: Place, number: int) -> Value:
        """The Parameter of an input port of the body, of the type that the owner passes."""
        index = self.outer.reader.index_of(self.net)
        inner = index.layers.get(place[0])
        port = None if inner is None else _port(inner.inputs, place[1])
        if inner is None or port is None:
            raise LayerFault(
                "feeds a port that its body does not have",
                code="IRL509",
                found=f"layer {place[0]}, port {place[1]}",
            )
        outer = self.inputs[self._external(entry, self.layer.inputs)]
        element = element_of(outer)
        type = TensorType(element, Shape(self.outer.dims_of_port(inner, port)))
        name = f"{inner.name}/port {place[1]}"
        made: Value = self.steps.parameter(name, type)
        return made

    def _number(self, entry: MapEntry, name: str, default: int) -> int:
        text = entry.attributes.get(name)
        if text is None:
            return default
        number = signed(text)
        if number is None:
            raise LayerFault(
                f"has an entry of its port map with an invalid {name}",
                code="IRL104",
                expected="an integer",
                found=repr(text),
            )
        return number

    def _slice(self, entry: MapEntry, dims: Dims) -> tuple[int, int, int, int, int] | None:
        """The axis, start, end, stride and part size of an entry; None without an axis.

        `dims` are those of the value outside. OpenVINO of today refuses some ways to write that all
        of an axis counts, so it is written in one way.
        """
        axis = self._number(entry, "axis", -1)
        if axis < 0:
            return None
        stride = self._number(entry, "stride", 1)
        part = self._number(entry, "part_size", abs(stride))
        start, end = self._number(entry, "start", 0), self._number(entry, "end", -1)
        if axis < len(dims):
            size = dims[axis]
            bounds = tuple(number + size + 1 if number < 0 else number for number in (start, end))
            if bounds == (0, size) and stride > 0:
                start, end = 0, -1
            elif bounds == (size, 0) and stride < 0:
                start, end = -1, 0
        return axis, start, end, stride, part

    def _input(
        self,
        body: Any,
        parameter: int,
        entry: MapEntry,
        place: Place,
        starts: dict[Place, BackEdge],
    ) -> InputPort:
        external = self._external(entry, self.layer.inputs)
        slice_ = self._slice(entry, self.steps.dims(self.inputs[external]))
        if slice_ is not None:
            return Sliced(external, parameter, *slice_)
        edge = starts.get(place)
        if edge is None:
            return Invariant(external, parameter)
        source = _end(edge, edge.from_layer, edge.from_port)
        return Carried(external, parameter, self._result(body, source, self.inputs[external]))

    def _result(self, body: Any, place: Place, like: Value | None = None) -> int:
        """The position of the Result of an output port of the body."""
        known = self._results.get(place)
        if known is not None:
            return known
        value = body.value_of(place)
        if value is None:
            raise LayerFault(
                "names an output that its body does not have",
                code="IRL510",
                found=f"layer {place[0]}, port {place[1]}",
            )
        if like is not None:
            value = self.steps.convert(value, element_of(like))
        if value.producer.graph is not self.steps.graph or not value.producer.inputs:
            value = self.steps.renamed(value, f"{value.name}/result")
        self._results[place] = len(self._results)
        self.steps.graph.add_result(value, f"{value.name}/sink_port_0", self.steps.location)
        return self._results[place]

    def _output(self, body: Any, entry: MapEntry) -> OutputPort:
        external = self._external(entry, self.layer.outputs)
        result = self._result(body, self._place(entry))
        slice_ = self._slice(entry, self.outer.steps.out(external))
        if slice_ is None:
            return LastValue(result, external)
        return Concatenated(result, external, *slice_)


def _port(ports: list[Port], wanted: str) -> Port | None:
    return next((port for port in ports if port.id == wanted), None)


def _end(edge: BackEdge, layer: str | None, port: str | None) -> Place:
    if layer is None or port is None:
        raise LayerFault(
            "has a back edge that names no layer or no port",
            code="IRL103",
            expected="from-layer, from-port, to-layer and to-port",
            found=f"back edge {edge.number}",
        )
    return layer, port
