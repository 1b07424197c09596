"""If the parser accepts a file as conforming, libxml2 finds no violation of the schema."""

from __future__ import annotations

import copy
import random
from pathlib import Path

import pytest
from lxml import etree

from irloop.errors import ReadError
from irloop.formats.openvino.document import Document
from irloop.formats.openvino.xml import parse
from irloop.validation import schema
from tests.archives import unpacked

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
FILES = sorted([*FIXTURES.glob("ir/*.xml"), *FIXTURES.glob("models/*/model.xml")])


def old_files() -> list[bytes]:
    """IR of versions 4 to 7, with bodies, blobs and all sections."""
    return [path.read_bytes() for path in sorted(unpacked("legacy_ir").rglob("*.xml"))]


CONTENTS = [path.read_bytes() for path in FILES]
OLD = old_files()
#: Elements and attributes to add: known ones in the wrong place, and unknown ones.
TAGS = ("layers", "layer", "edges", "edge", "data", "input", "output", "port", "dim", "body",
        "then_body", "port_map", "else_port_map", "back_edges", "rt_info", "meta_data", "blobs",
        "weights", "custom", "statistics", "net", "strange")  # fmt: skip
NAMES = ("id", "name", "type", "version", "precision", "names", "axis", "purpose", "from-port",
         "offset", "batch", "internal_port_id", "output_names", "strange", "xmlns", "xml:id",
         "{urn:x}id")  # fmt: skip


def root_of(content: bytes) -> etree._Element:
    """The root of a file without the file's comments, which the parser leaves to the schema
    check.
    """
    parser = etree.XMLParser(remove_comments=True, remove_pis=True)
    return etree.fromstring(content, parser)


def changed(content: bytes, draw: random.Random) -> bytes:
    """A file with one to three random changes of its structure."""
    root = root_of(content)
    for _ in range(draw.randint(1, 3)):
        elements = list(root.iter("*"))
        element, other = draw.choice(elements), draw.choice(elements)
        kind = draw.choice(["drop", "add", "repeat", "attribute", "no attribute", "rename"])
        parent = element.getparent()
        if kind == "drop" and parent is not None:
            parent.remove(element)
        elif kind == "add":
            element.append(etree.Element(draw.choice(TAGS)))
        elif kind == "repeat" and parent is not None:
            twin = copy.deepcopy(element)
            twin.tail = None
            draw.choice([parent, other]).append(twin)
        elif kind == "attribute":
            name = draw.choice(NAMES)
            name = "{http://www.w3.org/XML/1998/namespace}id" if name == "xml:id" else name
            element.set(name, "1")
        elif kind == "no attribute" and element.attrib:
            del element.attrib[draw.choice(list(element.attrib))]
        elif kind == "rename":
            element.tag = draw.choice(TAGS)
    return etree.tostring(root)


def is_valid_for_libxml2(document: Document) -> bool:
    try:
        name = schema.OLD if document.is_legacy else schema.NEW
        return not schema.check(document.root, name)
    except ReadError:  # libxml2 refuses to read the file
        return False


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_files_of_exporters_conform(path: Path) -> None:
    assert parse(etree.tostring(root_of(path.read_bytes()))).conforms


def test_old_files_conform() -> None:
    assert len(OLD) > 250
    for content in OLD:
        document = parse(content)
        assert document.is_legacy
        assert document.conforms, content
        assert is_valid_for_libxml2(document), content


@pytest.mark.parametrize("contents", [CONTENTS, OLD], ids=["new", "old"])
@pytest.mark.parametrize("seed", range(8))
def test_every_violation_of_the_schema_is_detected(seed: int, contents: list[bytes]) -> None:
    draw = random.Random(seed)  # noqa: S311
    conforming = 0
    for _ in range(250):
        data = changed(draw.choice(contents), draw)
        try:
            document = parse(data)
        except ReadError:
            continue
        is_valid = is_valid_for_libxml2(document)
        assert is_valid or not document.conforms, data
        conforming += document.conforms
    assert conforming > 20


@pytest.mark.parametrize(
    "text",
    [
        "<?xml version='1.1'?><net version='10'/>",
        "<?xml version='1.0' encoding='iso-8859-1'?><net version='10'/>",
        "<net version='10'><!-- a comment --></net>",
        "<net version='10'><?instruction?></net>",
        "<net version='10'><rt_info a:b='undeclared prefix'/></net>",
        "<net version='10'><rt_info><a:b/></rt_info></net>",
    ],
)
def test_content_that_libxml2_may_read_differently_is_left_to_it(text: str) -> None:
    assert not parse(text.encode()).conforms
