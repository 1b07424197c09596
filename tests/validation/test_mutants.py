"""Systematic damage to sound models: always a report, and an error where a reference broke."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lxml import etree

from irloop.validation.engine import validate

RULES = Path(__file__).resolve().parents[1] / "fixtures" / "rules"
MODELS = {
    "loop": RULES / "irl625" / "good_five_slices.xml",
    "iterator": RULES / "irl507" / "good_trip_and_condition.xml",
    "parts": RULES / "irl614" / "good_two_and_two.xml",
    "if": RULES / "irl702" / "good_both.xml",
    "cell": RULES / "irl801" / "good_four.xml",
}
Mutant = tuple[str, etree._Element]
#: Attributes that name a layer or a port; 77 is none in any of the models.
REFERENCES = {
    "from-layer",
    "from-port",
    "to-layer",
    "to-port",
    "external_port_id",
    "internal_layer_id",
}
NUMBER = re.compile(r"-?\d+")


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


def elements(root: etree._Element) -> list[etree._Element]:
    return [item for item in root.iter("*") if isinstance(item.tag, str)]


def edited(
    root: etree._Element, number: int, edit: Callable[[etree._Element], None]
) -> etree._Element:
    """A copy of the tree with element `number` edited."""
    work = copy.deepcopy(root)
    edit(elements(work)[number])
    return work


def remove(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


def duplicate(element: etree._Element) -> None:
    element.addnext(copy.deepcopy(element))


def without_attributes(root: etree._Element) -> Iterator[Mutant]:
    for number, element in enumerate(elements(root)):
        for name in element.attrib:
            key = str(name)

            def edit(item: etree._Element, key: str = key) -> None:
                del item.attrib[key]

            yield f"{element.tag}@{key} deleted", edited(root, number, edit)


def with_other_numbers(root: etree._Element, texts: tuple[str, ...]) -> Iterator[Mutant]:
    for number, element in enumerate(elements(root)):
        for name, old in element.attrib.items():
            if not NUMBER.fullmatch(str(old)):
                continue
            for text in texts:

                def edit(item: etree._Element, key: str = str(name), text: str = text) -> None:
                    item.set(key, text)

                yield f"{element.tag}@{name!r}={text!r}", edited(root, number, edit)


def with_other_dims(root: etree._Element) -> Iterator[Mutant]:
    for number, element in enumerate(elements(root)):
        if element.tag != "dim":
            continue
        for text in ("", "-2", "1.5", "99999999999999999999999", "7"):

            def edit(item: etree._Element, text: str = text) -> None:
                item.text = text

            yield f"dim {text!r}", edited(root, number, edit)


def with_changed_elements(root: etree._Element) -> Iterator[Mutant]:
    for number, element in enumerate(elements(root)):
        if element is not root:
            yield f"{element.tag} deleted", edited(root, number, remove)
            yield f"{element.tag} duplicated", edited(root, number, duplicate)


def with_other_types(root: etree._Element) -> Iterator[Mutant]:
    for number, element in enumerate(elements(root)):
        if element.tag != "layer":
            continue
        for text in ("Result", "Parameter", "Const", "Loop", "If", "TensorIterator", "Concat", ""):

            def edit(item: etree._Element, text: str = text) -> None:
                item.set("type", text)

            yield f"{element.get('type')} becomes {text!r}", edited(root, number, edit)


def without_references(root: etree._Element) -> Iterator[Mutant]:
    """Mutants in which something names what does not exist, or what is needed is gone."""
    for number, element in enumerate(elements(root)):
        for name in REFERENCES & {str(key) for key in element.attrib}:
            # Edges of dead layers do not occur in these models.
            def edit(item: etree._Element, key: str = name) -> None:
                item.set(key, "77")

            yield f"{element.tag}@{name}=77", edited(root, number, edit)
        if element.tag in ("layer", "body", "port_map", "then_body", "else_body", "then_port_map"):
            yield f"{element.tag} {element.get('name')} deleted", edited(root, number, remove)


def check(root: etree._Element, folder: Path, weights: Path) -> bool:
    path = folder / "mutant.xml"
    path.write_bytes(etree.tostring(root))
    report = validate(path, weights=weights)
    for item in report:
        assert item.location.file == str(path)
        assert item.message
        assert re.fullmatch(r"IRL\d{3}", item.code)
    return report.has_errors


def with_wrong_numbers(root: etree._Element) -> Iterator[Mutant]:
    return with_other_numbers(root, ("abc", "-7", "", "4"))


def with_huge_numbers(root: etree._Element) -> Iterator[Mutant]:
    # Longer than what Python turns into an int without a complaint of its own.
    return with_other_numbers(root, ("9" * 5000,))


KINDS: dict[str, Callable[..., Iterator[Mutant]]] = {
    "attributes": without_attributes,
    "numbers": with_wrong_numbers,
    "huge numbers": with_huge_numbers,
    "dims": with_other_dims,
    "elements": with_changed_elements,
    "types": with_other_types,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
def test_mutant_gives_a_report(model: str, kind: str, tmp_path: Path) -> None:
    weights = weights_of(model, tmp_path)
    count = 0
    for _, mutant in KINDS[kind](root_of(model)):
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
    """Each lost entry of a port map, and each lost edge, gives at least a warning or an error."""
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
