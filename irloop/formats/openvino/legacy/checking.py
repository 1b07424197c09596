"""Finds all problems of a document of versions 2 to 7 that reading it would meet.

A layer with a problem is replaced by a value of the type that it declares for each of its outputs,
so that the layers that read it are checked, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from irloop.diagnostics import Diagnostic
from irloop.errors import ReadError
from irloop.formats.openvino.document import Document, Edge, Layer, Net
from irloop.formats.openvino.legacy.base import LEGACY, Dims, LayerFault
from irloop.formats.openvino.legacy.blobs import Blobs
from irloop.formats.openvino.legacy.net import LegacyNet, Place, nothing_to_compute
from irloop.formats.openvino.legacy.steps import Steps
from irloop.formats.openvino.reader_state import Shared
from irloop.formats.openvino.weights import Weights
from irloop.graph.model import Graph, Value
from irloop.graph.op import Constant, Parameter
from irloop.graph.types import ElementType, TensorType, ValueType
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
        #: The plain dimensions of types, by the identity of a type, which is kept alive.
        self.plain: dict[int, tuple[ValueType, Dims]] = {}
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
        if self._is_sound(layer):
            self._stand_in(layer)
            return
        try:
            super().read_layer(layer)
        except _UnknownSourceError:
            self._stand_in(layer)
        except ReadError as error:
            self.found += error.diagnostics[:1]
            self._stand_in(layer)

    def _is_sound(self, layer: Layer) -> bool:
        """Return whether a layer is certainly right, which most layers are.

        This is found without building it, from its sizes and its blobs. The layers of a body are
        built, as a loop may give them other sizes than they declare.
        """
        if self.net.path:
            return False
        ports = layer.outputs
        if not ports or len({port.id for port in ports}) < len(ports):
            return False
        if LEGACY.find(layer.type or "", self.version) is None:
            return False
        try:
            op, inputs = self._op(layer), self._inputs(layer)
            values = inputs[: op.counted]
            ins = [self._plain_dims(value.type) for value in values]
            outs = [self._plain_dims(self._declared(layer, port)) for port in ports]
            return (
                () not in (*ins, *outs)
                and op.takes(len(inputs))
                and not any(map(self._is_constant, values))
                and self._has_blobs(layer, op.weights(ins, outs), op.needed)
                and op.sizes(ins, outs) == outs
            )
        except (LayerFault, ReadError, _UnknownSourceError):
            return False

    def _has_blobs(self, layer: Layer, shapes: Mapping[str, Dims], needed: Sequence[str]) -> bool:
        """Return whether the layer has the blobs that it needs, with bytes for their shapes.

        Raises:
            LayerFault, ReadError: when a blob has not.
        """
        blobs = Blobs(layer, self.reader.weights, self._precision(layer))
        tags = [tag for tag in shapes if blobs.has(tag)]
        made = [blobs.tensor(tag, shapes[tag]) for tag in tags]
        return all(tag in tags for tag in needed) and all(t.element in _FLOATS for t in made)

    def _plain_dims(self, type: ValueType) -> Dims:
        """The dimensions of a type of f32 in 1 to 5 dimensions with sizes from 1, or ()."""
        known = self.plain.get(id(type))
        if known is None:
            known = type, _plain_dims(type)
            self.plain[id(type)] = known
        return known[1]

    def _is_constant(self, value: Value) -> bool:
        """Return whether a value is constant, so that a layer may depend on its elements."""
        if isinstance(value.producer.op, Parameter):
            return False
        return isinstance(value.producer.op, Constant) or self.steps.constant_of(value) is not None

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


#: Weights of these types become f32.
_FLOATS = (ElementType.F32, ElementType.F16)
#: The largest size of a layer that is checked without being built.
_LARGEST = (1 << 31) - 1


def _plain_dims(type: ValueType) -> Dims:
    if not isinstance(type, TensorType) or type.element is not ElementType.F32:
        return ()
    dims = tuple(dim for dim in type.shape.dims or () if isinstance(dim, int))
    is_whole = type.shape.dims is not None and len(dims) == len(type.shape.dims) < 6
    return dims if is_whole and all(0 < dim <= _LARGEST for dim in dims) else ()
