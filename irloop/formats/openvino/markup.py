"""Converts parts of an IR to XML text and back: attribute values, tensor names, kept sections.

A kept section is an element such as `meta_data`, which is written back as it was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.parsers import expat

from irloop.errors import WriteError
from irloop.formats.openvino.document import Extra

__all__ = [
    "attributes_of_info",
    "attributes_text",
    "escape",
    "extra_lines",
    "extras_of",
    "info_of_attributes",
    "names_text",
    "parse_names",
    "text_of_extras",
]

# `re` compiles this pattern and `_NO_XML` at the first use, which few models reach.
_SPECIAL = r'[&<>"\t\n\r]'
_ESCAPES = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "\t": "&#9;",
    "\n": "&#10;",
    "\r": "&#13;",
}
_NO_XML = "[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"
#: All characters of `_SPECIAL` and `_NO_XML`. Nearly no text has one, so this search is usually the
#: only one.
_NOT_PLAIN = re.compile('[&<>"\0-\x1f\ud800-\udfff\ufffe\uffff]')
_UNESCAPED_COMMA = re.compile(r"(?<!\\),")


def escape(text: str) -> str:
    """`text` as an attribute value between double quotes.

    Raises:
        WriteError: for a character that XML does not allow.
    """
    if not _NOT_PLAIN.search(text):
        return text
    if re.search(_NO_XML, text):
        raise WriteError(
            f"XML cannot represent a character of {text!r}",
            cause="a name with a control character or half a surrogate pair",
            fix="rename it",
        )
    return re.sub(_SPECIAL, lambda match: _ESCAPES[match.group()], text)


def parse_names(text: str | None) -> tuple[str, ...]:
    r"""The tensor names of a port, separated by commas; a comma in a name is written ``\,``."""
    if not text:
        return ()
    if "," not in text:
        return (text,)
    items = (item.replace("\\,", ",") for item in _UNESCAPED_COMMA.split(text))
    return tuple(item for item in items if item)


def names_text(names: Iterable[str]) -> str:
    """Join tensor names with commas, in the form that `parse_names` reads."""
    return ",".join([name.replace(",", "\\,") for name in names])


def attributes_text(attributes: Mapping[str, str]) -> str:
    """Format attributes as they are written in a tag, each with a space before it."""
    return "".join(f' {name}="{escape(text)}"' for name, text in attributes.items())


def extra_lines(extra: Extra, depth: int) -> Iterator[str]:
    """Yield the lines of an element and its content, indented by tabs."""
    stack: list[Extra | str] = [extra]
    while stack:
        element = stack.pop()
        if isinstance(element, str):
            depth -= 1
            yield "\t" * depth + element
            continue
        tag = f"{element.tag}{attributes_text(element.attributes)}"
        text = escape(element.text).replace("&#10;", "\n") if element.text else ""
        if not element.children:
            closed = f"<{tag}>{text}</{element.tag}>" if text else f"<{tag}/>"
            yield "\t" * depth + closed
            continue
        yield "\t" * depth + f"<{tag}>{text}"
        depth += 1
        stack.append(f"</{element.tag}>")
        stack.extend(reversed(element.children))


def text_of_extras(extras: Iterable[Extra]) -> str:
    """Return the XML text of the elements, one after the other."""
    return "\n".join(line for extra in extras for line in extra_lines(extra, 0))


def extras_of(text: str) -> list[Extra]:
    """The elements in an XML text: the inverse of `text_of_extras`.

    Raises:
        WriteError: when the text is not well-formed.
    """
    top = Extra("", {}, 0)
    stack = [top]
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def start(name: str, attributes: dict[str, str]) -> None:
        stack[-1].children.append(Extra(name, attributes, parser.CurrentLineNumber))
        stack.append(stack[-1].children[-1])

    def end(name: str) -> None:
        extra = stack.pop()
        extra.text = extra.text.strip()

    def data(piece: str) -> None:
        stack[-1].text += piece

    def declared(*_: object) -> None:
        raise WriteError("metadata declares an entity")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = data
    parser.EntityDeclHandler = declared
    try:
        parser.Parse(f"<metadata>{text}</metadata>", True)
    except (expat.ExpatError, ValueError) as error:
        raise WriteError(f"metadata is not well-formed XML: {error}", found=text[:80]) from error
    return top.children[0].children


def attributes_of_info(extra: Extra) -> dict[str, Any]:
    """Return the runtime information of a layer or port as a dict.

    An element ``<attribute name="n" a="1" b="2"/>`` yields ``{"n": {"a": "1", "b": "2"}}``. Any
    other element, and a second element with the same name, is kept as XML text; its key is the tag
    in angle brackets.
    """
    info: dict[str, Any] = {}
    for child in extra.children:
        name = child.attributes.get("name")
        plain = child.tag == "attribute" and not child.children and not child.text
        if plain and name is not None and name not in info:
            info[name] = {key: text for key, text in child.attributes.items() if key != "name"}
        else:
            before = info.get(f"<{child.tag}>", "")
            info[f"<{child.tag}>"] = before + text_of_extras([child])
    return info


def info_of_attributes(info: Mapping[str, Any]) -> Extra | None:
    """Make the `rt_info` of a layer or port, as the inverse of `attributes_of_info`.

    Information that did not come from an IR, such as the metadata of an ONNX node, is left out,
    because an IR cannot store it. None if nothing remains.
    """
    extra = Extra("rt_info", {}, 0)
    for name, value in info.items():
        if isinstance(value, Mapping):
            texts = {str(key): str(text) for key, text in value.items()}
            extra.children.append(Extra("attribute", {"name": name, **texts}, 0))
        elif name.startswith("<") and isinstance(value, str):
            extra.children.extend(extras_of(value))
    return extra if extra.children else None
