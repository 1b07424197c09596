"""Writes a model as an IR (.xml and .bin) piece by piece.

No constant is ever in memory as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from irloop.diagnostics import Location
from irloop.dialects.openvino import OPENVINO
from irloop.errors import ReadError, UsageError, WriteError
from irloop.files import reason_of, replacing
from irloop.formats.openvino.attributes import codec_of
from irloop.formats.openvino.markup import (
    attributes_text,
    escape,
    extra_lines,
    extras_of,
    info_of_attributes,
    names_text,
)
from irloop.formats.openvino.names import Names, public_names
from irloop.formats.openvino.port_map_writer import Wires, wires_of
from irloop.formats.openvino.texts import precision_of, shape_text
from irloop.formats.openvino.weights import WeightsWriter
from irloop.formats.openvino.xml import SECTIONS
from irloop.formats.unwritable import unwritable
from irloop.graph.model import Body, Graph, Model, Node, Value
from irloop.graph.op import Constant, Op, Parameter, Result, UnknownOp
from irloop.graph.types import LARGEST_SIZE, ElementType, TensorType
from irloop.graph.verify import verify
from irloop.opening import weights_beside
from irloop.progress import counted

__all__ = ["write", "write_to"]

VERSIONS = (10, 11)

_NO_INFO: Mapping[str, Any] = {}


def write(
    model: Model,
    path: str | os.PathLike[str],
    *,
    version: int | None = None,
    weights: str | os.PathLike[str] | None = None,
) -> tuple[Path, Path]:
    """Write an IR: the .xml, and the .bin of the same name next to it.

    Both are written under other names and then renamed, so a failure leaves the old files
    unchanged. The model may have been read from the same files.

    Args:
        model: a model of the OpenVINO dialect.
        path: the .xml.
        version: 10 or 11; by default the model's own. Version 10 has no runtime information
            of layers and ports.
        weights: the .bin, if it should have another name.

    Returns:
        The .xml and the .bin.

    Raises:
        UsageError: for another version or dialect.
        VerifyError: when the graph in memory is inconsistent.
        WriteError: when an IR cannot represent the model, or a file cannot be written.
    """
    wanted = _version_of(model, version)
    xml, binary = Path(path), Path(weights or weights_beside(path))

    def write_both(xml_stream: BinaryIO, binary_stream: BinaryIO) -> None:
        _write_both(model, wanted, xml_stream, binary_stream)

    _replace(xml, binary, write_both)
    return xml, binary


def write_to(model: Model, xml: BinaryIO, weights: BinaryIO) -> None:
    """Write an IR to streams, as `write` does to files."""
    _write_both(model, _version_of(model, None), xml, weights)


def _write_both(model: Model, version: int, xml: BinaryIO, weights: BinaryIO) -> None:
    writer = WeightsWriter(weights)
    _Writer(xml, writer, version).model(model)
    writer.finish()


def _version_of(model: Model, version: int | None) -> int:
    """The IR version to write, after checking that the model can be written at all."""
    wanted = model.version if version is None else version
    if wanted not in VERSIONS:
        raise UsageError(
            "an IR is written as version 10 or 11", expected="10 or 11", found=str(wanted)
        )
    if model.dialect != "openvino":
        raise UsageError(
            "only a model of the OpenVINO dialect is written as IR",
            found=model.dialect,
            fix="convert it first",
        )
    verify(model.graph)
    return wanted


def _replace(xml: Path, binary: Path, write_both: Callable[[BinaryIO, BinaryIO], None]) -> None:
    """Write both files completely, or none of them."""
    try:
        # The weights are moved into place first, so that no .xml ever lacks its weights.
        with replacing(xml, binary) as streams:
            write_both(*streams)
    except (OSError, ValueError, ReadError) as error:
        reason = reason_of(error, xml) if isinstance(error, OSError) else str(error)
        if isinstance(error, ReadError):
            reason = error.message
        raise WriteError(
            f"the IR cannot be written: {reason}",
            location=Location(os.fspath(xml)),
            cause="the folder does not exist or is not writable, the disk is full, or weights "
            "that the model reads have changed",
        ) from error


class _Writer:
    """Writes the layers and edges of a graph and of all bodies in it."""

    def __init__(self, stream: BinaryIO, weights: WeightsWriter, version: int) -> None:
        self._stream = stream
        #: The lines that are not written yet. One write per line would take a tenth of the run
        #: time.
        self._lines: list[str] = []
        self._weights = weights
        self._has_info = version >= 11
        self._version = version
        self._names = Names()
        #: The precision and the lines of dimensions, keyed by the identity of a type and the depth.
        self._types: dict[tuple[int, int], tuple[str, str]] = {}
        #: The input ports of a layer as XML, keyed by the depth and the identity of each type.
        self._inputs: dict[tuple[int, ...], str] = {}
        #: The only output port of a layer as XML, before and after its names, keyed by the identity
        #: of its type, its number and the depth.
        self._outputs: dict[tuple[int, int, int], tuple[str, str]] = {}
        #: The type and shape of a constant as attributes.
        self._constants: dict[tuple[ElementType, tuple[int, ...]], str] = {}
        #: The type and version of a layer as attributes, keyed by operation class.
        self._kinds: dict[type[Op], str] = {}
        #: The attributes of equal operations as text. None for classes whose equal attributes may
        #: have different texts (0 and -0).
        self._attributes: dict[type[Op], dict[tuple[Any, ...], str] | None] = {}

    def model(self, model: Model) -> None:
        """Write the whole file."""
        graph = model.graph
        if not self._has_info:
            self._names = public_names(graph)
        name = f' name="{escape(graph.name)}"' if graph.name else ""
        self._line(0, '<?xml version="1.0"?>')
        self._line(0, f'<net{name} version="{self._version}">')
        self._net(graph, 1, [])
        for tag in SECTIONS:
            for extra in extras_of(str(model.metadata.get(tag, ""))):
                if extra.tag != tag:
                    raise WriteError(
                        f"the metadata entry {tag!r} contains a section with another name",
                        expected=f"<{tag}>",
                        found=f"<{extra.tag}>",
                        fix=f"correct model.metadata[{tag!r}], or remove it",
                    )
                for line in extra_lines(extra, 1):
                    self._line(0, line)
        self._line(0, "</net>")
        self._flush()

    def _line(self, depth: int, text: str) -> None:
        self._lines.append(f"{_TABS[depth]}{text}\n")

    def _flush(self) -> None:
        self._stream.write("".join(self._lines).encode())
        self._lines.clear()

    def _net(self, graph: Graph, depth: int, doubled: list[int]) -> None:
        """Write the parameters, nodes and results of a graph, and the edges between them.

        `doubled` lists the positions of the results for which a second Result layer is written,
        after all others.
        """
        places: dict[Value, tuple[int, int]] = {}
        edges: list[str] = []
        results = graph.results + [graph.results[index] for index in doubled]
        self._line(depth, "<layers>")
        add_edge, indent = edges.append, _TABS[depth + 1]
        nodes = [*graph.parameters, *graph.nodes, *results]
        layers: Iterable[Node] = nodes
        if graph.owner is None:
            layers = counted("layers", nodes, len(nodes), every=64)
        for number, node in enumerate(layers):
            inputs, outputs, wires = _connected(node), node.outputs, None
            if node.bodies:
                wires = wires_of(node, inputs)
                inputs, outputs = wires.inputs, wires.outputs
            for port, value in enumerate(inputs):
                source, source_port = places[value]
                add_edge(
                    f'{indent}<edge from-layer="{source}" from-port="{source_port}" '
                    f'to-layer="{number}" to-port="{port}"/>\n'
                )
            for place, value in enumerate(outputs, len(inputs)):
                places[value] = (number, place)
            if wires is not None or (self._has_info and node.info):
                self._layer(node, number, wires or Wires(inputs, outputs), depth + 1)
            else:
                self._plain_layer(node, number, inputs, depth + 1)
            if len(self._lines) > _LINES:
                self._flush()
        self._line(depth, "</layers>")
        if edges:
            self._line(depth, "<edges>")
            self._lines += edges
            self._line(depth, "</edges>")
        else:
            self._line(depth, "<edges/>")

    def _layer(self, node: Node, number: int, wires: Wires, depth: int) -> None:
        """Write a layer that may have bodies and runtime information."""
        indent = _TABS[depth]
        self._lines.append(f"{indent}{self._head(node, number)}{self._data_element(node, depth)}")
        for line in wires.lines:
            self._line(depth + 1, line)
        inputs, outputs = wires.inputs, wires.outputs
        self._lines.append(self._input_ports(node, inputs, depth + 1))
        self._lines.append(self._output_ports(node, outputs, len(inputs), depth + 1))
        for body in node.bodies:
            self._body(body, wires.doubled.get(body.label, []), depth + 1)
        if self._has_info and node.info:
            self._info(node.info, depth + 1)
        self._lines.append(f"{indent}</layer>\n")

    def _plain_layer(self, node: Node, number: int, inputs: tuple[Value, ...], depth: int) -> None:
        """Write a layer without bodies and runtime information, as nearly all layers are."""
        indent = _TABS[depth]
        head, data = self._head(node, number), self._data_element(node, depth)
        sources = self._input_ports(node, inputs, depth + 1)
        targets = self._output_ports(node, node.outputs, len(inputs), depth + 1)
        self._lines.append(f"{indent}{head}{data}{sources}{targets}{indent}</layer>\n")

    def _head(self, node: Node, number: int) -> str:
        """The start tag of a layer."""
        name = self._names.layers.get(node, node.name)
        extra = ""
        if self._has_info and isinstance(node.op, Result):
            names = node.attributes.get("output_names")
            extra = "" if names is None else f' output_names="{escape(str(names))}"'
        return f'<layer id="{number}" name="{escape(name)}" {self._kind(node)}{extra}>\n'

    def _kind(self, node: Node) -> str:
        """The type and version of a layer, as in ``type="Add" version="opset1"``."""
        cls = type(node.op)
        known = self._kinds.get(cls)
        if known is None:
            kind, version = _type_of(node)
            known = f'type="{escape(kind)}" version="{escape(version)}"'
            if cls is not UnknownOp:
                self._kinds[cls] = known
        return known

    def _body(self, body: Body, doubled: list[int], depth: int) -> None:
        tag = "body" if body.label == "body" else f"{body.label}_body"
        self._line(depth, f"<{tag}>")
        self._net(body.graph, depth + 1, doubled)
        self._line(depth, f"</{tag}>")

    def _data_element(self, node: Node, depth: int) -> str:
        """Return the `data` element of a layer as XML; "" if the layer has no attributes."""
        text = self._data_text(node, node.op)
        return f"{_TABS[depth]}\t<data{text}/>\n" if text else ""

    def _data_text(self, node: Node, op: Op) -> str:
        """Return the attributes of a layer's `data` element as XML, each after a space."""
        if isinstance(op, Constant) and not node.attributes:
            tensor = op.tensor
            offset, size = self._weights.place(tensor)
            stored = self._constants.get((tensor.element, tensor.shape))
            if stored is None:
                shape = ",".join(map(str, tensor.shape))
                stored = f' element_type="{tensor.element}" shape="{shape}"'
                self._constants[tensor.element, tensor.shape] = stored
            return f'{stored} offset="{offset}" size="{size}"'
        if node.attributes or isinstance(op, (Parameter, Constant, Result, UnknownOp)):
            return attributes_text(self._data(node, op))
        cls = type(op)
        if cls not in self._attributes:
            has_floats = "float" in str(cls.attribute_types())
            self._attributes[cls] = None if has_floats else {}
        texts = self._attributes[cls]
        if texts is None:
            return attributes_text(self._data(node, op))
        key = op.equality_key()
        if key not in texts:
            texts[key] = attributes_text(self._data(node, op))
        return texts[key]

    def _data(self, node: Node, op: Op) -> dict[str, str]:
        others = {name: str(text) for name, text in node.attributes.items()}
        if isinstance(op, Parameter):
            declared = _tensor_type(node, node.outputs[0])
            known = {"shape": shape_text(declared.shape), "element_type": str(declared.element)}
            return known | others
        if isinstance(op, Constant):
            offset, size = self._weights.place(op.tensor)
            shape = ",".join(map(str, op.tensor.shape))
            known = {
                "element_type": str(op.tensor.element),
                "shape": shape,
                "offset": str(offset),
                "size": str(size),
            }
            return known | others
        if isinstance(op, Result):
            return {name: text for name, text in others.items() if name != "output_names"}
        if isinstance(op, UnknownOp):
            return {name: str(text) for name, text in op.attributes.items()} | others
        return codec_of(type(op)).write(op) | others

    def _input_ports(self, node: Node, values: tuple[Value, ...], depth: int) -> str:
        """Return the `input` element of a layer as XML; "" if the layer has no inputs."""
        if not values:
            return ""
        key = (depth, *[id(value.type) for value in values])
        known = self._inputs.get(key)
        if known is None:
            indent = _TABS[depth]
            ports = [
                "".join(self._port(node, value, port, depth)) for port, value in enumerate(values)
            ]
            known = f"{indent}<input>\n{''.join(ports)}{indent}</input>\n"
            self._inputs[key] = known
        return known

    def _output_ports(self, node: Node, values: tuple[Value, ...], first: int, depth: int) -> str:
        """Return the `output` element of a layer as XML; "" if the layer has no outputs.

        `first` is the number of the first port.
        """
        indent = _TABS[depth]
        if len(values) == 1 and not (self._has_info and values[0].info):
            (value,) = values
            key = id(value.type), first, depth
            known = self._outputs.get(key)
            if known is None:
                head, rest = self._port(node, value, first, depth)
                known = f"{indent}<output>\n{head}", f"{rest}{indent}</output>\n"
                self._outputs[key] = known
            return f"{known[0]}{self._names_of(value)}{known[1]}"
        ports = []
        for port, value in enumerate(values, first):
            head, rest = self._port(
                node, value, port, depth, value.info if self._has_info else _NO_INFO
            )
            ports.append(f"{head}{self._names_of(value)}{rest}")
        return f"{indent}<output>\n{''.join(ports)}{indent}</output>\n" if ports else ""

    def _names_of(self, value: Value) -> str:
        """Return the `names` attribute of a port, after a space; "" if the output has no names."""
        names = self._names.values.get(value, value.names)
        return f' names="{escape(names_text(names))}"' if names else ""

    def _port(
        self,
        node: Node,
        value: Value,
        port: int,
        depth: int,
        info: Mapping[str, Any] = _NO_INFO,
    ) -> tuple[str, str]:
        """Return the XML of a port in two parts, before and after its `names` attribute."""
        precision, inside = self._type_lines(node, value, depth + 1)
        indent = _TABS[depth + 1]
        extra = info_of_attributes(info) if info else None
        if extra is not None:
            inside += "".join([f"{line}\n" for line in extra_lines(extra, depth + 2)])
        head = f'{indent}<port id="{port}" precision="{precision}"'
        return head, (f">\n{inside}{indent}</port>\n" if inside else "/>\n")

    def _type_lines(self, node: Node, value: Value, depth: int) -> tuple[str, str]:
        """Return the precision of a port, and the XML lines that list its dimensions.

        The lines are indented for a port element at `depth`.
        """
        declared = _tensor_type(node, value)
        key = id(declared), depth
        found = self._types.get(key)
        if found is not None:
            return found
        precision = precision_of(declared.element)
        if precision is None:
            raise unwritable(node, f"an IR has no element type {declared.element}")
        largest = max((dim for dim in declared.shape.dims or () if isinstance(dim, int)), default=0)
        if largest > LARGEST_SIZE:
            raise unwritable(node, f"a dimension is {largest}, but sizes in an IR have 64 bits")
        indent = _TABS[depth + 1]
        dims = [dim if isinstance(dim, int) else -1 for dim in declared.shape.dims or ()]
        lines = "".join(f"{indent}<dim>{dim}</dim>\n" for dim in dims)
        self._types[key] = (precision, lines)
        return precision, lines

    def _info(self, info: Mapping[str, Any], depth: int) -> None:
        extra = info_of_attributes(info)
        if extra is not None:
            for line in extra_lines(extra, depth):
                self._line(0, line)


