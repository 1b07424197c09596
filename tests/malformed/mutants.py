"""Systematic damage to a valid IR: every element and attribute deleted, doubled or changed."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator

from lxml import etree

__all__ = ["KINDS", "Mutant", "edited", "elements", "remove", "without_references"]

#: A description of the damage, and the damaged tree.
Mutant = tuple[str, etree._Element]
#: Attributes that refer to a layer or a port; no model has the number 77.
REFERENCES = {
    "from-layer",
    "from-port",
    "to-layer",
    "to-port",
    "external_port_id",
    "internal_layer_id",
}
TYPES = ("Result", "Parameter", "Const", "Loop", "If", "TensorIterator", "Concat", "")
_NUMBER = re.compile(r"-?\d+")


def elements(root: etree._Element) -> list[etree._Element]:
    """The elements of a tree in document order, without comments."""
    return [item for item in root.iter("*") if isinstance(item.tag, str)]


def edited(
    root: etree._Element, number: int, edit: Callable[[etree._Element], object]
) -> etree._Element:
    """A copy of the tree with element `number` edited."""
    work = copy.deepcopy(root)
    edit(elements(work)[number])
    return work


def remove(element: etree._Element) -> None:
    """Remove an element from its tree."""
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


def _place(element: etree._Element) -> str:
    """A description of an element: its tag, and the type of the enclosing layer."""
    layer: etree._Element | None = element
    while layer is not None and layer.tag != "layer":
        layer = layer.getparent()
    around = element.getparent()
    tag = element.tag if around is None or around.tag == "layer" else f"{around.tag}/{element.tag}"
    return str(tag) if layer is None else f"{layer.get('type')} {tag}"


def _attributes(element: etree._Element) -> list[tuple[str, str]]:
    return [(str(name), str(text)) for name, text in element.attrib.items()]


def _setting(name: str, text: str) -> Callable[[etree._Element], object]:
    return lambda element: element.set(name, text)


def without_attributes(root: etree._Element) -> Iterator[Mutant]:
    """Each attribute deleted."""
    for number, element in enumerate(elements(root)):
        for name in map(str, element.attrib):
            cut = edited(root, number, lambda item, name=name: item.attrib.pop(name))  # type: ignore[misc]
            yield f"{_place(element)}@{name} deleted", cut


def _with_numbers(root: etree._Element, texts: tuple[str, ...]) -> Iterator[Mutant]:
    for number, element in enumerate(elements(root)):
        for name, old in _attributes(element):
            if not _NUMBER.fullmatch(old):
                continue
            for text in texts:
                if text != old:
                    broken = edited(root, number, _setting(name, text))
                    yield f"{_place(element)}@{name}={text[:20]!r}", broken


def with_wrong_numbers(root: etree._Element) -> Iterator[Mutant]:
    """Each number replaced by a word, a negative number, an empty text and other numbers."""
    yield from _with_numbers(root, ("abc", "-7", "", "0", "1", "4", "77"))


def with_huge_numbers(root: etree._Element) -> Iterator[Mutant]:
    """Each number replaced by one with more digits than Python's int() accepts."""
    yield from _with_numbers(root, ("9" * 5000,))


def with_other_words(root: etree._Element) -> Iterator[Mutant]:
    """Each text of `data`, and the version and names, replaced by other texts."""
    for number, element in enumerate(elements(root)):
        for name, old in _attributes(element):
            if _NUMBER.fullmatch(old) or (element.tag != "data" and name == "type"):
                continue
            for text in ("", "zzz", "true", "i32", "1,2", "opset3"):
                if text != old:
                    broken = edited(root, number, _setting(name, text))
                    yield f"{_place(element)}@{name}={text!r}", broken


def with_other_dims(root: etree._Element) -> Iterator[Mutant]:
    """Each declared dimension replaced."""
    for number, element in enumerate(elements(root)):
        if element.tag != "dim":
            continue
        for text in ("", "-2", "1.5", "9" * 23, "7"):
            broken = edited(root, number, lambda item, text=text: setattr(item, "text", text))  # type: ignore[misc]
            yield f"{_place(element)} {text!r}", broken


def with_changed_elements(root: etree._Element) -> Iterator[Mutant]:
    """Each element deleted, and each doubled."""
    for number, element in enumerate(elements(root)):
        if element is not root:
            yield f"{_place(element)} deleted", edited(root, number, remove)
            doubled = edited(root, number, lambda item: item.addnext(copy.deepcopy(item)))
            yield f"{_place(element)} doubled", doubled


def with_other_types(root: etree._Element) -> Iterator[Mutant]:
    """Each layer turned into one of another type."""
    for number, element in enumerate(elements(root)):
        if element.tag != "layer":
            continue
        for text in TYPES:
            broken = edited(root, number, _setting("type", text))
            yield f"{element.get('type')} becomes {text!r}", broken


def without_references(root: etree._Element) -> Iterator[Mutant]:
    """Mutants with a dangling reference, or without a required element."""
    for number, element in enumerate(elements(root)):
        for name in sorted(REFERENCES & {str(key) for key in element.attrib}):
            # These models have no edges between dead layers.
            yield f"{_place(element)}@{name}=77", edited(root, number, _setting(name, "77"))
        if element.tag in ("layer", "body", "port_map", "then_body", "else_body", "then_port_map"):
            yield f"{_place(element)} deleted", edited(root, number, remove)


KINDS: dict[str, Callable[[etree._Element], Iterator[Mutant]]] = {
    "attributes": without_attributes,
    "numbers": with_wrong_numbers,
    "huge numbers": with_huge_numbers,
    "words": with_other_words,
    "dims": with_other_dims,
    "elements": with_changed_elements,
    "types": with_other_types,
}
