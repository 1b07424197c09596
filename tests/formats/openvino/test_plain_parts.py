"""Plain layers, ports and edges are removed before parsing; readers notice no difference."""

from __future__ import annotations

import contextlib
import random

import pytest
from lxml import etree

from irloop.errors import ReadError
from irloop.formats.openvino import xml
from irloop.formats.openvino.document import Net
from irloop.formats.openvino.plain_parts import taken

#: Ports that are removed, and other ports, which must stay.
PORTS = (
    '<port id="0" precision="FP32"/>',
    '<port id="1" precision="FP32">\n<dim>1</dim>\n\t<dim>-1</dim></port>',
    '<port id="2"><dim>3</dim> </port>',
    '<port id="3" precision="I64" names="a,b/c:0">\n</port>',
    '<port id="4" precision="FP32" names="&lt;x&gt;"><dim>1</dim></port>',
    '<port precision="FP32" id="5"><dim>1</dim></port>',
    "<port id='6' precision='FP32'><dim>2</dim></port>",
    '<port id="7" precision="FP32"><dim> 4</dim><rt_info><a b="1"/></rt_info></port>',
    '<port id="08" precision="FP32"><dim>5</dim></port>',
    '<port id="9" names="ä"><dim>6</dim></port>',
    '<port id="10" other="x"/>',
    '<port id="11" precision="FP32"><dim>1</dim>',
    '<port id="12" id="12"/>',
)
EDGES = (
    '<edge from-layer="0" from-port="1" to-layer="2" to-port="3"/>',
    '<edge from-layer="1" from-port="0" to-layer="02" to-port="0" />',
    '<edge to-layer="1" to-port="0" from-layer="0" from-port="0"/>',
    '<edge from-layer="1" from-port="0" to-layer="3" to-port="0"></edge>',
    '<edge from-layer="+1" from-port="0" to-layer="3" to-port="0"/>',
)
#: The start tags of layers and their data; the first three may belong to a plain layer.
HEADS = (
    '<layer id="{}" name="l" type="Add" version="opset1">',
    '<layer id="{}" name="" type="ReLU" version="opset1">',
    '<layer id="{}" name="a/b c:0;" type="Result" version="x_1">',
    '<layer id="0{}" name="&lt;x&gt;" type="Add" version="opset1">',
    '<layer id="+{}" name="l" type="Add" version="opset1">',
    '<layer name="ä" id="{}" type="Add">',
    '<layer id="{}" name="l" type="Add" version="opset1" precision="FP32">',
    "<layer id='{}' name='l' type='Add' version='opset1'>",
)
#: The same in versions 2 to 7.
OLD_HEADS = (
    '<layer id="{}" name="l" precision="FP32" type="ReLU">',
    '<layer id="{}" name="a/b" type="Convolution">',
    '<layer id="{}" name="" precision="FP16" type="Const">',
    '<layer id="{}" name="l" type="ReLU" precision="FP32">',
    '<layer id="{}" name="l" type="ReLU" version="opset1">',
    '<layer id="{}" name="l" precision="FP32" type="ReLU" version="opset1">',
)
#: What names bytes of the .bin; the first three may belong to a plain layer.
BLOBS = (
    '<weights offset="0" size="12"/>',
    '<biases offset="12" precision="FP16" size="24" />',
    '<custom offset="36" size="4"/>',
    '<weights size="12" offset="0"/>',
    '<other offset="0" size="1"/>',
    '<weights offset="0" size="1"><a/></weights>',
    '<weights offset="x" size="1"/>',
)
DATA = (
    "",
    '<data shape="1,3" element_type="f32" />',
    '<data a="x"/>',
    "<data/>",
    '<data a="1" a="2"/>',
    '<data a="&quot;"/>',
    '<data a="1"></data>',
    '<data a="ä" b="1"/>',
    '<data xmlns_a="x"/>',
    '<data  a="1"/>',
    '<data a="1"/><data b="2"/>',
)
SPACES = ("", "\n", "\n\t\t", " ", "\n\n")


def document(draw: random.Random) -> bytes:
    """An IR with random layers of such ports, one of them with a body, and with random edges.

    Half of the documents are of version 6, whose layers may have blobs.
    """
    is_old = draw.random() < 0.5
    heads = OLD_HEADS if is_old else HEADS

    def several(items: tuple[str, ...], most: int) -> str:
        # Most documents have plain items only.
        chosen = items if draw.random() < 0.2 else items[:4]
        parts = draw.choices(chosen, k=draw.randrange(1, most))
        return "".join(part + draw.choice(SPACES) for part in ("", *parts))

    def section(tag: str, items: tuple[str, ...]) -> str:
        return f"<{tag}>{several(items, 4)}</{tag}>" if draw.random() < 0.8 else ""

    def layer(number: int, inside: str = "") -> str:
        head = draw.choice(heads if draw.random() < 0.05 else heads[:3]).format(number)
        data = draw.choice(DATA if draw.random() < 0.05 else DATA[:3])
        head += draw.choice(SPACES) + data
        space = draw.choice(SPACES)
        ports = f"{section('input', PORTS)}{space}{section('output', PORTS)}"
        blobs = section("blobs", BLOBS) if is_old or draw.random() < 0.02 else ""
        return f"{head}{draw.choice(SPACES)}{ports}{inside}{blobs}{draw.choice(SPACES)}</layer>"

    def net(depth: int) -> str:
        body = f"<body>{net(depth - 1)}</body>" if depth else ""
        layers = "\n".join(layer(number, body if number == 1 else "") for number in range(3))
        return f"<layers>{layers}</layers>{section('edges', EDGES)}"

    version = 6 if is_old else 11
    return f'<?xml version="1.0"?>\n<net name="n" version="{version}">{net(1)}</net>'.encode()


