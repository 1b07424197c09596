"""Checks that an .xml conforms to the schema of its version (``ir-v10.xsd`` or
``ir-v2-v7.xsd``), while the file is parsed.

Nearly every file conforms. Such a file does not need the schema check, which would parse it again
with libxml2. If a file may not conform, the schema check runs and finds the violations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

__all__ = ["EDGE_ATTRIBUTES", "Envelope", "has_plain_markup"]

_LOOP_ENTRY = ("axis", "start", "end", "stride", "part_size", "purpose")
_ENTRY = ("external_port_id", "internal_layer_id")
_ENDS = ("from-layer", "to-layer")
_PORTS = ("from-port", "to-port")
EDGE_ATTRIBUTES = (*_ENDS, *_PORTS)

#: The elements whose children are read as a list. OpenVINO reads only the first of each kind in a
#: net or a layer, so that a file with a second one is refused. Of all others, such as `data`, the
#: reader uses the first, too.
LISTS = ("layers", "edges", "input", "output", "back_edges")

#: The required and the optional attributes of elements.
_ATTRIBUTES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "net": (("version",), ("name",)),
    "layer": (("id", "name", "type", "version"), ("output_names", "precision")),
    "input port": (("id",), ("names", "precision")),
    "output port": (("id", "precision"), ("names",)),
    "edge": (EDGE_ATTRIBUTES, ()),
    "back edge": (_ENDS, _PORTS),
    "loop entry": (_ENTRY, _LOOP_ENTRY),
    "branch entry": (_ENTRY, ("purpose",)),
}

#: The same of versions 2 to 7.
_OLD_ATTRIBUTES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "net": (("version",), ("name", "batch", "precision")),
    "layer": (("id", "name", "type"), ("precision",)),
    "input port": (("id",), ("precision",)),
    "output port": (("id",), ("precision",)),
    "edge": (EDGE_ATTRIBUTES, ()),
    "back edge": (EDGE_ATTRIBUTES, ()),
    "loop entry": ((*_ENTRY, "internal_port_id"), _LOOP_ENTRY[:-1]),
    "branch entry": (_ENTRY, ("purpose",)),
    "blob": (("offset", "size"), ("precision",)),
}
#: The children of a layer that only versions 10 and 11 have.
_NEW_CHILDREN = frozenset({"then port_map", "else port_map", "then_body", "else_body"})

#: A declaration of XML 1.0, in UTF-8 if it names an encoding.
_DECLARATION = re.compile(
    rb"""<\?xml\s+version=["']1\.0["'](?:\s+encoding=["']utf-8["'])?"""
    rb"""(?:\s+standalone=["'](?:yes|no)["'])?\s*\?>""",
    re.IGNORECASE,
)


def has_plain_markup(data: bytes) -> bool:
    """Return whether a file that expat accepts consists of elements and text in UTF-8 only.

    libxml2 and expat read such a file in the same way. They may differ about declarations,
    comments and other encodings.
    """
    declaration = _DECLARATION.match(data)
    start = declaration.end() if declaration is not None else 0
    # One character is searched first, which is much faster than two.
    has_declarations = b"!" in data and b"<!" in data
    has_instructions = data.find(b"?", start) >= 0 and data.find(b"<?", start) >= 0
    return data.startswith(b"<") and not has_instructions and not has_declarations


class Envelope:
    """Checks the structure of an .xml file while it is parsed, one element at a time.

    `conforms` is the result so far. The private fields describe the elements that are still open.
    `refuse` is called with the tag of an element that occurs a second time where OpenVINO reads
    only the first; it raises an error.
    """

    def __init__(self, refuse: Callable[[str], None]) -> None:
        self.conforms = True
        self._refuse = refuse
        self._attributes = _ATTRIBUTES
        #: The children that a layer cannot have in this version.
        self._foreign: frozenset[str] = frozenset()
        #: The lists of attribute names that were found valid, keyed by element.
        self._sound: dict[str, set[tuple[str, ...]]] = {name: set() for name in _ATTRIBUTES}
        #: The elements that may have any attributes, with their attribute names, that were found
        #: valid.
        self._plain: set[tuple[str, ...]] = set()
        #: The tags of the children of the open layer so far; a layer may have each child once.
        self._children: set[str] = set()
        #: The sections of the open net so far; a body may have each section once.
        self._parts: set[str] = set()
        #: The same two of the nets around the open body, outermost first.
        self._outside: list[tuple[set[str], set[str]]] = []

    def check(self, element: str, attributes: Mapping[str, str]) -> None:
        """Clear `conforms` if a required attribute is missing, or if there is an unknown attribute.

        The attributes are those of an element with the tag `element`.
        """
        names = tuple(attributes)
        if names in self._sound[element]:
            return
        required, optional = self._attributes[element]
        if attributes.keys() >= {*required} and {*required, *optional} >= attributes.keys():
            self._sound[element].add(names)
        else:
            self.conforms = False

    def become_old(self) -> None:
        """Check against the schema of versions 2 to 7 from now on."""
        self._attributes, self._foreign = _OLD_ATTRIBUTES, _NEW_CHILDREN
        self._sound = {name: set() for name in _OLD_ATTRIBUTES}

    def open_layer(self, attributes: Mapping[str, str]) -> None:
        """Start a layer: clear `conforms` if its attributes violate the schema.

        The children of the layer are checked by the calls that follow.
        """
        self._children.clear()
        self.check("layer", attributes)

    def open_child(self, name: str, attributes: Mapping[str, str]) -> None:
        """Set `conforms` to False if a child element of the current layer violates the schema.

        The child must not have attributes, and the layer must not have two children with this name.
        """
        if name in self._children and name in LISTS:
            self._refuse(name)
        if name in self._children or attributes or name in self._foreign:
            self.conforms = False
        self._children.add(name)

    def open_data(self, attributes: Mapping[str, str]) -> None:
        """Clear `conforms` if the `data` element of the open layer violates the schema.

        Its attributes may have any plain names. A layer may have only one `data`.
        """
        self.inside("data", attributes)
        self.open_child("data", {})

    def open_body(self) -> None:
        """Start a body; the layer that owns it stays open."""
        self._outside.append((self._children, self._parts))
        self._children, self._parts = set(), set()

    def leave_body(self) -> None:
        """Return to the layer that owns the innermost body."""
        self._children, self._parts = self._outside.pop()

    def open_part(self, name: str, attributes: Mapping[str, str]) -> None:
        """Clear `conforms` if the `layers` or `edges` element of a net violates the schema.

        It must have no attributes, and a body must have only one of each.
        """
        if attributes:
            self.conforms = False
        self.open_section(name)

    def open_section(self, name: str) -> None:
        """Clear `conforms` if the open body cannot have a section of this name.

        A body may contain the sections layers, edges and rt_info, each at most once. The root may
        have other sections and repeat them, but not its layers or edges.
        """
        if name in self._parts and name in LISTS:
            self._refuse(name)
        if self._outside and (name in self._parts or name not in ("layers", "edges", "rt_info")):
            self.conforms = False
        self._parts.add(name)

    def inside(self, name: str, attributes: Mapping[str, str]) -> None:
        """Check the names of an element and its attributes where the schema allows any names.

        Clears `conforms` if a name is not ASCII or has a namespace. The schema check may see such a
        name differently, because it resolves namespaces.
        """
        names = (name, *attributes)
        if names in self._plain:
            return
        text = " ".join(names)
        if ":" in text or "xmlns" in text or not text.isascii():
            self.conforms = False
        else:
            self._plain.add(names)
