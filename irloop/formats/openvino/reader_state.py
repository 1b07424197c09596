"""State shared between the readers of the root and all bodies: operations, types, errors.

Layers with the same attributes share one operation object, and ports with the same declarations one
type, so that large files are read faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irloop.dialects.openvino import OPENVINO
from irloop.dialects.openvino.opsets import opset_of
from irloop.formats.openvino import problems
from irloop.formats.openvino.attributes import AttributeProblem, codec_of
from irloop.formats.openvino.document import Document, Layer, Net, Port
from irloop.formats.openvino.markup import parse_names
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.numbers import dim_integer, unsigned
from irloop.formats.openvino.places import at_layer, at_port
from irloop.formats.openvino.port_map_reader import Wiring
from irloop.formats.openvino.texts import element_of_precision, parse_dim, parse_shape
from irloop.formats.openvino.weights import Weights
from irloop.graph.op import Op, UnknownOp
from irloop.graph.types import UNKNOWN_SHAPE, Shape, TensorType

__all__ = ["Shared"]

_NOTHING: Mapping[str, Any] = {}


class Shared:
    """Data that the reader of an IR shares between the root and all bodies."""

    def __init__(
        self,
        document: Document,
        weights: Weights,
        *,
        has_info: bool,
        indexes: Mapping[int, NetIndex] | None = None,
        wirings: Mapping[int, Sequence[Wiring]] | None = None,
    ) -> None:
        self.file = document.file
        self.version = unsigned(document.version) or 0
        self.weights = weights
        #: Whether layers and ports have runtime information, which they do in version 11.
        self.has_info = has_info
        #: One operation object for all layers with the same type, version and attributes.
        self.ops: dict[Any, tuple[Op, Mapping[str, Any]]] = {}
        self.types: dict[tuple[str | None, tuple[str, ...]], TensorType] = {}
        self.is_static = _is_static(document)
        #: The types and names of output ports, by the identity of their list, which layers share.
        self._outputs: dict[int, tuple[tuple[TensorType, ...], tuple[tuple[str, ...], ...]]] = {}
        self._indexes = dict(indexes or {})
        self._wirings = wirings or {}

    def index_of(self, net: Net) -> NetIndex:
        """The index of a net (the root or a body).

        It is created on the first call, unless the caller of the reader has provided it.
        """
        known = self._indexes.get(id(net))
        if known is None:
            known = self._indexes[id(net)] = NetIndex(net, None)
        return known

    def wiring(self, layer: Layer, label: str, outer: NetIndex) -> Wiring:
        """Return the port map of one body of a layer.

        If a port map was passed to the constructor, that object is returned, otherwise a new port
        map.
        """
        for known in self._wirings.get(id(layer), ()):
            if known.label == label:
                return known
        body, section = self.index_of(layer.bodies[label]), layer.port_maps.get(label)
        return Wiring(layer, label, outer, body, section)

    def op(self, layer: Layer) -> tuple[Op, Mapping[str, Any]]:
        """The operation of a layer, and the attributes that its class does not have."""
        key = (layer.type, layer.version, *layer.data.items())
        known = self.ops.get(key)
        if known is None:
            known = self.ops[key] = self._new_op(layer)
        return known

    def _new_op(self, layer: Layer) -> tuple[Op, Mapping[str, Any]]:
        if layer.version is None:
            problem = problems.missing_attribute(at_layer(layer), "layer", "version")
            raise problem.error(self.file)
        assert layer.type is not None  # `NetReader` refuses a layer without type
        misspelt = problems.misspelt_type(layer)
        if misspelt is not None:
            raise misspelt.error(self.file)
        opset = opset_of(layer.version, layer.type)
        cls = None if opset is None else OPENVINO.find(layer.type, opset)
        if cls is None:
            return UnknownOp(layer.type, layer.version, dict(layer.data)), _NOTHING
        try:
            op, unknown = codec_of(cls).read(layer.data)
        except AttributeProblem as problem:
            raise problem.placed(layer).error(self.file) from None
        return op, unknown or _NOTHING

    def outputs(self, layer: Layer) -> tuple[tuple[TensorType, ...], tuple[tuple[str, ...], ...]]:
        """The declared types and the tensor names of a layer's output ports."""
        key = id(layer.outputs)
        known = self._outputs.get(key)
        if known is None:
            names = tuple([parse_names(port.names) for port in layer.outputs])
            known = self._outputs[key] = self._output_types(layer), names
        return known

    def _output_types(self, layer: Layer) -> tuple[TensorType, ...]:
        types = self.types
        declared = []
        for port in layer.outputs:
            key = (port.precision, port.dims)
            known = types.get(key)
            if known is None:
                known = types[key] = self._declared(layer, port)
            declared.append(known)
        return tuple(declared)

    def _declared(self, layer: Layer, port: Port) -> TensorType:
        element = element_of_precision(port.precision)
        if element is None:
            problem = problems.unknown_precision(layer, port)
            if problem is None:
                problem = problems.missing_attribute(at_port(layer, port), "port", "precision")
            raise problem.error(self.file)
        if not port.dims and not self.is_static:
            # In files with unknown shapes, a port without dimensions may be a scalar or of unknown
            # rank.
            return TensorType(element, UNKNOWN_SHAPE)
        too_many = problems.too_many_dims(layer, port)
        if too_many is not None:
            raise too_many.error(self.file)
        dims = []
        for text in port.dims:
            dim = parse_dim(text)
            if dim is None:
                problem = problems.bad_dim(layer, port, text)
                assert problem is not None
                raise problem.error(self.file)
            dims.append(dim)
        return TensorType(element, Shape(tuple(dims)))


def _is_static(document: Document) -> bool:
    """Return whether every port, and every Parameter of the root, has a static shape."""
    texts = (text for dims in document.all_dims for text in dims)
    if any(not text.isdecimal() and dim_integer(text) == -1 for text in texts):
        return False
    shapes = (
        parse_shape(layer.data.get("shape", ""))
        for layer in document.net.layers
        if layer.type == "Parameter"
    )
    return all(shape is not None and shape.is_static for shape in shapes)
