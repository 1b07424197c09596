"""Finds all problems of a document of versions 2 to 7 that reading it would meet.

A layer with a problem is replaced by a value of the type that it declares for each of its outputs,
so that the layers that read it are checked, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irloop.diagnostics import Diagnostic
from irloop.errors import ReadError
from irloop.formats.openvino.document import Document, Edge, Layer, Net
from irloop.formats.openvino.legacy.base import LayerFault
from irloop.formats.openvino.legacy.net import LegacyNet, Place, nothing_to_compute
from irloop.formats.openvino.legacy.steps import Steps
from irloop.formats.openvino.reader_state import Shared
from irloop.formats.openvino.weights import Weights
from irloop.graph.model import Graph, Value
from irloop.opening import Path

__all__ = ["problems_of"]


def problems_of(document: Document, weights: Path) -> list[Diagnostic]:
    """At most one finding for each layer of the root and all bodies, and some for the nets."""
    shared = Shared(document, Weights(weights, document.file), has_info=False)
    found: list[Diagnostic] = []
    _Checker(shared, document.net, Steps(Graph("")), document.precision, found=found).check()
    return found


class _UnknownSourceError(Exception):
    """A layer reads a value whose type is not known; another finding tells why."""


class _Checker(LegacyNet):
    """Reads one net, and goes on behind each problem."""

    def __init__(
        self,
        reader: Shared,
        net: Net,
        steps: Steps,
        precision: str | None,
        bound: Mapping[Place, Value] | None = None,
        *,
        found: list[Diagnostic],
    ) -> None:
        self.found = found
        super().__init__(reader, net, steps, precision, bound)

    def check(self) -> None:
        """Check the root."""
        self.read_layers()
        read = {(edge.from_layer, edge.from_port) for edge in self.net.edges}
        ends = [(layer.id, port.id) for layer in self.net.layers for port in layer.outputs]
        if read.issuperset(ends):
            self.found += self._error(nothing_to_compute(self.net)).diagnostics

    def read_layers(self) -> None:
        try:
            super().read_layers()
        except ReadError as error:
            self.found += error.diagnostics

    def read_layer(self, layer: Layer) -> None:
        try:
            super().read_layer(layer)
        except _UnknownSourceError:
            self._stand_in(layer)
        except ReadError as error:
            self.found += error.diagnostics[:1]
            self._stand_in(layer)

    def body(self, net: Net, steps: Steps, bound: Mapping[Place, Value]) -> LegacyNet:
        return _Checker(self.reader, net, steps, self.precision, bound, found=self.found)

    def _ordered(self) -> Iterator[Layer]:
        # A broken edge or a cycle is an error of its own; the other layers have an order anyway.
        try:
            layers = list(super()._ordered())
        except ReadError as error:
            self.found += error.diagnostics
            layers = self.net.layers
        yield from layers

    def _value(self, edge: Edge) -> Value:
        source = self.index.layers.get(edge.from_layer or "")
        if source is None:
            raise _UnknownSourceError
        if source.id not in self.values:
            self._stand_in(source)
        if any(port.id == edge.from_port for port in source.outputs):
            known = self.values[source.id or ""].get(edge.from_port)
            if known is None:
                raise _UnknownSourceError
        return super()._value(edge)

    def _stand_in(self, layer: Layer) -> None:
        """Give each output of a layer a value of the type that it declares, if that is known."""
        values = self.values[layer.id or ""] = {}
        for port in layer.outputs:
            try:
                type = self._declared(layer, port)
            except (LayerFault, ReadError):
                continue
            values[port.id] = self.steps.parameter(f"{layer.name}/{port.id}", type)