#: The number of lines that are written at once.
_LINES = 1000

#: Indentation by depth; the reader's nesting limit applies to the writer, too.
_TABS = tuple("\t" * depth for depth in range(1024))


def _connected(node: Node) -> tuple[Value, ...]:
    """Return the inputs of a node, without omitted inputs at the end, which get no port.

    Raises:
        WriteError: when an omitted input precedes a connected one.
    """
    if None not in node.inputs:
        return cast("tuple[Value, ...]", node.inputs)
    values = tuple(value for value in node.inputs if value is not None)
    if values != node.inputs[: len(values)]:
        place = node.inputs.index(None)
        raise unwritable(node, f"input {place} is omitted, but a later input is connected")
    return values


def _type_of(node: Node) -> tuple[str, str]:
    """Return the type and the version of a layer, as strings."""
    op = node.op
    if isinstance(op, UnknownOp) and not op.op_domain:
        return op.name, op.version
    known = isinstance(op, Parameter | Result | Constant) or op.registry is OPENVINO
    if isinstance(op, UnknownOp) or not known:
        raise unwritable(node, "it is not an operation of OpenVINO")
    return op.type, f"opset{op.since}"


def _tensor_type(node: Node, value: Value) -> TensorType:
    if not isinstance(value.type, TensorType):
        raise unwritable(node, f"an IR has no values of type {value.type}")
    return value.type
