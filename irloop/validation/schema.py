"""Checks the structure of an IR against its XSD, and maps libxml2's errors to stable codes.

This is the only module of validation that imports lxml. libxml2 stops checking the children of an
element at the first unexpected one. Therefore `check` works on a copy: it removes what it has
reported and checks again, so that an unknown element does not hide other violations.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from lxml import etree

__all__ = ["NEW", "OLD", "SchemaFinding", "check", "is_valid", "schema_file"]

#: The schemas of versions 10 and 11, and of versions 2 to 7.
NEW, OLD = "ir-v10.xsd", "ir-v2-v7.xsd"

#: libxml2's error names and our codes; every other error counts as unknown content.
CODES = {
    "SCHEMAV_CVC_COMPLEX_TYPE_4": "IRL103",
    "SCHEMAV_CVC_COMPLEX_TYPE_3_2_1": "IRL107",
    "SCHEMAV_CVC_COMPLEX_TYPE_3_2_2": "IRL107",
    "SCHEMAV_ELEMENT_CONTENT": "IRL107",
}
#: Maximum number of rounds. Each round finds one unknown element per parent; a file that needs more
#: rounds is not an IR.
ROUNDS = 16
#: The number of layers or edges that are checked together.
PIECE = 500


class SchemaFinding(NamedTuple):
    """One violation of the schema; `attribute` is empty if the element itself is wrong."""

    code: str
    element: etree._Element
    attribute: str
    message: str


def schema_file(name: str = NEW) -> str:
    """The path of a schema file: in ``schemas`` inside the package, or next to it in a checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    installed = os.path.join(package, "schemas", name)
    if os.path.isfile(installed):
        return installed
    return os.path.join(os.path.dirname(package), "schemas", name)


@cache
def _schema(name: str) -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(schema_file(name)))


def is_valid(data: bytes, name: str = NEW) -> bool:
    """Return whether a file conforms to the schema `name`; false also if it cannot be read."""
    # Validating while parsing takes linear time even in a broken file, because no locations are
    # computed.
    parser = etree.XMLParser(
        schema=_schema(name),
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=True,
    )
    try:
        etree.fromstring(data, parser)
    except (etree.LxmlError, ValueError):
        return False
    return True


def check(root: etree._Element, name: str = NEW) -> list[SchemaFinding]:
    """Every violation of the schema `name` in `root`, in document order."""
    schema = _schema(name)
    if sum(map(len, root)) <= PIECE and schema.validate(root):
        return []
    work = copy.deepcopy(root)
    originals = dict(zip(work.iter(), root.iter(), strict=True))
    for element in work.iter("{*}*"):
        # Readers ignore namespaces: for them <net xmlns="..."> is a net.
        if not element.prefix:
            element.tag = etree.QName(element).localname
    findings: dict[tuple[etree._Element, str], SchemaFinding] = {}
    for piece in _pieces(work):
        _look(schema, piece, originals, findings)
    order = {element: index for index, element in enumerate(root.iter())}
    return sorted(findings.values(), key=lambda item: order[item.element])


def _pieces(work: etree._Element) -> Iterator[etree._Element]:
    """Yield the net in pieces with at most a few hundred layers or edges each.

    libxml2 counts siblings to report where an error is, which takes quadratic time in a long list
    of them. The last piece is what remains of `work` itself.
    """
    for section in list(work.iterchildren("layers", "edges")):
        children = list(section)
        if work.tag != "net" or len(children) <= PIECE:
            continue
        for start in range(0, len(children), PIECE):
            net = etree.Element("net", version="10")
            part = etree.SubElement(net, section.tag)
            part.extend(children[start : start + PIECE])
            yield net
    yield work


def _look(
    schema: etree.XMLSchema,
    work: etree._Element,
    originals: dict[etree._Element, etree._Element],
    findings: dict[tuple[etree._Element, str], SchemaFinding],
) -> None:
    for _ in range(ROUNDS):
        if schema.validate(work):
            break
        before = len(findings)
        unexpected = _collect(schema, work, originals, findings)
        if len(findings) == before:
            break
        for element in unexpected:
            parent = element.getparent()
            if parent is not None:
                parent.remove(element)


def _collect(
    schema: etree.XMLSchema,
    work: etree._Element,
    originals: dict[etree._Element, etree._Element],
    findings: dict[tuple[etree._Element, str], SchemaFinding],
) -> list[etree._Element]:
    """Add the schema errors of the last validation of `work` to `findings`.

    The keys of `findings` are (element, attribute); only the first error for a key is kept.
    `originals` maps the elements of `work` to those of the document. Returns the elements that are
    not allowed at their position. An error means this if its message names neither an attribute nor
    a missing child.
    """
    tree = work.getroottree()
    unexpected = []
    entries: Iterable[etree._LogEntry] = schema.error_log  # type: ignore[assignment]
    for entry in entries:
        places = tree.xpath(_by_whole_name(entry.path)) if entry.path else []
        if not isinstance(places, list) or not places:
            continue
        element = places[0]
        assert isinstance(element, etree._Element)
        match = re.search(r"attribute '([^']+)'", entry.message)
        attribute = match.group(1) if match else ""
        if not attribute and "Missing child" not in entry.message:
            unexpected.append(element)
        if not attribute and entry.type_name == "SCHEMAV_CVC_COMPLEX_TYPE_4":
            names = re.findall(r"'([^']+)'", entry.message)
            attribute = names[-1] if names else ""
        code = CODES.get(entry.type_name, "IRL107")
        finding = SchemaFinding(code, originals[element], attribute, entry.message)
        findings.setdefault((finding.element, attribute), finding)
    return unexpected


def _by_whole_name(path: str) -> str:
    """Change the XPath `path` so that it compares prefixed names as text, including the prefix.

    A prefix cannot be resolved, because one file may use it for different namespaces.
    """
    return re.sub(r"(?<=/)([^/\[\]:]+:[^/\[\]:]+)", r"*[name()='\1']", path)
