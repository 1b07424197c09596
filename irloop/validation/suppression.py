"""Suppresses findings by comments and metadata in the model itself.

In an IR, the comment ``<!-- irloop: ignore IRL513 -->`` lists codes or groups. It applies to what
begins on its line or on the next line that is not empty; if a layer begins there, it applies to
everything in the layer. ``<!-- irloop: ignore-file IRL9 -->`` applies to the whole file.

In an ONNX model, the codes are in the entry ``irloop.ignore`` of `metadata_props`, or in a
`doc_string` as ``irloop: ignore ONX301``. The codes of a node apply to the node and its bodies; the
codes of the model apply to the whole model.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from irloop.diagnostics import Diagnostic

if TYPE_CHECKING:
    from irloop.formats.onnx.outline import Outline
    from irloop.formats.openvino.document import Document, Net

__all__ = ["Suppressed", "of_document", "of_outline"]

#: Tells whether a finding is suppressed.
Suppressed = Callable[[Diagnostic], bool]

# These patterns are compiled only when a file has such a comment, which is rare.
_COMMENT = r"<!--\s*irloop:\s*(ignore|ignore-file)\s+([\w,\s]+?)\s*-->"
_SPLIT = r"[,\s]+"


def of_document(document: Document) -> Suppressed | None:
    """The suppressions in the comments of an IR; None if there are none."""
    data = document.data
    # Most files have no comments; a search for one character takes almost no time.
    if b"!" not in data or (b"irloop" not in data and b"i\0r\0l\0" not in data):
        return None
    text = data.decode("utf-16" if b"\0" in data[:4] else "utf-8", "replace")
    comments = [
        (text.count("\n", 0, match.end()) + 1, match[1], codes_of(match[2]))
        for match in re.finditer(_COMMENT, text)
    ]
    if not comments:
        return None
    everywhere = tuple(
        code for _, kind, codes in comments if kind == "ignore-file" for code in codes
    )
    by_line: dict[int, tuple[str, ...]] = {}
    lines = text.split("\n")
    for line, kind, codes in comments:
        for target in (line, _next_line(lines, line)) if kind == "ignore" else ():
            by_line[target] = by_line.get(target, ()) + codes
    layers = _layers(document.net, by_line)

    def suppressed(item: Diagnostic) -> bool:
        place = item.location
        codes = everywhere + by_line.get(place.line or 0, ())
        for path, more in layers:
            if place.element == path or place.element.startswith(f"{path}/"):
                codes += more
        return item.code.startswith(codes)

    return suppressed


def of_outline(outline: Outline) -> Suppressed | None:
    """The suppressions of an ONNX model and its nodes; None if there are none."""
    nodes = {
        node.path: node.ignored
        for graph in outline.graph.walk()
        for node in graph.nodes
        if node.ignored
    }
    everywhere = outline.ignored
    if not nodes and not everywhere:
        return None

    def suppressed(item: Diagnostic) -> bool:
        codes = everywhere
        for path, more in nodes.items():
            if item.location.path == path or item.location.path.startswith(f"{path}/"):
                codes += more
        return item.code.startswith(codes)

    return suppressed


def codes_of(text: str) -> tuple[str, ...]:
    """The codes or groups in a text such as ``IRL513, IRL9``."""
    return tuple(code.upper() for code in re.split(_SPLIT, text.strip()) if code)


def _next_line(lines: list[str], line: int) -> int:
    """The number of the next line that is not empty; `line` itself if there is none."""
    following = range(line, len(lines))
    return next((number + 1 for number in following if lines[number].strip()), line)


def _layers(net: Net, by_line: dict[int, tuple[str, ...]]) -> list[tuple[str, tuple[str, ...]]]:
    """List the layers to which `by_line` assigns codes of findings.

    `by_line` maps the line on which a layer begins to the codes. The result has the element path
    and the codes of each such layer. Layers of bodies are included.
    """
    found, nets = [], [net]
    while nets:
        for layer in nets.pop().layers:
            nets += layer.bodies.values()
            codes = by_line.get(layer.line)
            if codes:
                found.append((layer.element_path, codes))
    return found