Port = tuple[str | None, str | None, str | None, tuple[str, ...], int]
Data = tuple[list[tuple[str, str]], int] | None
Blobs = list[tuple[str, list[tuple[str, str]], int]]
Head = tuple[list[tuple[str, str]], int, Data, Blobs]
Content = list[tuple[Head, list[Port], list[Port], list[tuple[str, ...]], list[int]]]


def wanted(data: bytes) -> Content:
    """The attributes, data and ports of each layer with their lines, and the edges of the nets
    inside, as libxml2 reads them.
    """
    found: Content = []
    root = etree.fromstring(data)
    is_old = root.get("version") == "6"
    for layer in root.iter("layer"):
        first = next((child for child in layer if etree.QName(child).localname == "data"), None)
        inner = None if first is None else (attributes(first), line_of(first))
        first_blobs: dict[str, etree._Element] = {}
        for blob in layer.findall("blobs/*") if is_old else ():
            first_blobs.setdefault(str(blob.tag), blob)
        blobs = [(tag, attributes(each), line_of(each)) for tag, each in first_blobs.items()]
        head = attributes(layer), line_of(layer), inner, blobs
        sides = [
            [
                (
                    canonical(port.get("id")),
                    port.get("precision"),
                    port.get("names"),
                    tuple(dim.text or "" for dim in port.findall("dim")),
                    line_of(port),
                )
                for port in layer.findall(f"{side}/port")
            ]
            for side in ("input", "output")
        ]
        edges = layer.findall("body/edges/edge")
        ends = [tuple(canonical(edge.get(end)) or "" for end in ENDS) for edge in edges]
        found.append((head, sides[0], sides[1], ends, [line_of(edge) for edge in edges]))
    return found


def attributes(element: etree._Element) -> list[tuple[str, str]]:
    return [(str(name), str(text)) for name, text in element.attrib.items()]


def line_of(element: etree._Element) -> int:
    return int(str(element.sourceline))


def canonical(text: str | None) -> str | None:
    return None if text is None else str(int(text))


ENDS = ("from-layer", "from-port", "to-layer", "to-port")


def found_in(net: Net) -> Content:
    """The same content as irloop reads it."""
    found: Content = []
    for layer in net.layers:
        inputs, outputs = (
            [
                (port.id, port.precision, port.names, port.dims, layer.line + port.below)
                for port in ports
            ]
            for ports in (layer.inputs, layer.outputs)
        )
        bodies = list(layer.bodies.values())
        edges = [edge for body in bodies for edge in body.edges]
        ends = [
            (edge.from_layer or "", edge.from_port or "", edge.to_layer or "", edge.to_port or "")
            for edge in edges
        ]
        data = layer.data, layer.data_line
        inner = None if data[1] is None else ([*data[0].items()], data[1])
        assert layer.id == canonical(layer.attributes.get("id"))
        own = (layer.name, layer.type, layer.version)
        assert own == tuple(map(layer.attributes.get, ("name", "type", "version")))
        blobs = [(tag, [*e.attributes.items()], e.line) for tag, e in layer.blobs.items()]
        head = [*layer.attributes.items()], layer.line, inner, blobs
        found.append((head, inputs, outputs, [*ends], [edge.line for edge in edges]))
        for body in bodies:
            found += found_in(body)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_ports_and_edges_match_lxml(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    read = parts = 0
    for _ in range(150):
        data = document(draw)
        parts += len(taken(data)[1])
        try:
            expected = wanted(data)
        except etree.XMLSyntaxError:
            with pytest.raises(ReadError):
                xml.parse(data)
            continue
        read += 1
        assert found_in(xml.parse(data).net) == expected, data.decode()
    assert read > 50
    assert parts > 300


@pytest.mark.parametrize("seed", range(2))
def test_a_document_without_plain_parts_conforms_exactly_if_the_original_does(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(100 + seed)  # noqa: S311
    files = []
    for _ in range(150):
        data = document(draw)
        with contextlib.suppress(ReadError):
            files.append((data, xml.parse(data).conforms))
    monkeypatch.setattr(xml, "taken", lambda data: (data, [], 0))
    assert [xml.parse(data).conforms for data, _ in files] == [known for _, known in files]
    assert {known for _, known in files} == {True, False}


@pytest.mark.parametrize(
    "text",
    [
        '<input><port id="1"/></input>',
        '<edges><edge from-layer="0" from-port="0" to-layer="0" to-port="0"/></edges>',
    ],
)
def test_parts_in_other_sections_are_kept_as_they_are(text: str) -> None:
    data = f'<net name="n" version="11"><layers/><edges/><rt_info>{text}</rt_info></net>'.encode()
    assert taken(data)[2] == 1
    (section,) = xml.parse(data).net.sections
    (child,) = section.children
    assert not child.attributes
    assert [inner.tag for inner in child.children] == ["port" if "port id" in text else "edge"]


@pytest.mark.parametrize(
    "text", ["<!-- -->", "<![CDATA[ ]]>", "\r", '<a _part_="0"/>', '<a _dims_="0"/>']
)
def test_unusual_documents_are_left_alone(text: str) -> None:
    data = b'<net><input><port id="1"/></input></net>'
    assert taken(data)[2] == 1
    unusual = data.replace(b"</net>", text.encode() + b"</net>")
    assert taken(unusual) == (unusual, [], 0)


def test_the_column_of_an_error_is_the_column_in_the_file() -> None:
    data = b'<net name="n" version="11"><layers><layer id="0"><input><port id="0"/></input></net>'
    column = data.rindex(b"net>") + 1
    with pytest.raises(ReadError, match=f"column {column}"):
        xml.parse(data)
