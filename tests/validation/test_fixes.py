"""Fixes of IRs: what is repaired and what stays; safe fixes keep all results."""

from __future__ import annotations

import difflib
from pathlib import Path

import numpy as np
import pytest

import irloop
from irloop.errors import UnsupportedError
from irloop.formats.openvino.edits import InsertBefore
from irloop.validation.engine import rule_classes
from irloop.validation.rule import Rule
from tests.rule_fixtures import Fixture, fixtures

RECURRENT = Path(__file__).resolve().parents[1] / "fixtures" / "models" / "recurrent" / "model.xml"

FIXABLE = [code for code, rule in rule_classes("IRL").items() if rule.repairs is not Rule.repairs]
BAD = [item for item in fixtures() if item.is_bad and item.code in FIXABLE]


def codes(path: Path) -> list[str]:
    return [item.code for item in irloop.validate(path)]


@pytest.mark.parametrize("fixture", BAD, ids=lambda item: item.name)
def test_fixed_findings_disappear_and_no_others_appear(fixture: Fixture, tmp_path: Path) -> None:
    path = fixture.model(tmp_path)
    before = codes(path)
    fixed = irloop.fix(path, unsafe=True)
    path.write_bytes(fixed.after)
    if fixed.added:
        with path.with_suffix(".bin").open("ab") as stream:
            stream.write(fixed.added)
    after = codes(path)
    for repair in fixed.repairs:
        # IRL619 is reported only for valid ranges, which another repair may have created.
        assert repair.code in before or repair.code == "IRL619"
        assert repair.code not in after
    assert set(after) - set(before) <= {"IRL619"}
    # Lines without a repair are identical byte for byte.
    old, new = (data.decode().splitlines() for data in (fixed.before, fixed.after))
    changed = sum(line[:2] in ("- ", "+ ") for line in difflib.ndiff(old, new))
    edits = sum(
        len(edit.lines) if isinstance(edit, InsertBefore) else 1
        for repair in fixed.repairs
        for edit in repair.edits
    )
    assert changed <= 2 * edits


def test_most_codes_that_can_be_fixed_are_fixed_in_a_fixture(tmp_path: Path) -> None:
    seen = set()
    for fixture in BAD:
        folder = tmp_path / fixture.name.replace("/", "_")
        folder.mkdir()
        seen |= {repair.code for repair in irloop.fix(fixture.model(folder), unsafe=True).repairs}
    # These codes have files of their own, below.
    own = {"IRL505", "IRL506", "IRL512", "IRL601", "IRL604", "IRL707"}
    assert set(FIXABLE) - seen == own


@pytest.mark.parametrize("fixture", BAD, ids=lambda item: item.name)
def test_a_safe_fix_changes_no_number(fixture: Fixture, tmp_path: Path) -> None:
    path = fixture.model(tmp_path)
    fixed = irloop.fix(path)
    if not fixed.repairs:
        return
    assert all(repair.safe and not repair.effect for repair in fixed.repairs)
    try:
        before = irloop.read_model(path)
    except irloop.ReadError:
        # There are no results before the fix, but the file can be read after it.
        path.write_bytes(fixed.after)
        assert irloop.read_model(path)
        return
    other = tmp_path / "fixed.xml"
    other.write_bytes(fixed.after)
    after = irloop.read_model(other, path.with_suffix(".bin"))
    assert irloop.compare(before, after, engines="numpy", seeds=1).outcome == "equal"


def edited(folder: Path, *edits: tuple[str, str]) -> Path:
    """The recurrent model after edits of its text."""
    text = RECURRENT.read_text(encoding="utf-8")
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / "model.xml"
    path.write_bytes(text.encode())
    path.with_suffix(".bin").write_bytes(RECURRENT.with_suffix(".bin").read_bytes())
    return path


def test_negative_axes_are_replaced_and_nothing_else_changes(tmp_path: Path) -> None:
    path = edited(
        tmp_path,
        ('internal_layer_id="0" axis="1"', 'internal_layer_id="0" axis="-2"'),
        ('internal_layer_id="14" axis="1"', 'internal_layer_id="14" axis="-2"'),
    )
    fixed = irloop.fix(path)
    assert [repair.code for repair in fixed.repairs] == ["IRL623", "IRL623"]
    # Both tensors have rank 3, so the result is the file before the edits.
    assert fixed.after == RECURRENT.read_bytes()


