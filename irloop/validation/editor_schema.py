"""A schema of IR files for editors: typed, with completion and documentation.

Validation uses the lenient ``schemas/ir-v10.xsd`` and leaves the check of numbers and words to
rules. This schema is generated from the operation classes: it has the values allowed in ``type``,
``version`` and ``data``, number types, and a description of every element and attribute, which
editors show. XSD 1.0 cannot make attributes of ``data`` depend on the type of the layer, so the
description of each attribute lists the operations that have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from irloop.dialects.attributes import Attribute, attributes_of
from irloop.dialects.openvino import OPENVINO, OpenVinoOp
from irloop.errors import UsageError
from irloop.formats.openvino.texts import ELEMENT_NAMES, PRECISIONS

__all__ = ["editor_schema"]

VERSIONS = (10, 11)

#: Elements of a file, keyed by the names of their types: the types of the children, the types of
#: the attributes (! marks the required ones), and whether other content is allowed.
_ELEMENTS: dict[str, tuple[dict[str, str], dict[str, str], bool]] = {
    "layers": ({"layer": "layer"}, {}, False),
    "layer": (
        {
            "data": "data",
            "input": "inputs",
            "output": "outputs",
            "rt_info": "anything",
            "blobs": "anything",
            "port_map": "port_map",
            "back_edges": "back_edges",
            "body": "body",
            "then_port_map": "branch_map",
            "else_port_map": "branch_map",
            "then_body": "body",
            "else_body": "body",
        },
        {
            "id!": "id",
            "name!": "text",
            "type!": "operation",
            "version!": "opset",
            "output_names": "text",
            "precision": "precision",
        },
        False,
    ),
    "body": ({"layers": "layers", "edges": "edges", "rt_info": "anything"}, {}, False),
    "inputs": ({"port": "input_port"}, {}, False),
    "outputs": ({"port": "output_port"}, {}, False),
    "input_port": (
        {"dim": "dim", "rt_info": "anything"},
        {"id!": "id", "names": "text", "precision": "precision"},
        False,
    ),
    "output_port": (
        {"dim": "dim", "rt_info": "anything"},
        {"id!": "id", "names": "text", "precision!": "precision"},
        False,
    ),
    "port_map": ({"input": "loop_input", "output": "loop_output"}, {}, False),
    "branch_map": ({"input": "branch_entry", "output": "branch_entry"}, {}, False),
    "back_edges": ({"edge": "back_edge"}, {}, False),
    "edges": ({"edge": "edge"}, {}, False),
    "back_edge": (
        {},
        {"from-layer!": "id", "to-layer!": "id", "from-port": "id", "to-port": "id"},
        False,
    ),
    "edge": (
        {},
        {"from-layer!": "id", "from-port!": "id", "to-layer!": "id", "to-port!": "id"},
        False,
    ),
    "branch_entry": ({}, {"external_port_id!": "integer", "internal_layer_id!": "id"}, False),
    "anything": ({}, {}, True),
}
_ENTRY = {
    "external_port_id!": "integer",
    "internal_layer_id!": "id",
    "axis": "integer",
    "start": "integer",
    "end": "integer",
    "stride": "integer",
    "part_size": "positive",
}
_ELEMENTS["loop_input"] = ({}, {**_ENTRY, "purpose": "input_purpose"}, False)
_ELEMENTS["loop_output"] = ({}, {**_ENTRY, "purpose": "output_purpose"}, False)

#: Descriptions of elements and attributes that editors show.
_TEXTS = {
    "net": "The model: its layers, and the edges between their ports.",
    "layers": "The layers, in any order.",
    "layer": "An operation, a constant (Const), an input (Parameter) or an output (Result).",
    "data": "The attributes of the operation.",
    "input": "The input ports of a layer; in a port map, a value that enters the body.",
    "output": "The output ports of a layer; in a port map, a value that leaves the body.",
    "port": "A port; edges name it by its id. Inputs come first, outputs are numbered on.",
    "dim": "One size of the shape; -1 if it is dynamic.",
    "edges": "The edges between ports.",
    "edge": (
        "From the output port of one layer to the input port of another. In back_edges: from "
        "the Result whose value the next iteration starts from to the Parameter that receives"
        " it."
    ),
    "port_map": (
        "The wires of a Loop or TensorIterator: which ports feed which Parameters of the "
        "body, and which Results give which outputs."
    ),
    "back_edges": (
        "The states: each edge carries a body Result to a Parameter of the next iteration. A "
        "Parameter without one keeps its value."
    ),
    "body": "The net that a loop runs in each iteration. Layer ids are its own.",
    "then_body": "The net that an If runs if its condition is true.",
    "else_body": "The net that an If runs if its condition is false.",
    "then_port_map": "The wires of the then branch.",
    "else_port_map": "The wires of the else branch.",
    "rt_info": "Runtime information; it does not affect the results.",
    "meta_data": "Information about the tool that wrote the file.",
    "statistics": "Written by old calibration tools; has no effect.",
    "quantization_parameters": "Written by quantisation tools; has no effect.",
    "pre-process": "Preprocessing of an old version; not read by OpenVINO today.",
    "blobs": "Weights as in version 7; ignored.",
    "id": "A number that is unique among the layers of this net, or the ports of this layer.",
    "name": (
        "The name that messages show. The names of Parameters and Results are the names of the "
        "model's inputs and outputs."
    ),
    "type": "The operation.",
    "version": "The opset of the operation; of a net, the version of the format.",
    "output_names": "The names of the output, written on Results from 2023 on.",
    "precision": "The element type of the value.",
    "names": "Tensor names, separated by commas.",
    "from-layer": (
        "The id of the layer the value comes from (in back_edges, of a Result of the body)."
    ),
    "from-port": "The id of its output port.",
    "to-layer": (
        "The id of the layer that reads the value (in back_edges, of a Parameter of the body)."
    ),
    "to-port": "The id of its input port.",
    "external_port_id": (
        "The port of the owner. For inputs OpenVINO uses it as an index, so number "
        "the ports from 0. -1 if the entry has a purpose and no port."
    ),
    "internal_layer_id": "The id of the Parameter (input) or Result (output) of the body.",
    "axis": (
        "The axis along which an input is sliced or an output concatenated, counted from 0. "
        "Without it, an input or output is not sliced or concatenated."
    ),
    "start": (
        "Where the range begins; -1 is the end of the axis, -2 one element before. A Loop "
        "ignores it."
    ),
    "end": "Where the range ends; -1 is the end of the axis. A Loop ignores it.",
    "stride": "The step from slice to slice; negative if slices are taken from the end to the "
    "front.",
    "part_size": "The length of a slice along the axis.",
    "purpose": (
        "current_iteration: this Parameter of a Loop receives the number of the iteration. "
        "execution_condition: this Result of a Loop decides whether another iteration "
        "follows."
    ),
}


def editor_schema(version: int = 11) -> str:
    """Return the XML schema (XSD) of an IR version, for editors.

    Raises:
        UsageError: for a version other than 10 and 11.
    """
    if version not in VERSIONS:
        raise UsageError(
            f"no schema for version {version}", expected="10 or 11", found=str(version)
        )
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<!-- OpenVINO IR version {version}, for editors. Generated by irloop schema. -->",
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified">',
        *_root(version),
    ]
    for name, (children, attributes, is_open) in sorted(_ELEMENTS.items()):
        lines += _complex(name, children, attributes, is_open=is_open)
    lines += _data()
    lines += _simple_types(version)
    return "\n".join([*lines, "</xs:schema>", ""])


def _documented(tag: str, attributes: str, text: str, inner: Iterable[str] = ()) -> Iterator[str]:
    yield f"<xs:{tag} {attributes}>"
    documentation = f"<xs:documentation>{escape(text)}</xs:documentation>"
    yield f"  <xs:annotation>{documentation}</xs:annotation>"
    yield from (f"  {line}" for line in inner)
    yield f"</xs:{tag}>"


def _root(version: int) -> Iterator[str]:
    children = {
        "layers": "layers",
        "edges": "edges",
        "meta_data": "anything",
        "rt_info": "anything",
        "statistics": "anything",
        "quantization_parameters": "anything",
        "pre-process": "anything",
    }
    inner = [
        '<xs:complexType mixed="true">',
        '  <xs:choice minOccurs="0" maxOccurs="unbounded">',
        *(f"    {line}" for line in _children(children)),
        "  </xs:choice>",
        *(f"  {line}" for line in _attributes({"name": "text"})),
        *(
            f"  {line}"
            for line in _documented(
                "attribute",
                f'name="version" use="required" fixed="{version}"',
                "The version of the format.",
            )
        ),
        "</xs:complexType>",
    ]
    yield from (f"  {line}" for line in _documented("element", 'name="net"', _TEXTS["net"], inner))


def _complex(
    name: str, children: dict[str, str], attributes: dict[str, str], *, is_open: bool
) -> Iterator[str]:
    yield f'  <xs:complexType name="{name}" mixed="true">'
    if children or is_open:
        yield '    <xs:choice minOccurs="0" maxOccurs="unbounded">'
        yield from (f"      {line}" for line in _children(children))
        if is_open:
            yield '      <xs:any processContents="skip"/>'
        yield "    </xs:choice>"
    yield from (f"    {line}" for line in _attributes(attributes))
    if is_open:
        yield '    <xs:anyAttribute processContents="skip"/>'
    yield "  </xs:complexType>"


def _children(children: dict[str, str]) -> Iterator[str]:
    for name, type in children.items():
        yield from _documented("element", f'name="{name}" type="{type}"', _TEXTS[name])


def _attributes(attributes: dict[str, str]) -> Iterator[str]:
    for given, type in attributes.items():
        name = given.removesuffix("!")
        use = ' use="required"' if given.endswith("!") else ""
        yield from _documented("attribute", f'name="{name}" type="{type}"{use}', _TEXTS[name])


def _classes() -> list[type[OpenVinoOp]]:
    return [cls for cls in OPENVINO.all() if issubclass(cls, OpenVinoOp)]


def _data() -> Iterator[str]:
    """Yield the lines of the XML schema type `data`.

    The type declares the attributes of all operations.
    """
    attributes: dict[str, list[tuple[str, Attribute]]] = {}
    for cls in _classes():
        for attribute in attributes_of(cls).values():
            attributes.setdefault(attribute.name, []).append((f"{cls.type}-{cls.since}", attribute))
    # Attributes of Const and Parameter, which have no operation classes in an opset.
    fixed = {
        "element_type": ("element_type", "Const, Parameter: the type of the elements."),
        "shape": ("shape", "Const, Parameter: the sizes, separated by commas; ? is dynamic."),
        "offset": ("id", "Const: where its bytes begin in the .bin."),
        "size": ("id", "Const: how many bytes it has in the .bin."),
    }
    yield '  <xs:complexType name="data" mixed="true">'
    for name in sorted({*attributes, *fixed}):
        users = attributes.get(name, [])
        type, text = fixed.get(name, ("", ""))
        lines = ([text] if text else []) + [
            f"{label}: {attribute.description}" for label, attribute in users
        ]
        inner = [] if type and not users else _type_of([item for _, item in users], type)
        named = f'name="{name}"' + (f' type="{type}"' if not inner else "")
        documented = _documented("attribute", named, "\n".join(lines), inner)
        yield from (f"    {line}" for line in documented)
    yield '    <xs:anyAttribute processContents="skip"/>'
    yield "  </xs:complexType>"


def _type_of(users: list[Attribute], fixed: str) -> list[str]:
    """Return the lines of XSD that define the type of an attribute of the element `data`.

    `users` describes the attribute in each operation that has one of this name, and `fixed` is the
    XSD type that it has in Const and Parameter, or "" if these do not have it. The new type allows
    the values of all of them. It allows any text if `fixed` is not empty, or if the values are of
    different kinds in different operations, such as numbers and words.
    """
    kinds = {item.kind for item in users}
    if fixed or len(kinds) > 1:
        kinds = {"text"}
    (kind,) = kinds
    words = sorted({word for item in users for word in item.words})
    if kind in ("word", "element") and all(item.words for item in users):
        return _enumeration(words)
    if kind == "bool":
        return _enumeration(["true", "false"], "[01]")
    if kind == "element":
        return ['<xs:simpleType><xs:restriction base="element_type"/></xs:simpleType>']
    base = {"int": "integer", "float": "number", "ints": "integers", "shape": "shape"}
    return [f'<xs:simpleType><xs:restriction base="{base.get(kind, "text")}"/></xs:simpleType>']


def _enumeration(words: Iterable[str], pattern: str = "") -> list[str]:
    """Return the lines of an XML schema type that accepts `words` and lets editors complete them.

    As in OpenVINO, the letter case of the words does not matter. The type also accepts strings that
    match `pattern`, if it is not empty.
    """
    listed = list(words)
    anyhow = "|".join([*map(_in_any_case, listed), *([pattern] if pattern else [])])
    return [
        "<xs:simpleType><xs:union>",
        '  <xs:simpleType><xs:restriction base="xs:token">',
        *(f"    <xs:enumeration value={quoteattr(word)}/>" for word in listed),
        "  </xs:restriction></xs:simpleType>",
        '  <xs:simpleType><xs:restriction base="xs:token">',
        f"    <xs:pattern value={quoteattr(anyhow)}/>",
        "  </xs:restriction></xs:simpleType>",
        "</xs:union></xs:simpleType>",
    ]


def _in_any_case(word: str) -> str:
    return "".join(
        f"[{char.lower()}{char.upper()}]"
        if char.isalpha()
        else f"\\{char}"
        if char in ".-"
        else char
        for char in word
    )


def _simple_types(version: int) -> Iterator[str]:
    newest = max(cls.since for cls in _classes())
    operations: dict[str, str] = {
        "Const": "A constant; its bytes are in the .bin.",
        "Parameter": "An input of the model or body.",
        "Result": "An output of the model or body.",
    }
    for cls in _classes():
        summary = (cls.__doc__ or "").strip().split("\n\n")[0]
        operations[cls.type] = " ".join(summary.split())
    opsets = {f"opset{number}": "" for number in range(1, newest + 1)}
    precisions = dict.fromkeys(sorted(PRECISIONS), "")
    yield from _restricted("text", "xs:string")
    yield from _restricted("id", "xs:unsignedLong")
    yield from _restricted("integer", "xs:long")
    yield from _restricted("positive", "xs:positiveInteger")
    yield from _restricted("number", "xs:double")
    yield from _restricted("dim", "xs:string", r"\s*(-1|\+?[0-9]+|[0-9]*\.\.[0-9]*|\?)\s*")
    one = r"(-?[0-9]+|\?|[0-9]*\.\.[0-9]*|\.\.\.)"
    yield from _restricted("shape", "xs:string", rf"\s*\[?\s*({one}(\s*,\s*{one})*)?\s*\]?\s*")
    yield from _restricted("integers", "xs:string", r"\s*([+\-]?[0-9]+(\s*,\s*[+\-]?[0-9]+)*)?\s*")
    yield from _enumerated("input_purpose", {"current_iteration": _TEXTS["purpose"]})
    yield from _enumerated("output_purpose", {"execution_condition": _TEXTS["purpose"]})
    first, *inner, last = _enumeration(sorted(ELEMENT_NAMES))
    yield "  " + first.replace("<xs:simpleType>", '<xs:simpleType name="element_type">')
    yield from (f"  {line}" for line in [*inner, last])
    yield from _enumerated("precision", precisions)
    # Extensions have operations and opsets with other names.
    yield from _enumerated("operation", dict(sorted(operations.items())), others=True)
    yield from _enumerated("opset", opsets, others=True)


def _restricted(name: str, base: str, pattern: str = "") -> Iterator[str]:
    facet = f"<xs:pattern value={quoteattr(pattern)}/>" if pattern else ""
    yield f'  <xs:simpleType name="{name}"><xs:restriction base="{base}">{facet}</xs:restriction>'
    yield "  </xs:simpleType>"


def _enumerated(name: str, words: dict[str, str], *, others: bool = False) -> Iterator[str]:
    inner = []
    for word, text in words.items():
        value = f"value={quoteattr(word)}"
        inner += (
            [*_documented("enumeration", value, text)] if text else [f"<xs:enumeration {value}/>"]
        )
    if not others:
        yield f'  <xs:simpleType name="{name}"><xs:restriction base="xs:string">'
        yield from (f"    {line}" for line in inner)
        yield "  </xs:restriction></xs:simpleType>"
        return
    yield f'  <xs:simpleType name="{name}"><xs:union memberTypes="text"><xs:simpleType>'
    yield '    <xs:restriction base="xs:string">'
    yield from (f"      {line}" for line in inner)
    yield "    </xs:restriction>"
    yield "  </xs:simpleType></xs:union></xs:simpleType>"
