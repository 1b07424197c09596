"""The schema for editors accepts valid files, marks common mistakes, and explains everything."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import openvino
import pytest
from lxml import etree

import irloop
from tests.rule_fixtures import fixtures

MODELS = Path(__file__).resolve().parents[1] / "fixtures" / "models"
XS = "{http://www.w3.org/2001/XMLSchema}"
SCHEMAS = {
    version: etree.XMLSchema(etree.fromstring(irloop.editor_schema(version).encode()))
    for version in (10, 11)
}


def problems(data: bytes) -> list[str]:
    root = etree.fromstring(data)
    schema = SCHEMAS[int(root.get("version", "11"))]
    schema.validate(root)
    return _messages(schema)


def _messages(schema: etree.XMLSchema) -> list[str]:
    entries: Iterable[Any] = schema.error_log  # type: ignore[assignment]
    return [str(entry.message) for entry in entries]


def good() -> list[Path]:
    found = [item.path for item in fixtures() if not item.is_bad]
    return [path for path in found if etree.parse(path).getroot().get("version") in ("10", "11")]


@pytest.mark.parametrize("path", good(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_sound_files_have_no_problem(path: Path) -> None:
    assert problems(path.read_bytes()) == []


@pytest.mark.parametrize("name", ["recurrent", "halving"])
def test_written_files_fit_the_schema(name: str, tmp_path: Path) -> None:
    model = irloop.read_model(MODELS / name / "model.xml")
    for version in (10, 11):
        path = tmp_path / f"v{version}.xml"
        irloop.save_model(model, path, ir_version=version)
        assert problems(path.read_bytes()) == []


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ('purpose="execution_condition"', 'purpose="exec_condition"', "exec_condition"),
        ('axis="0" start', 'axis="first" start', "first"),
        ('part_size="1"', 'part_size="0"', "part_size"),
        ('<layer id="0"', '<layer id="zero"', "zero"),
        ('precision="FP32"', 'precision="Float"', "Float"),
        ('element_type="f32"', 'element_type="float"', "float"),
        ("external_port_id=", "external_port=", "external_port"),
        ("<back_edges>", "<back_edge>", "back_edge"),
        ('version="10"', 'version="12"', "12"),
    ],
)
def test_mistakes_are_marked(old: str, new: str, word: str) -> None:
    text = (MODELS / "halving" / "model.xml").read_text(encoding="utf-8")
    assert old in text
    wrong = text.replace(old, new, 1)
    if new.startswith("<back_edge>"):
        wrong = wrong.replace("</back_edges>", "</back_edge>", 1)
    root = etree.fromstring(wrong.encode())
    schema = SCHEMAS[10]
    assert not schema.validate(root)
    assert any(word in message for message in _messages(schema))


@pytest.mark.parametrize("version", [10, 11])
def test_every_element_and_attribute_is_explained(version: int) -> None:
    root = etree.fromstring(irloop.editor_schema(version).encode())
    named = [*root.iter(f"{XS}element"), *root.iter(f"{XS}attribute")]
    assert len(named) > 100
    for item in named:
        text = item.findtext(f"{XS}annotation/{XS}documentation")
        assert text, item.get("name")


def test_operations_are_completed_and_explained() -> None:
    root = etree.fromstring(irloop.editor_schema().encode())
    (operation,) = root.findall(f"{XS}simpleType[@name='operation']")
    words = {
        item.get("value"): item.findtext(f"{XS}annotation/{XS}documentation")
        for item in operation.iter(f"{XS}enumeration")
    }
    types = {item.type for item in irloop.operations() if item.dialect == "openvino"}
    assert types <= set(words)
    assert words["Tanh"]


def test_another_version_is_refused() -> None:
    with pytest.raises(irloop.UsageError, match="version 9"):
        irloop.editor_schema(9)


@pytest.mark.parametrize(
    "head",
    [
        '<?xml-model href="ir-v10.xsd"?>\n<net ',
        (
            '<net xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
            'xsi:noNamespaceSchemaLocation="ir-v10.xsd" '
        ),
    ],
    ids=["instruction", "attribute"],
)
def test_a_reference_to_the_schema_in_a_file_is_ignored(head: str, tmp_path: Path) -> None:
    source = MODELS / "recurrent" / "model.xml"
    path = tmp_path / "model.xml"
    path.write_text(source.read_text(encoding="utf-8").replace("<net ", head, 1), encoding="utf-8")
    path.with_suffix(".bin").write_bytes(source.with_suffix(".bin").read_bytes())
    assert irloop.validate(path).diagnostics == []
    assert problems(path.read_bytes()) == []
    assert len(openvino.Core().read_model(path).outputs) == 2