def test_comments_quotes_and_line_ends_stay(tmp_path: Path) -> None:
    path = edited(
        tmp_path,
        (
            'internal_layer_id="0" axis="1" start',
            "internal_layer_id='0'\n  axis = '-2' start",
        ),
        ("<back_edges>", "<!-- axis='-2' --><back_edges>"),
    )
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    fixed = irloop.fix(path)
    wanted = path.read_bytes().replace(b"axis = '-2'", b'axis = "1"')
    assert fixed.after == wanted


def test_a_duplicate_entry_is_removed_with_its_line(tmp_path: Path) -> None:
    entry = '<input external_port_id="1" internal_layer_id="1"/>'
    path = edited(tmp_path, (entry, f"{entry}\n\t\t\t\t{entry}"))
    fixed = irloop.fix(path)
    assert [repair.code for repair in fixed.repairs] == ["IRL505"]
    assert fixed.after == RECURRENT.read_bytes()


def test_of_two_back_edges_the_first_one_is_kept(tmp_path: Path) -> None:
    edge = '<edge from-layer="15" to-layer="1"/>'
    path = edited(tmp_path, (edge, f'{edge}\n\t\t\t\t<edge from-layer="14" to-layer="1"/>'))
    assert irloop.fix(path).after == RECURRENT.read_bytes()


def test_a_lost_back_edge_is_restored_only_with_unsafe_fixes(tmp_path: Path) -> None:
    path = edited(tmp_path, ('<edge from-layer="15" to-layer="1"/>', ""))
    safe = irloop.fix(path)
    assert (safe.repairs, safe.after) == ((), safe.before)
    (left,) = safe.left
    assert (left.code, left.safe) == ("IRL524", False)
    assert "outputs change" in left.effect
    unsafe = irloop.fix(path, unsafe=True)
    path.write_bytes(unsafe.after)
    assert irloop.compare(RECURRENT, path, engines="numpy").equal


@pytest.mark.parametrize("name", ["irl524/bad_empty_section", "irl525/bad_cell_state_lost"])
def test_a_lost_back_edge_of_a_layer_whose_id_is_not_a_number(name: str, tmp_path: Path) -> None:
    (item,) = (item for item in BAD if item.name == f"{name}.xml")
    path = item.model(tmp_path)
    text = path.read_text()
    (result,) = (
        found.expected.split('"')[1] for found in irloop.validate(path) if found.code == item.code
    )
    for attribute in ("layer id", "from-layer", "to-layer", "internal_layer_id"):
        text = text.replace(f'{attribute}="{result}"', f'{attribute}="r{result}"')
    path.write_text(text)
    fixed = irloop.fix(path, select=[item.code], unsafe=True)
    assert f'<edge from-layer="r{result}" to-layer='.encode() in fixed.after


def test_only_selected_findings_are_fixed(tmp_path: Path) -> None:
    path = edited(tmp_path, ('internal_layer_id="0" axis="1"', 'internal_layer_id="0" axis="-2"'))
    assert not irloop.fix(path, select=["IRL5"]).repairs
    assert not irloop.fix(path, ignore=["IRL623"]).repairs
    assert irloop.fix(path, select=["IRL6"]).repairs


def test_a_finding_that_the_model_suppresses_is_not_fixed(tmp_path: Path) -> None:
    path = edited(
        tmp_path,
        ('internal_layer_id="0" axis="1"', 'internal_layer_id="0" axis="-2"'),
        ("<back_edges>", "<!-- irloop: ignore-file IRL623 --><back_edges>"),
    )
    assert not irloop.fix(path).repairs


def test_a_file_in_utf_16_cannot_be_fixed(tmp_path: Path) -> None:
    path = edited(tmp_path, ('internal_layer_id="0" axis="1"', 'internal_layer_id="0" axis="-2"'))
    path.write_bytes(path.read_text().replace("<?xml version", "<?xml version").encode("utf-16"))
    with pytest.raises(UnsupportedError, match="UTF-8"):
        irloop.fix(path)


LAYER = """<layer id="7" name="concat" type="Concat" version="opset1">
    <data axis="{axis}"/>
    <input>
        <port id="0"><dim>1</dim><dim>8</dim></port>
        <port id="1"><dim>1</dim><dim>16</dim></port>
    </input>
    <output>
        <port id="2"><dim>1</dim><dim>24</dim></port>
    </output>
</layer>
"""


