"""Compares what irloop reads in a file with an independent reading of the same bytes.

The other reading is that of the protobuf library for ONNX, and a plain one by expat for IR. A file
has one reading: either irloop refuses it, or both see the same model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock
from xml.parsers import expat

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from irloop.errors import IrloopError, ReadError
from irloop.files import ParsedOnce
from irloop.formats.onnx import reader as onnx_reader
from irloop.formats.onnx import source, wire_format
from irloop.formats.onnx.external import ExternalFiles
from irloop.formats.onnx.outline import Outline, OutlineGraph, outline_of
from irloop.formats.onnx.source import Loaded, load
from irloop.formats.openvino import reader as ir_reader
from irloop.formats.openvino.document import Document, Net
from irloop.formats.openvino.xml import parse
from irloop.graph.mapped_file import MappedFile
from irloop.graph.model import Model
from irloop.graph.walk import all_nodes

__all__ = ["one_reading", "one_reading_in_pieces", "one_reading_of_ir", "one_reading_of_onnx"]


def one_reading(path: Path) -> None:
    """Require one reading of an ONNX model, or of an IR if the file begins like XML.

    Raises:
        AssertionError: when irloop and the other reader see different models.
    """
    is_xml = path.read_bytes()[:1] in (b"<", b"\xef", b"\xfe", b"\xff")
    (one_reading_of_ir if is_xml else one_reading_of_onnx)(path)


def one_reading_in_pieces(path: Path) -> None:
    """Require one reading, and let irloop leave the weights of small files in the file, too.

    Raises:
        AssertionError: when irloop and the other reader see different models.
    """
    with mock.patch.object(source, "BIG", 0), mock.patch.object(wire_format, "CUT_LIMIT", 1):
        one_reading(path)


class _Files(ExternalFiles):
    """Remembers where the weights are that stay in the file."""

    windows: dict[bytes, tuple[int, int]] = {}  # noqa: RUF012 (replaced, never changed)

    def keep(self, file: MappedFile, windows: dict[bytes, tuple[int, int]]) -> None:
        """Remember the places of the weights, by the tokens that replace them."""
        self.windows = windows
        super().keep(file, windows)


def one_reading_of_onnx(path: Path) -> None:
    """Require that irloop reads a file as protobuf does, or that both refuse it.

    Raises:
        AssertionError: when they see different models, or only one of them refuses the file.
    """
    data = path.read_bytes()
    wanted = onnx.ModelProto()
    try:
        wanted.ParseFromString(data)
        is_model = wanted.HasField("graph")
    except DecodeError:
        is_model = False
    files = _Files(path.parent)
    try:
        proto = load(path, files)
    except ReadError as error:
        if is_model:
            raise AssertionError("irloop refuses what protobuf decodes") from error
        return
    assert is_model, "irloop reads what protobuf refuses"
    whole = onnx.ModelProto()
    whole.CopyFrom(proto)
    for tensor in _tensors(whole):
        if tensor.raw_data in files.windows:
            offset, size = files.windows[tensor.raw_data]
            tensor.raw_data = data[offset : offset + size]
    same = _encoded(whole) == _encoded(wanted)
    assert same, "irloop reads other fields than protobuf"
    file = ParsedOnce(path)
    file.content = Loaded(proto, files)
    # What both see may be refused, for example because a name is not UTF-8.
    with suppress(IrloopError):
        _same_outline(outline_of(file), wanted)
    with suppress(IrloopError):
        _same_model(onnx_reader.read(file), wanted)


def _encoded(proto: Any) -> bytes:
    return bytes(proto.SerializeToString(deterministic=True))


def _tensors(message: Any) -> Iterator[Any]:
    """Yield every TensorProto in a message."""
    if isinstance(message, onnx.TensorProto):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for item in value if field.is_repeated else (value,):
                yield from _tensors(item)


def _same_outline(found: Outline, wanted: onnx.ModelProto) -> None:
    opsets = {_domain(item.domain): item.version for item in wanted.opset_import}
    _require("opsets", {name: found.opsets[name] for name in found.imported}, opsets)
    functions = {(item.domain, item.name) for item in wanted.functions}
    _require("functions", found.functions, functions)
    _same_graph(found.graph, wanted.graph)


def _same_graph(found: OutlineGraph, wanted: onnx.GraphProto) -> None:
    weights = {item.name for item in wanted.initializer}
    names = [item.name for item in wanted.input if item.name not in weights]
    _require("inputs", list(found.inputs), names)
    _require("outputs", list(found.outputs), [item.name for item in wanted.output])
    _require("initializers", found.initializers, weights)
    _require("number of nodes", len(found.nodes), len(wanted.node))
    for mine, node in zip(found.nodes, wanted.node, strict=True):
        seen = (mine.type, mine.domain, mine.name, mine.inputs, mine.outputs)
        what = node.op_type, _domain(node.domain), node.name, tuple(node.input), tuple(node.output)
        _require("node", seen, what)
        attributes = [item.name for item in node.attribute]
        _require("attributes", [name for name, _ in mine.attributes], attributes)
        graphs = {item.name: item.g for item in node.attribute if _is_graph(item)}
        for name, body in mine.bodies.items():
            _same_graph(body, graphs[name])


def _is_graph(attribute: onnx.AttributeProto) -> bool:
    """Return whether an attribute holds a graph; files of the first IR versions declare no type."""
    if attribute.type == onnx.AttributeProto.UNDEFINED:
        return bool(attribute.HasField("g"))
    return bool(attribute.type == onnx.AttributeProto.GRAPH)


#: Operations that the reader replaces by others.
_EXPANDED = {"SequenceMap", "FlexAttention"}


def _same_model(found: Model, wanted: onnx.ModelProto) -> None:
    graph = wanted.graph
    weights = {item.name for item in graph.initializer}
    weights |= {item.values.name for item in graph.sparse_initializer}
    names = [item.name for item in graph.input if item.name not in weights]
    _require("inputs of the model", [node.name for node in found.graph.parameters], names)
    outputs = [item.name for item in graph.output]
    _require("outputs of the model", [node.name for node in found.graph.results], outputs)
    types = Counter(_types(graph))
    if wanted.functions or _EXPANDED & types.keys():
        return
    mine = Counter(type(node.op).type for node in all_nodes(found.graph))
    for name in ("Const", "Parameter", "Result"):
        mine.pop(name, None)
    types.pop("Constant", None)
    # An operation that irloop does not know has a class without a type.
    unknown = mine.pop("", 0)
    _require("operations", mine - types, Counter())
    _require("number of other operations", unknown, (types - mine).total())


def _types(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _types(body)


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _require(what: str, found: object, wanted: object) -> None:
    assert found == wanted, f"{what}: irloop sees {found!r}, the other reader {wanted!r}"


class _Element:
    """An element as expat reports it; `texts` are the pieces between markup."""

    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag, self.attributes = tag, attributes
        self.children: list[_Element] = []
        self.texts: list[str] = [""]

    def all(self, *path: str) -> list[_Element]:
        """The children of the first elements on the path, as OpenVINO finds them."""
        element: _Element | None = self
        for tag in path[:-1]:
            element = None if element is None else element.first(tag)
        return [] if element is None else [i for i in element.children if i.tag == path[-1]]

    def first(self, tag: str) -> _Element | None:
        """The first child with this tag."""
        return next((item for item in self.children if item.tag == tag), None)

    @property
    def text(self) -> str:
        """The first text that is not blank."""
        return next((item for item in self.texts if item.strip()), "".join(self.texts))


def _plain(data: bytes) -> _Element:
    """The root element of a document.

    Raises:
        ExpatError: when it is not well-formed.
    """
    root = _Element("", {})
    stack = [root]
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        stack[-1].texts.append("")
        stack[-1].children.append(_Element(tag, attributes))
        stack.append(stack[-1].children[-1])

    def end(tag: str) -> None:
        del stack[-1]

    def text(piece: str) -> None:
        stack[-1].texts[-1] += piece

    def markup(*_: object) -> None:
        stack[-1].texts.append("")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = text
    parser.CommentHandler = parser.ProcessingInstructionHandler = markup
    parser.StartCdataSectionHandler = parser.EndCdataSectionHandler = markup
    parser.Parse(data, True)
    return root.children[0]


def one_reading_of_ir(path: Path) -> None:
    """Require that irloop reads the .xml of an IR as a plain reader by expat does, or refuses it.

    Like OpenVINO, the plain reader looks only at the first section of each kind.

    Raises:
        AssertionError: when they see different models.
    """
    data = path.read_bytes()
    try:
        document = parse(data)
    except ReadError:
        return
    try:
        root = _plain(data.lstrip(b" \t\r\n"))
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise AssertionError("irloop reads what expat refuses") from error
    _same_net(document.net, root)
    with suppress(IrloopError):
        _same_ends(document, ir_reader.read_document(document, path.with_suffix(".bin")))


def _same_net(net: Net, wanted: _Element) -> None:
    layers = wanted.all("layers", "layer")
    _require("number of layers", len(net.layers), len(layers))
    for layer, element in zip(net.layers, layers, strict=True):
        get = element.attributes.get
        _require("layer", dict(layer.attributes), element.attributes)
        _require("id", layer.id, _id(get("id")))
        seen = layer.name, layer.type, layer.version
        _require("name, type and version", seen, (get("name"), get("type"), get("version")))
        data = element.first("data")
        _require("data", dict(layer.data), {} if data is None else data.attributes)
        # The inputs of a loop may be listed in another order than that of their ids.
        inputs = layer.inputs if layer.listed is None else layer.listed
        for side, ports in (("input", inputs), ("output", layer.outputs)):
            mine = [(port.id, port.precision, port.names, port.dims) for port in ports]
            _require(f"{side} ports", mine, list(map(_port, element.all(side, "port"))))
        for label, tag in (("body", "body"), ("then", "then_body"), ("else", "else_body")):
            body = element.first(tag)
            _require(f"has {tag}", label in layer.bodies, body is not None)
            if body is not None:
                _same_net(layer.bodies[label], body)
        back = [(edge.from_layer, edge.to_layer) for edge in layer.back_edges or ()]
        wanted_back = _ends(element.all("back_edges", "edge"), ("from-layer", "to-layer"))
        _require("back edges", back, wanted_back)
    edges = [(edge.from_layer, edge.from_port, edge.to_layer, edge.to_port) for edge in net.edges]
    ends = ("from-layer", "from-port", "to-layer", "to-port")
    _require("edges", edges, _ends(wanted.all("edges", "edge"), ends))


def _same_ends(document: Document, model: Model) -> None:
    kinds: tuple[tuple[str, Callable[[], list[Any]]], ...] = (
        ("Parameter", lambda: model.graph.parameters),
        ("Result", lambda: model.graph.results),
    )
    if document.is_legacy:  # its inputs are called otherwise, and its outputs have no layer
        kinds = (("Input", kinds[0][1]),)
    for kind, nodes in kinds:
        names = [layer.name for layer in document.net.layers if layer.type == kind]
        _require(kind, sorted(node.name for node in nodes()), sorted(map(str, names)))


def _port(element: _Element) -> tuple[object, ...]:
    get = element.attributes.get
    dims = tuple(item.text for item in element.children if item.tag == "dim")
    return _id(get("id")), get("precision"), get("names"), dims


def _ends(elements: list[_Element], names: tuple[str, ...]) -> list[tuple[str | None, ...]]:
    return [tuple(_id(item.attributes.get(name)) for name in names) for item in elements]


def _id(text: str | None) -> str | None:
    """An id as irloop writes it: without a sign, zeros and white space in front."""
    match = re.fullmatch(r"\s*([+-]?)0*(\d{1,19})", text or "", re.ASCII)
    if match is None or int(match[2]) >= 1 << 63 or (match[1] == "-" and int(match[2])):
        return text
    return str(int(match[2]))
