"""The XSD of the file structure, and libxml2's errors as permanent codes."""

from __future__ import annotations

from pathlib import Path

from lxml import etree

from irloop.validation import schema
from tests.archives import opconf_cases, unpacked


def found(text: str) -> list[tuple[str, str, str]]:
    root = etree.fromstring(text)
    return [(item.code, str(item.element.tag), item.attribute) for item in schema.check(root)]


def test_schema_is_found() -> None:
    assert Path(schema.schema_file()).name == "ir-v10.xsd"
    assert Path(schema.schema_file()).is_file()


def test_unknown_elements_hide_no_other_finding() -> None:
    text = """
        <net version="10" color="red">
          <layers>
            <layer id="0" type="A" version="opset1" zzz="1">
              <foo/><data any="thing"/><bar/><data/>
              <output><port id="1"/></output>
            </layer>
            <baz/>
            <layer id="1" name="b" type="B" version="opset1"/>
          </layers>
          <qux/>
          <edges><edge from-layer="1" to-layer="2" to-port="0"/></edges>
        </net>
    """
    assert found(text) == [
        ("IRL107", "net", "color"),
        ("IRL107", "layer", "zzz"),
        ("IRL103", "layer", "name"),
        ("IRL107", "foo", ""),
        ("IRL107", "bar", ""),
        ("IRL107", "data", ""),
        ("IRL103", "port", "precision"),
        ("IRL107", "baz", ""),
        ("IRL107", "qux", ""),
        ("IRL103", "edge", "from-port"),
    ]


def test_bodies_have_the_same_schema_as_the_model() -> None:
    inner = '<layers><layer id="0" name="a" type="A" version="opset1"><what/></layer></layers>'
    for tag in ("body", "then_body", "else_body"):
        text = (
            '<net version="10"><layers><layer id="0" name="l" type="L" version="opset5">'
            f"<{tag}>{inner}<edges/></{tag}></layer></layers></net>"
        )
        assert found(text) == [("IRL107", "what", "")]


def test_children_may_be_in_any_order() -> None:
    children = [
        "<body/>",
        '<back_edges><edge from-layer="0" to-layer="1"/></back_edges>',
        '<port_map><input external_port_id="0" internal_layer_id="0" axis="0"/></port_map>',
        '<output><port id="1" precision="FP32"><dim>1</dim><rt_info/></port></output>',
        '<input><port id="0"/></input>',
        "<data/>",
        "<rt_info><anything/></rt_info>",
    ]
    for order in (children, children[::-1]):
        layer = f'<layer id="0" name="l" type="L" version="opset5">{"".join(order)}</layer>'
        assert found(f'<net version="10"><layers>{layer}</layers><edges/></net>') == []


def test_document_is_not_changed() -> None:
    root = etree.fromstring('<net version="10"><layers><foo/></layers></net>')
    before = etree.tostring(root)
    assert schema.check(root)
    assert etree.tostring(root) == before


def test_models_that_engines_run_pass() -> None:
    loops = sorted(unpacked("loops").glob("*/*/model.xml"))
    operations = sorted(opconf_cases().glob("*/*/model.xml"))[::5]
    assert len(loops) > 100
    assert len(operations) > 200
    assert [path for path in loops + operations if not schema.is_valid(path.read_bytes())] == []


def test_a_default_namespace_is_accepted() -> None:
    text = '<net xmlns="urn:x" version="10"><layers><foo/></layers></net>'
    assert found(text) == [("IRL107", "{urn:x}foo", "")]


def test_elements_with_a_prefix_are_unknown() -> None:
    text = '<net version="10"><a:layers xmlns:a="urn:x"/><a:layers xmlns:a="urn:y"/><layers/></net>'
    assert found(text) == [("IRL107", "{urn:x}layers", ""), ("IRL107", "{urn:y}layers", "")]
