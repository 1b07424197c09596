"""Parses the .xml into layers, ports, edges and port maps.

Attribute values are kept unchanged, and line numbers are exact. `parse` refuses dangerous XML
(entities, deep nesting) and files that are not XML; it does not check the content. Validation rules
and the reader both start from a `Document`.

The file is read with expat, which knows the line of every element; libxml2 counts lines in 16 bits
only. `Document.root` provides the same file as an lxml tree for the schema check.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from xml.parsers import expat

from irloop.diagnostics import Location
from irloop.errors import ReadError
from irloop.files import ParsedOnce
from irloop.formats.openvino import xml_refusals
from irloop.formats.openvino.document import (
    BackEdge,
    Document,
    Edge,
    Extra,
    Layer,
    MapEntry,
    Net,
    Port,
    PortMapSection,
    is_legacy,
)
from irloop.formats.openvino.envelope import EDGE_ATTRIBUTES, Envelope, has_plain_markup
from irloop.formats.openvino.joined_dims import ATTRIBUTE, joined
from irloop.formats.openvino.numbers import canonical_id, unsigned
from irloop.formats.openvino.plain_parts import ATTRIBUTE as PART
from irloop.formats.openvino.plain_parts import Edges, Layers, Part, PlainBlob, Ports, taken
from irloop.formats.openvino.recognise import recognised, refuse_references, refused
from irloop.formats.openvino.xml_refusals import MAX_BODIES, MAX_DEPTH
from irloop.graph.collector import collector_paused
from irloop.opening import read_regular, what_else
from irloop.progress import listener, told

__all__ = ["SECTIONS", "parse"]

#: Maximum number of bytes of an .xml; that of a model with a million layers is smaller.
MAX_BYTES = 1 << 30


_Table = dict[str, Callable[[dict[str, str]], "_Table"]]

#: The table inside an element that is skipped: every child is skipped, too.
_SKIP: _Table = {}
#: Sections that may follow the edges of the root, and are kept unchanged.
SECTIONS = ("rt_info", "meta_data", "statistics", "quantization_parameters", "pre-process")
#: The names of bytes of the .bin in versions 2 to 7; `custom` is the value of a Const.
_BLOBS = ("weights", "biases", "custom")
_LABELS = {"": "body", "then_": "then", "else_": "else"}

#: The encodings that OpenVINO and expat read in the same way; tags are bytes of ASCII in all of
#: them but UTF-16.
_ENCODINGS = {"utf-8", "utf8", "us-ascii", "utf-16", "utf-16le", "utf-16be"}
_LATIN = {"iso-8859-1", "latin1"}

#: Marks a place in the text of a dimension where a comment or other markup begins or ends. XML
#: does not allow this character.
_MARKUP = "\0"


class _Blobs(dict[str, Callable[[dict[str, str]], _Table]]):
    """The table inside `<blobs>`: a child with any tag names bytes of the .bin."""

    def __init__(self, keep: Callable[[str, dict[str, str]], _Table]) -> None:
        self._keep = keep

    def get(self, tag: str, default: Any = None) -> Any:
        return partial(self._keep, tag) if tag else default


class _Ids(dict[str | None, str | None]):
    """A cache of ids in canonical form: `ids["+07"]` is "7".

    A text that is not a number is returned unchanged, and None for None.
    """

    def __missing__(self, text: str | None) -> str | None:
        self[text] = found = None if text is None else canonical_id(text)
        return found


class _JoinedDims(dict[str, tuple[str, ...]]):
    """Maps a value of the attribute `_dims_`, such as "1 3", to a tuple of dimensions.

    The module `joined_dims` writes this attribute. Equal dimensions give the same tuple object.
    """

    def __init__(self, known: dict[tuple[str, ...], tuple[str, ...]]) -> None:
        self._known = known

    def __missing__(self, text: str) -> tuple[str, ...]:
        dims = tuple(text.split(" "))
        self[text] = found = self._known.setdefault(dims, dims)
        return found


class _Builder:
    """Fills a `Net` from the events of the parser expat.

    For each open element it keeps a table that maps the allowed children to their handlers.
    """

    def __init__(self, file: str, parts: Sequence[Part] = ()) -> None:
        self.file = file
        #: The parts that were taken out of the document before parsing (see `plain_parts`).
        self._parts = parts
        #: How many of these parts, and how many ports with their dimensions in an attribute (see
        #: `joined_dims`), were found while parsing.
        self.joined = 0
        self.envelope = Envelope(self._repeated)
        self.net: Net | None = None
        self.attributes: dict[str, str] = {}
        self.has_doctype = False
        self._ends: list[str] = []
        self._loops: list[Layer] = []
        #: The number of layers parsed so far.
        self._parsed = 0
        #: About how many layers the file has; counted only to report progress.
        self._expected = 0
        self._parser = expat.ParserCreate(intern={})
        self._parser.buffer_text = True
        self._parser.XmlDeclHandler = self._declared
        self._parser.EntityDeclHandler = self._entity
        self._parser.AttlistDeclHandler = self._attribute_list
        self._parser.StartDoctypeDeclHandler = self._doctype
        #: The table of each open element, and the tags of the elements that were closed since the
        #: last start tag.
        self._stack: list[_Table] = [{"net": self._root}]
        self._owners: list[tuple[Net, Layer, int]] = []
        self._extras: list[Extra] = []
        self._ids = _Ids()
        self._texts: list[str] = []
        self._dims: list[str] = []
        #: Every distinct list of dimensions, stored once.
        self.dims: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._joined_dims = _JoinedDims(self.dims)
        self._make_tables()
        self._start = self._make_start()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._ends.append

    def _make_tables(self) -> None:
        # These have no initial value, because parsing sets them before it reads them.
        self._begins_with_xml: bool
        self._current: Net
        self._layer: Layer
        self._port: Port
        self._section: PortMapSection
        self._is_old: bool
        self._blobs: _Table
        self._port_table: _Table = {
            "rt_info": partial(self._open_extra, "rt_info", self._port_info),
        }
        self._inputs: _Table = {"port": self._input_port}
        self._outputs: _Table = {"port": self._output_port}
        self._map: _Table = {
            "input": partial(self._map_entry, "input"),
            "output": partial(self._map_entry, "output"),
        }
        self._back: _Table = {"edge": self._back_edge}
        self._layer_table: _Table = {
            "data": self._data,
            "input": self._open_inputs,
            "output": self._open_outputs,
            "back_edges": self._back_edges,
            "rt_info": partial(self._open_extra, "rt_info", self._layer_info),
        }
        for prefix, label in _LABELS.items():
            self._layer_table[f"{prefix}port_map"] = partial(self._port_map, label)
            self._layer_table[f"{prefix}body"] = partial(self._body, prefix, label)
        self._layers: _Table = {"layer": self._open_layer}
        self._edges: _Table = {"edge": self._edge}
        self._net_table: _Table = {
            "layers": partial(self._net_part, "layers", self._layers),
            "edges": partial(self._net_part, "edges", self._edges),
        }
        for tag in SECTIONS:
            self._net_table[tag] = partial(self._open_extra, tag, self._net_section)

    def parse(self, data: bytes) -> None:
        """Read the whole file.

        Raises:
            ReadError: when the file is refused, for example because it is not well-formed; the
                error names the line.
        """
        if listener() is not None:
            # Another encoding, or a comment with layers, only makes the remaining time less exact.
            runs = [part for part in self._parts if isinstance(part, Layers)]
            self._expected = data.count(b"<layer ") + sum(len(run.matches) for run in runs)
        self._begins_with_xml = data.startswith(b"<?xml")
        try:
            self._parser.Parse(data, True)
            self._start("", {})  # an empty tag name only processes the end tags that were collected
            told("layers parsed", self._parsed, self._parsed)
            for layer in self._loops:
                layer.order_inputs()
        except expat.ExpatError as error:
            place = Location(self.file, error.lineno)
            started = self.net is not None
            raise xml_refusals.malformed(place, error, data, started=started) from error

    def _place(self) -> Location:
        return Location(self.file, self._parser.CurrentLineNumber)

    def _make_start(self) -> Callable[[str, dict[str, str]], None]:
        """Make the handler of start tags.

        It is a closure, because that is a third faster than a method.
        """
        parser, stack, ends = self._parser, self._stack, self._ends
        texts, dims, tuples, port_table = self._texts, self._dims, self.dims, self._port_table
        # True while the last opened element is a dimension, even if it is closed already.
        in_dim = False

        def text_of_dim(text: str) -> None:
            if not ends:  # the dimension is still open
                texts.append(text)

        def markup(*_: object) -> None:
            if in_dim and not ends:
                texts.append(_MARKUP)

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal in_dim
            if ends:
                # Calling Python at every end tag would take as long as all the rest. So end tags
                # are collected, and their tables are removed when the next element starts.
                del stack[-len(ends) :]
                ends.clear()
                if self._owners:
                    self._leave_bodies()
            elif in_dim:
                raise xml_refusals.divided_dim(self._place())
            table = stack[-1]
            if in_dim:
                dims.append(self._dim("".join(texts)))
                texts.clear()
                if table is not port_table or name != "dim":
                    in_dim = False
                    parser.CharacterDataHandler = None
                    found = tuple(dims)
                    self._port.dims = tuples.setdefault(found, found)
            elif table is port_table and name == "dim":
                # Text is collected only here, because elsewhere it is only the white space of
                # indentation.
                in_dim = True
                parser.CharacterDataHandler = text_of_dim
            if in_dim:
                if attributes:
                    self.envelope.inside(name, attributes)
                stack.append(_SKIP)
                return
            handler = table.get(name)
            if handler is None:
                self._check_unknown(name)
                stack.append(_SKIP)
            else:
                stack.append(handler(attributes))

        parser.CommentHandler = parser.ProcessingInstructionHandler = markup
        parser.StartCdataSectionHandler = parser.EndCdataSectionHandler = markup
        return start

    def _dim(self, text: str) -> str:
        """Return the text of a dimension without the marks of markup, which must not divide it."""
        if _MARKUP not in text:
            return text
        parts = [part for part in text.split(_MARKUP) if part.strip()]
        if len(parts) > 1:
            raise xml_refusals.divided_dim(self._place())
        return "".join(parts)

    def _leave_bodies(self) -> None:
        while self._owners and self._owners[-1][2] >= len(self._stack):
            self._current, self._layer, _ = self._owners.pop()
            self.envelope.leave_body()

    def _check_unknown(self, name: str) -> None:
        if name:  # `parse` calls without a name at the end
            self.envelope.conforms = False
        if self.net is None:
            raise xml_refusals.wrong_root(self._place(), name)
        if len(self._stack) > MAX_DEPTH:
            raise xml_refusals.too_deep(self._place())

    def _root(self, attributes: dict[str, str]) -> _Table:
        self.attributes = attributes
        version = unsigned(attributes.get("version", ""))
        self._is_old = is_legacy(attributes.get("version"))
        if self._is_old:
            self._read_blobs()
        elif version is not None and 0 < version < 10:
            raise xml_refusals.too_old(self._place(), attributes["version"])
        self.envelope.check("net", attributes)
        self.net = self._current = Net(self._parser.CurrentLineNumber, "", "net", None)
        return self._net_table

    def _read_blobs(self) -> None:
        """Keep what only the layers of versions 2 to 7 have: names of bytes of the .bin."""
        self.envelope.become_old()
        self._blobs = _Blobs(self._blob)
        self._layer_table["blobs"] = self._open_blobs
        for tag in ("weights", "biases"):
            self._layer_table[tag] = partial(self._bare_blob, tag)

    def _open_blobs(self, attributes: dict[str, str]) -> _Table:
        self.envelope.open_child("blobs", attributes)
        return self._blobs

    def _bare_blob(self, tag: str, attributes: dict[str, str]) -> _Table:
        self.envelope.open_child(tag, _NO_DATA)
        return self._blob(tag, attributes)

    def _blob(self, tag: str, attributes: dict[str, str]) -> _Table:
        layer = self._layer
        self.envelope.check("blob", attributes)
        if tag not in _BLOBS:
            self.envelope.conforms = False
        if tag not in layer.blobs:
            extra = Extra(tag, attributes, self._parser.CurrentLineNumber)
            layer.blobs = {**layer.blobs, tag: extra}
        return _SKIP

    def _declared(self, version: str, encoding: str | None, standalone: int) -> None:
        # OpenVINO looks for the declaration of ISO-8859-1 in the first bytes only.
        allowed = _ENCODINGS | (_LATIN if self._begins_with_xml else set())
        if encoding is not None and encoding.lower() not in allowed:
            raise xml_refusals.undecodable(self._place(), encoding)

    def _repeated(self, tag: str) -> None:
        raise xml_refusals.repeated(self._place(), tag)

    def _attribute_list(self, tag: str, *_: object) -> None:
        raise xml_refusals.attribute_list(self._place(), tag)

    def _entity(self, name: str, *_: object) -> None:
        raise xml_refusals.entity(self._place(), name)

    def _doctype(self, *_: object) -> None:
        self.has_doctype = True

    def _open_layer(self, attributes: dict[str, str]) -> _Table:
        if PART in attributes:
            self._plain_layers(int(attributes[PART]))
            return _SKIP
        get = attributes.get
        net = self._current
        self._layer = layer = Layer(
            self._ids[get("id")],
            get("name"),
            get("type"),
            get("version"),
            self._parser.CurrentLineNumber,
            net,
            attributes,
            _NO_DATA,
            None,
            [],
            [],
            _NO_BODIES,
            _NO_PORT_MAPS,
        )
        net.layers.append(layer)
        if (layer.type or "").lower() == "loop":
            self._loops.append(layer)
        self.envelope.open_layer(attributes)
        self._parsed += 1
        if self._parsed % 1024 == 0:
            told("layers parsed", self._parsed, max(self._expected, self._parsed + 1))
        return self._layer_table

    def _plain_layers(self, number: int) -> None:
        """Add the layers of plain part `number` to the net that is being read.

        A plain part is a piece of the XML that was taken out before parsing (see
        `plain_parts`).
        """
        part = self._parts[number]
        assert isinstance(part, Layers)
        first, net, ids = self._parser.CurrentLineNumber, self._current, self._ids
        add = net.layers.append
        is_old = self._is_old
        for attributes, line, data, data_line, ports, blobs in part.read(self._made_ports):
            version = attributes.get("version")
            if (version is None) is not is_old or (blobs and not is_old):
                return  # unusual in this version; as `joined` does not count it, all is read again
            add(
                Layer(
                    ids[attributes["id"]],
                    attributes["name"],
                    attributes["type"],
                    version,
                    first + line,
                    net,
                    attributes,
                    _NO_DATA if data is None else data,
                    None if data is None else first + data_line,
                    ports[0],
                    ports[1],
                    _NO_BODIES,
                    _NO_PORT_MAPS,
                    blobs=_blobs_of(blobs, first) if blobs else _NO_BLOBS,
                )
            )
        self.joined += 1
        for data in filter(None, part.data.values()):
            self.envelope.inside("data", data)
        self._parsed += len(part.matches)
        told("layers parsed", self._parsed, max(self._expected, self._parsed + 1))

    def _data(self, attributes: dict[str, str]) -> _Table:
        self.envelope.open_data(attributes)
        if self._layer.data_line is None:
            self._layer.data = attributes
            self._layer.data_line = self._parser.CurrentLineNumber
        return _SKIP

    def _open_inputs(self, attributes: dict[str, str]) -> _Table:
        if PART in attributes:
            return self._plain_ports(attributes)
        self.envelope.open_child("input", attributes)
        return self._inputs

    def _open_outputs(self, attributes: dict[str, str]) -> _Table:
        if PART in attributes:
            return self._plain_ports(attributes)
        self.envelope.open_child("output", attributes)
        return self._outputs

    def _plain_ports(self, attributes: dict[str, str]) -> _Table:
        """Add ports to the current layer that were cut out of the text before parsing.

        The cut part was replaced by a placeholder element, whose `attributes` hold the number of
        the part (see `plain_parts`).
        """
        part = self._parts[int(attributes[PART])]
        assert isinstance(part, Ports)
        self.joined += 1
        if part.inputs is not None:
            self.envelope.open_child("input", _NO_DATA)
        if part.outputs is not None:
            self.envelope.open_child("output", _NO_DATA)
        layer = self._layer
        inputs, outputs = self._made_ports(part, self._parser.CurrentLineNumber - layer.line)
        layer.inputs += inputs
        layer.outputs += outputs
        return _SKIP

    def _made_ports(self, part: Ports, below: int) -> tuple[list[Port], list[Port]]:
        """Make the input and output ports of a layer from a part cut out before parsing.

        `below` is the number of lines from the first line of the layer to the text of `part`.
        """
        ids, dims = self._ids, self.dims
        inputs, outputs = [
            [
                Port(ids[key], precision, names, dims.setdefault(shape, shape), below + line)
                for key, precision, names, shape, line in side or ()
            ]
            for side in part
        ]
        # The precision is the only attribute that a port of a part may lack. Ports of versions 2 to
        # 7 have no names.
        if self._is_old:
            ports = (*inputs, *outputs)
            self.envelope.conforms &= all(port.names is None for port in ports)
        elif any(port.precision is None for port in outputs):
            self.envelope.conforms = False
        return inputs, outputs

    def _plain_edges(self, number: int) -> None:
        """Add the edges of plain part `number` to the net that is being read.

        A plain part is a piece of the XML that was taken out before parsing.
        """
        part = self._parts[number]
        assert isinstance(part, Edges)
        self.joined += 1
        first, edges, ids = self._parser.CurrentLineNumber, self._current.edges, self._ids
        self.envelope.check("edge", dict.fromkeys(EDGE_ATTRIBUTES, ""))
        for line, a, b, c, d in part:
            edges.append(Edge(ids[a], ids[b], ids[c], ids[d], first + line))

    def _net_part(self, name: str, table: _Table, attributes: dict[str, str]) -> _Table:
        if name == "edges" and PART in attributes:
            self._plain_edges(int(attributes.pop(PART)))
        self.envelope.open_part(name, attributes)
        return table

    def _new_port(self, attributes: dict[str, str]) -> Port:
        dims: tuple[str, ...] = ()
        if ATTRIBUTE in attributes:
            dims = self._joined_dims[attributes.pop(ATTRIBUTE)]
            self.joined += 1
        get = attributes.get
        below = self._parser.CurrentLineNumber - self._layer.line
        self._port = Port(self._ids[get("id")], get("precision"), get("names"), dims, below)
        self._dims[:] = dims
        return self._port

    def _input_port(self, attributes: dict[str, str]) -> _Table:
        self._layer.inputs.append(self._new_port(attributes))
        self.envelope.check("input port", attributes)
        return self._port_table

    def _output_port(self, attributes: dict[str, str]) -> _Table:
        self._layer.outputs.append(self._new_port(attributes))
        self.envelope.check("output port", attributes)
        return self._port_table

    def _port_map(self, label: str, attributes: dict[str, str]) -> _Table:
        self.envelope.open_child(f"{label} port_map", attributes)
        self._section = PortMapSection(label, [], [], self._parser.CurrentLineNumber)
        if label not in self._layer.port_maps:
            self._layer.port_maps = {**self._layer.port_maps, label: self._section}
        return self._map

    def _map_entry(self, kind: str, attributes: dict[str, str]) -> _Table:
        label = self._section.label
        self.envelope.check("loop entry" if label == "body" else "branch entry", attributes)
        internal = attributes.get("internal_layer_id")
        if internal is not None:
            attributes["internal_layer_id"] = self._ids[internal] or ""
        port = attributes.get("internal_port_id")
        if port is not None:
            attributes["internal_port_id"] = self._ids[port] or ""
        entries = self._section.inputs if kind == "input" else self._section.outputs
        line = self._parser.CurrentLineNumber
        entries.append(MapEntry(kind, attributes, line, len(entries) + 1))
        return _SKIP

    def _back_edges(self, attributes: dict[str, str]) -> _Table:
        self.envelope.open_child("back_edges", attributes)
        self._layer.back_edges = []
        return self._back

    def _back_edge(self, attributes: dict[str, str]) -> _Table:
        ids = self._ids
        self.envelope.check("back edge", attributes)
        ends = ids[attributes.get("from-layer")], ids[attributes.get("to-layer")]
        ports = ids[attributes.get("from-port")], ids[attributes.get("to-port")]
        edges = self._layer.back_edges
        assert edges is not None
        line = self._parser.CurrentLineNumber
        edges.append(BackEdge(*ends, line, len(edges) + 1, *ports))
        return _SKIP

    def _body(self, prefix: str, label: str, attributes: dict[str, str]) -> _Table:
        owner = self._layer
        if len(self._owners) >= MAX_BODIES:
            raise xml_refusals.too_many_bodies(self.file, self._parser.CurrentLineNumber, owner)
        self.envelope.open_child(f"{prefix}body", attributes)
        self._owners.append((self._current, owner, len(self._stack)))
        self.envelope.open_body()
        line = self._parser.CurrentLineNumber
        element = f"{owner.element_path}/{prefix}body"
        self._current = Net(line, f"{owner.path}/{label}", element, owner)
        if label not in owner.bodies:
            owner.bodies = {**owner.bodies, label: self._current}
        return self._net_table

    def _edge(self, attributes: dict[str, str]) -> _Table:
        get, ids = attributes.get, self._ids
        self.envelope.check("edge", attributes)
        self._current.edges.append(
            Edge(
                ids[get("from-layer")],
                ids[get("from-port")],
                ids[get("to-layer")],
                ids[get("to-port")],
                self._parser.CurrentLineNumber,
            )
        )
        return _SKIP

    def _open_extra(
        self, tag: str, keep: Callable[[Extra], None], attributes: dict[str, str]
    ) -> _Table:
        self.envelope.inside(tag, attributes)
        extra = Extra(tag, attributes, self._parser.CurrentLineNumber)
        keep(extra)
        self._extras.append(extra)
        self._parser.StartElementHandler = self._start_inside
        self._parser.EndElementHandler = self._end_inside
        self._parser.CharacterDataHandler = self._text_inside
        return _SKIP

    def _layer_info(self, extra: Extra) -> None:
        self.envelope.open_child(extra.tag, {})
        if self._layer.rt_info is None:
            self._layer.rt_info = extra

    def _port_info(self, extra: Extra) -> None:
        if self._port.rt_info is None:
            self._port.rt_info = extra

    def _net_section(self, extra: Extra) -> None:
        self.envelope.open_section(extra.tag)
        self._current.sections.append(extra)

    def _start_inside(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._stack) + len(self._extras) > MAX_DEPTH:
            raise xml_refusals.too_deep(self._place())
        self.envelope.inside(name, attributes)
        extra = Extra(name, attributes, self._parser.CurrentLineNumber)
        self._extras[-1].children.append(extra)
        self._extras.append(extra)

    def _text_inside(self, text: str) -> None:
        self._extras[-1].text += text

    def _end_inside(self, name: str) -> None:
        extra = self._extras.pop()
        extra.text = extra.text.strip()
        if not self._extras:
            self._parser.StartElementHandler = self._start
            self._parser.EndElementHandler = self._ends.append
            self._parser.CharacterDataHandler = None
            self._ends.append(name)


def _blobs_of(parsed: Sequence[PlainBlob], first: int) -> Mapping[str, Extra]:
    """The first element of each tag; their lines are counted from the line `first`."""
    blobs: dict[str, Extra] = {}
    for tag, attributes, line in parsed:
        if tag not in blobs:
            blobs[tag] = Extra(tag, attributes, first + line)
    return blobs


_NO_DATA: Mapping[str, str] = {}
_NO_BLOBS: Mapping[str, Extra] = {}
_NO_BODIES: Mapping[str, Net] = {}
_NO_PORT_MAPS: Mapping[str, PortMapSection] = {}


def parse(source: str | os.PathLike[str] | bytes, *, file: str | None = None) -> Document:
    """Parse an IR from a path, or from its bytes; `file` is its name in messages.

    A `ParsedOnce` is parsed at the first call only; all callers get the same document.

    Raises:
        ReadError: when the file is missing, is not an IR, is not well-formed, declares entities or
            is nested too deeply.
    """
    if isinstance(source, ParsedOnce):
        if source.content is None:
            source.content = parse(source.path)
        document: Document = source.content
        return document
    if isinstance(source, bytes):
        name, data = file or "<bytes>", source
    else:
        name = file or os.fspath(source)
        data = _load(source, name)
    data = recognised(data, name)
    with collector_paused():
        builder = _built(data, name)
    if builder.has_doctype:
        refuse_references(data, name)
    assert builder.net is not None  # a document without its root element is not well-formed
    attributes = builder.attributes
    version, net_name = attributes.get("version"), attributes.get("name")
    conforms = builder.envelope.conforms and has_plain_markup(data)
    document = Document(name, builder.net, version, net_name, data, builder.dims)
    document.conforms, document.precision = conforms, attributes.get("precision")
    # Break the builder's reference cycle; otherwise the document is freed only by the garbage
    # collector.
    builder.__dict__.clear()
    return document


def _built(data: bytes, name: str) -> _Builder:
    """Parse the file and return the builder with the result.

    A shortened form of the file, which is faster to parse, is parsed first: it lacks plain parts,
    and has dimensions as attributes (see `plain_parts` and `joined_dims`). If that fails, the
    original is parsed, so that an error names the right column.
    """
    rest, parts, count = taken(data)
    shorter, more = joined(rest)
    count += more
    if count:
        builder = _Builder(name, parts)
        # If this fails, the original is parsed below, so that the error names the right column.
        with suppress(ReadError):
            builder.parse(shorter)
            if builder.joined == count:
                return builder
    builder = _Builder(name)
    builder.parse(data)
    return builder


def _load(path: str | os.PathLike[str], name: str) -> bytes:
    try:
        kind = what_else(path)
        if kind:
            raise ReadError(f"this is {kind}, not a model", location=Location(name))
        data = read_regular(path, MAX_BYTES)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise refused(name, "the file is too large for an IR", str(error.strerror)) from error
        reason = error.strerror or type(error).__name__
        raise ReadError(f"the file cannot be read: {reason}", location=Location(name)) from error
    except ValueError as error:  # a NUL byte in the path
        raise ReadError(f"this is not a path: {error}", location=Location(name)) from error
    return data
