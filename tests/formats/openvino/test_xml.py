"""Records of the .xml file: line numbers, tolerated and refused content."""

from __future__ import annotations

from pathlib import Path

import pytest

from irloop.errors import ReadError
from irloop.formats.openvino.document import Document, Layer, Net
from irloop.formats.openvino.xml import parse
from irloop.formats.openvino.xml_refusals import MAX_BODIES, MAX_DEPTH

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "ir"

SMALL = """<net name="n" version="10">
<layers>
<layer id="0" name="x" type="Parameter" version="opset1">
<data shape="2" element_type="f32"/>
<output><port id="0" precision="FP32" names="x"><dim>2</dim></port></output>
</layer>
<layer id="1" name="r" type="Result" version="opset1">
<input><port id="0"><dim>2</dim></port></input>
</layer>
</layers>
<edges>
<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
</edges>
</net>
"""


def shape_of(document: Document) -> list[object]:
    """The content of a document without line numbers."""
    return [
        document.name,
        document.version,
        [
            (
                layer.id,
                layer.name,
                layer.type,
                layer.version,
                dict(layer.data),
                [(port.id, port.precision, port.dims) for port in layer.inputs],
                [(port.id, port.precision, port.names, port.dims) for port in layer.outputs],
            )
            for layer in document.net.layers
        ],
        [(e.from_layer, e.from_port, e.to_layer, e.to_port) for e in document.net.edges],
    ]


def all_layers(net: Net) -> list[Layer]:
    found = []
    for layer in net.layers:
        found.append(layer)
        for body in layer.bodies.values():
            found += all_layers(body)
    return found


def refused(data: bytes) -> ReadError:
    with pytest.raises(ReadError) as caught:
        parse(data, file="model.xml")
    assert caught.value.diagnostics[0].location.file == "model.xml"
    return caught.value


def test_records_of_a_loop() -> None:
    document = parse(FIXTURES / "loop_mo2021.xml")
    loop = next(layer for layer in document.net.layers if layer.type == "Loop")
    assert [port.id for port in loop.inputs] == ["0", "1", "2", "3"]
    assert [port.names for port in loop.outputs] == ["total", "all"]
    assert loop.outputs[1].dims == ("3", "2")
    section = loop.port_maps["body"]
    assert [entry.attributes["external_port_id"] for entry in section.inputs] == ["3", "2", "-1"]
    assert [entry.attributes["external_port_id"] for entry in section.outputs] == ["-1", "5", "4"]
    assert loop.back_edges is not None
    assert [(edge.from_layer, edge.to_layer) for edge in loop.back_edges] == [("6", "0")]
    body = loop.bodies["body"]
    assert [layer.path for layer in body.layers][:2] == ["loop/body/state", "loop/body/row"]
    assert body.layers[0].element_path == "net/layers/layer[@id=5]/body/layers/layer[@id=0]"
    assert [section.tag for section in document.net.sections] == ["meta_data"]
    # The layer after the loop belongs to the root, not to the body.
    assert document.net.layers[-1].path == "nobody reads this"


def test_lines_are_those_of_the_file() -> None:
    text = (FIXTURES / "loop_mo2021.xml").read_text(encoding="utf-8").splitlines()
    document = parse(FIXTURES / "loop_mo2021.xml")
    layers = all_layers(document.net)
    assert len(layers) == 19
    for layer in layers:
        assert f'<layer id="{layer.id}" name="{layer.name}"' in text[layer.line - 1]
        for port in (*layer.inputs, *layer.outputs):
            assert f'<port id="{port.id}"' in text[layer.line + port.below - 1]
    for edge in document.net.edges:
        assert f'from-layer="{edge.from_layer}"' in text[edge.line - 1]


def test_lines_past_the_limit_of_libxml2() -> None:
    data = SMALL.replace("<layers>", "<layers>" + "\n" * 70_000).encode()
    document = parse(data)
    assert document.net.layers[1].line == 70_007
    result = document.root.findall("layers/layer")[1]
    assert document.line_of(result) == 70_007


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + SMALL.encode(),
        b'<?xml version="1.0"?>\n' + SMALL.encode(),
        b'\n  <?xml version="1.0" encoding="UTF-8"?>\n' + SMALL.encode(),
        ('<?xml version="1.0" encoding="UTF-16"?>' + SMALL).encode("utf-16"),
        b'<?xml version="1.0" encoding="ISO-8859-1"?>' + SMALL.encode(),
        b"<!DOCTYPE net>\n" + SMALL.encode(),
        b'<!DOCTYPE net SYSTEM "http://127.0.0.1:1/net.dtd">\n' + SMALL.encode(),
        SMALL.replace(
            "<layers>", "<!-- <layer> -->stray<foo bar='1'><layer/></foo><layers>"
        ).encode(),
        SMALL.replace("<dim>2</dim>", "<dim><!-- two --><![CDATA[2]]></dim>").encode(),
        SMALL.replace("<dim>", "stray <dim>").encode(),
        # Python's own xml.etree writes this name.
        b'<?xml version="1.0" encoding="utf8"?>' + SMALL.encode(),
    ],
    ids=[
        "bom",
        "declaration",
        "space",
        "utf16",
        "latin1",
        "doctype",
        "dtd",
        "junk",
        "cdata",
        "text",
        "utf8",
    ],
)
def test_documents_that_openvino_tolerates_are_parsed(data: bytes) -> None:
    document = parse(data)
    assert shape_of(document) == shape_of(parse(SMALL.encode()))
    # libxml2 must accept what expat accepted.
    assert document.root.get("version") == "10"


