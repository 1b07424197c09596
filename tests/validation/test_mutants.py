"""Systematic damage to valid models always gives a report, and an error for each broken
reference.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import pytest
from lxml import etree

from irloop.validation.engine import validate
from tests.malformed.mutants import KINDS, edited, elements, remove, without_references

RULES = Path(__file__).resolve().parents[1] / "fixtures" / "rules"
MODELS = {
    "loop": RULES / "irl625" / "good_five_slices.xml",
    "iterator": RULES / "irl507" / "good_trip_and_condition.xml",
    "parts": RULES / "irl614" / "good_two_and_two.xml",
    "if": RULES / "irl702" / "good_both.xml",
    "cell": RULES / "irl801" / "good_four.xml",
}


def root_of(model: str) -> etree._Element:
    parser = etree.XMLParser(remove_comments=True)
    return etree.parse(MODELS[model], parser).getroot()


def weights_of(model: str, folder: Path) -> Path:
    text = MODELS[model].read_text(encoding="utf-8")
    match = re.search(r"<!--\s*bin:\s*([0-9a-f ]+?)\s*-->", text)
    target = folder / "model.bin"
    if match is not None:
        target.write_bytes(bytes.fromhex(match.group(1)))
    return target


def check(root: etree._Element, folder: Path, weights: Path) -> bool:
    path = folder / "mutant.xml"
    path.write_bytes(etree.tostring(root))
    report = validate(path, weights=weights)
    for item in report:
        assert item.location.file == str(path)
        assert item.message
        assert re.fullmatch(r"IRL\d{3}", item.code)
    return report.has_errors


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_a_mutant_is_reported_without_an_exception(model: str, kind: str, tmp_path: Path) -> None:
    weights = weights_of(model, tmp_path)
    count = 0
    # Half of them: the others are alike, and take as long again.
    for _, mutant in islice(KINDS[kind](root_of(model)), 0, None, 2):
        check(mutant, tmp_path, weights)
        count += 1
    assert count > 10


@pytest.mark.parametrize("model", MODELS)
def test_broken_reference_is_an_error(model: str, tmp_path: Path) -> None:
    weights = weights_of(model, tmp_path)
    root = root_of(model)
    assert not check(root, tmp_path, weights)
    missed = [
        name for name, mutant in without_references(root) if not check(mutant, tmp_path, weights)
    ]
    assert not missed


@pytest.mark.parametrize("model", ["loop", "iterator", "parts"])
def test_lost_wires_are_noticed(model: str, tmp_path: Path) -> None:
    """Each lost entry of a port map and each lost edge causes at least a warning or an error."""
    weights = weights_of(model, tmp_path)
    root = root_of(model)
    quiet = len(list(validate(MODELS[model], weights=weights)))
    for number, element in enumerate(elements(root)):
        parent = element.getparent()
        if parent is None or parent.tag not in ("port_map", "edges"):
            continue
        path = tmp_path / "mutant.xml"
        path.write_bytes(etree.tostring(edited(root, number, remove)))
        found = [item.code for item in validate(path, weights=weights)]
        assert len(found) > quiet, (element.tag, element.items())