def test_a_single_layer_of_a_specification_is_validated(tmp_path: Path) -> None:
    path = tmp_path / "concat.xml"
    path.write_text(LAYER.format(axis=1))
    assert codes(path) == []
    path.write_text(LAYER.format(axis=5))
    (found,) = irloop.validate(path)
    assert (found.code, found.location.line) == ("IRL405", 1)
    path.write_text('<?xml version="1.0"?>\n<!-- Concat-1 -->\n' + LAYER.format(axis="one"))
    (found,) = irloop.validate(path)
    assert (found.code, found.location.line) == ("IRL115", 4)


def test_parts_that_specifications_omit_from_a_layer_are_no_findings(tmp_path: Path) -> None:
    path = tmp_path / "concat.xml"
    path.write_text(LAYER.format(axis=1).replace('id="7" name="concat" ', "").replace(
        ' version="opset1"', ""))  # fmt: skip
    assert codes(path) == []


def test_a_document_with_another_root_is_not_read_as_a_model(tmp_path: Path) -> None:
    path = tmp_path / "page.xml"
    for text in ("<layers/>", "<layer", "<layer/><layer/>"):
        path.write_text(text)
        assert set(codes(path)) <= {"IRL101", "IRL102", "IRL103", "IRL104"}
        assert codes(path)


def test_a_condition_of_one_element_becomes_a_scalar(tmp_path: Path) -> None:
    """OpenVINO refuses a condition and a trip count of rank 2."""
    source = RECURRENT.parents[1] / "halving" / "model.xml"
    right = source.read_text(encoding="utf-8")
    text = right
    start = text.index('type="Loop"')
    for number, kind in ((0, "i64"), (1, "boolean")):
        data = f'<data element_type="{kind}" shape=""'
        assert data in text[:start]
        text = text.replace(data, data.replace('""', '"1,1"'), 1)
        start = text.index('type="Loop"')
        precision = {"i64": "I64", "boolean": "BOOL"}[kind]
        scalar, matrix = (
            f'<port id="{{}}" precision="{precision}">{dims}</port>'
            for dims in ("", "<dim>1</dim><dim>1</dim>")
        )
        text = text.replace(scalar.format(0), matrix.format(0), 1)
        start = text.index('type="Loop"')
        text = text[:start] + text[start:].replace(scalar.format(number), matrix.format(number), 1)
    path = tmp_path / "model.xml"
    path.write_text(text, encoding="utf-8")
    path.with_suffix(".bin").write_bytes(source.with_suffix(".bin").read_bytes())
    assert {"IRL604", "IRL606"} <= set(codes(path))
    fixed = irloop.fix(path)
    assert {repair.code for repair in fixed.repairs} == {"IRL604", "IRL606"}
    assert fixed.after.decode() == right


@pytest.mark.parametrize(
    ("was", "wanted"),
    [
        ('start="-7" end="-1"', 'start="0" end="-1"'),
        ('start="0" end="6"', 'start="0" end="-1"'),
        ('start="-5" end="5"', 'start="2" end="-2"'),
    ],
)
def test_a_range_is_counted_as_openvino_counts_it(tmp_path: Path, was: str, wanted: str) -> None:
    """The axis has 6 elements: -7 stands for its beginning, and -5 for the position before the
    third element.
    """
    place = 'internal_layer_id="0" axis="1" '
    path = edited(tmp_path, (f'{place}start="0" end="-1"', f"{place}{was}"))
    fixed = irloop.fix(path, select=["IRL620"])
    assert [repair.code for repair in fixed.repairs] == ["IRL620"]
    assert f"{place}{wanted}" in fixed.after.decode()
    other = tmp_path / "fixed.xml"
    other.write_bytes(fixed.after)
    before, after = irloop.read_model(path), irloop.read_model(other, path.with_suffix(".bin"))
    assert irloop.compare(before, after, engines="numpy").equal


@pytest.mark.parametrize("item", [item for item in BAD if item.code == "IRL520"], ids=str)
def test_openvino_connects_renumbered_ports_as_in_the_file(item: Fixture, tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    path = item.model(tmp_path)
    assert [repair.code for repair in irloop.fix(path).left] == ["IRL520"]
    fixed = irloop.fix(path, unsafe=True)
    assert [repair.effect != "" for repair in fixed.repairs] == [True]
    path.write_bytes(fixed.after)
    assert codes(path) == []
    x, h = np.arange(12, dtype=np.float32).reshape(6, 2), np.ones((1, 2), np.float32)
    found = openvino.Core().compile_model(str(path), "CPU")([x, h])
    own = irloop.run(path, [x, h])
    for position, value in enumerate(own.values()):
        np.testing.assert_array_equal(found[position], value)
    assert [value.shape for value in own.values()] == [(6, 2), (1, 2)]