def test_white_space_before_the_declaration_changes_no_line_number() -> None:
    data = b'\n\n<?xml version="1.0"?>\n' + SMALL.encode()
    assert parse(data).net.layers[0].line == 6


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "Git LFS pointer"),
        (b"<!DOCTYPE html><html><head></head></html>", "HTML page"),
        (b"\n<html></html>", "HTML page"),
        (b"\x08\x07\x12\x07pytorch:\x03abc", "ONNX model"),
        (bytes(64), "binary data"),
        (b"\x9a\x12\xff\x00\x00", "binary data"),
        (b"just text", "not XML"),
        (b'<ned version="10"/>', "<ned>"),
        (b'<net name="old" version="8" batch="1"><layers/></net>', "version 8"),
        (b'<net version="9"/>', "version 9"),
        (SMALL[: SMALL.index("</layers>")].encode(), "ends before"),
        (SMALL.replace("</layers>", "</layer>").encode(), "not well-formed"),
        (SMALL.replace('name="x"', 'name="x" name="x"').encode(), "not well-formed"),
        (b"\xff" + SMALL.encode(), "binary"),
        (SMALL.replace('"x"', '"\xe9"').encode("latin-1"), "not well-formed"),
        (b'<?xml version="1.0" encoding="klingon"?><net version="10"/>', "encoding"),
    ],
)
def test_the_kind_of_another_file_is_named(data: bytes, says: str) -> None:
    error = refused(data)
    assert says in error.message
    assert error.diagnostics[0].expected or error.diagnostics[0].found


def test_truncation_names_the_line() -> None:
    error = refused(SMALL[: SMALL.index("</layers>")].encode())
    assert error.diagnostics[0].location.line == 10


@pytest.mark.parametrize(
    "doctype",
    [
        '<!DOCTYPE net [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
        '<!DOCTYPE net [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE net [<!ENTITY % p SYSTEM "http://127.0.0.1:1/p.dtd"> %p;]>',
    ],
)
def test_refuses_entities(doctype: str) -> None:
    assert "entity" in refused((doctype + SMALL).encode()).message


def test_refuses_an_entity_that_a_dtd_might_declare() -> None:
    data = '<!DOCTYPE net SYSTEM "net.dtd">\n' + SMALL.replace('name="x"', 'name="&who;"')
    error = refused(data.encode())
    assert "&who;" in error.message
    assert error.diagnostics[0].location.line == 4


def nested(depth: int) -> bytes:
    start = '<layers><layer id="0" name="i" type="If" version="opset8"><then_body>'
    end = "</then_body></layer></layers>"
    return f'<net version="10">{start * depth}{end * depth}</net>'.encode()


def test_depth_of_bodies() -> None:
    document = parse(nested(MAX_BODIES))
    assert len(all_layers(document.net)) == MAX_BODIES
    assert document.root.tag == "net"
    assert "nested" in refused(nested(MAX_BODIES + 1)).message
    assert "nested" in refused(nested(100_000)).message


@pytest.mark.parametrize("tag", ["foo", "rt_info", "layers"])
def test_depth_of_other_elements(tag: str) -> None:
    def data(depth: int) -> bytes:
        return f'<net version="10">{f"<{tag}>" * depth}{f"</{tag}>" * depth}</net>'.encode()

    parse(data(MAX_DEPTH - 2))
    assert "nested" in refused(data(MAX_DEPTH + 2)).message
    assert "nested" in refused(data(200_000)).message


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.xml", tmp_path, "nul\0byte.xml"):
        with pytest.raises(ReadError):
            parse(path)


def test_size_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from irloop.formats.openvino import xml

    monkeypatch.setattr(xml, "MAX_BYTES", 100)
    path = tmp_path / "big.xml"
    path.write_text(SMALL, encoding="utf-8")
    with pytest.raises(ReadError, match="too large"):
        parse(path)
