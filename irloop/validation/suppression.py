"""Suppresses findings by comments and metadata in the model itself.

In an IR, the comment ``<!-- irloop: ignore IRL513 -->`` lists codes or groups. It applies to what
begins on its line or on the next line that is not empty; if a layer begins there, it applies to
everything in the layer. ``<!-- irloop: ignore-file IRL9 -->`` applies to the whole file.

In an ONNX model, the codes are in the entry ``irloop.ignore`` of `metadata_props`, or in a
`doc_string` as ``irloop: ignore ONX301``. The codes of a node apply to the node and its bodies; the
codes of the model apply to the whole model.

The author of a model writes these, so each step takes time in proportion to the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from irloop.diagnostics import Diagnostic

if TYPE_CHECKING:
    from irloop.formats.onnx.outline import Outline
    from irloop.formats.openvino.document import Document, Layer, Net

__all__ = ["Suppressed", "of_document", "of_outline"]

#: Tells whether a finding is suppressed.
Suppressed = Callable[[Diagnostic], bool]

_OPEN, _CLOSE, _MARK = "<!--", "-->", "irloop:"


@dataclass(slots=True)
class _Codes:
    """The codes that apply to an element and what is in it, by its path; see `at`."""

    own: set[str] = field(default_factory=set)
    inner: dict[str, _Codes] = field(default_factory=dict)

    def at(self, path: str) -> _Codes:
        """The codes of the element with a path, such as ``Loop_7/body/Mul_4``."""
        codes = self
        for step in path.split("/"):
            codes = codes.inner.setdefault(step, _Codes())
        return codes

    def suppress(self, code: str, path: str) -> bool:
        """Return whether the element with this path, or one around it, has the code or a group."""
        codes: _Codes | None = self
        for step in (*path.split("/"), ""):
            if codes is None:
                return False
            if _has(codes.own, code):
                return True
            codes = codes.inner.get(step)
        return False


def of_document(document: Document) -> Suppressed | None:
    """The suppressions in the comments of an IR; None if there are none."""
    data = document.data
    # Most files have no comments; a search for one character takes almost no time.
    if b"!" not in data or (b"irloop" not in data and b"i\0r\0l\0" not in data):
        return None
    text = data.decode("utf-16" if b"\0" in data[:4] else "utf-8", "replace")
    lines: dict[int, set[str]] = {}
    codes = _Codes()
    for line, following, kind, named in _comments(text):
        if kind == "ignore-file":
            codes.own |= named
        for target in (line, following) if kind == "ignore" else ():
            lines.setdefault(target, set()).update(named)
    if not lines and not codes.own:
        return None
    for layer in _layers(document.net):
        if layer.line in lines:
            codes.at(layer.element_path).own |= lines[layer.line]

    def suppressed(finding: Diagnostic) -> bool:
        place = finding.location
        by_line = lines.get(place.line or 0)
        if by_line is not None and _has(by_line, finding.code):
            return True
        return codes.suppress(finding.code, place.element)

    return suppressed


def of_outline(outline: Outline) -> Suppressed | None:
    """The suppressions of an ONNX model and its nodes; None if there are none."""
    nodes = [node for graph in outline.graph.walk() for node in graph.nodes if node.ignored]
    if not nodes and not outline.ignored:
        return None
    codes = _Codes(set(outline.ignored))
    for node in nodes:
        codes.at(node.path).own.update(node.ignored)
    return lambda item: codes.suppress(item.code, item.location.path)


def _has(codes: set[str], code: str) -> bool:
    """Return whether `codes` has a code such as ``IRL513``, or a group such as ``IRL5``."""
    return any(code[:end] in codes for end in range(1, len(code) + 1))


def _comments(text: str) -> Iterator[tuple[int, int, str, set[str]]]:
    """Find irloop's comments: for each, two lines, ``ignore`` or ``ignore-file``, and the codes.

    The lines are the one on which the comment ends, and the next that is not empty.
    """
    lines = text.split("\n")
    line, following, counted = 1, 0, 0
    for start, end in _spans(text):
        words = text[start:end].strip()
        if not words.startswith(_MARK):
            continue
        kind, *named = words.removeprefix(_MARK).replace(",", " ").split() or [""]
        if kind not in ("ignore", "ignore-file") or not named or not "".join(named).isalnum():
            continue
        passed = text.count("\n", counted, end)
        line, counted = line + passed, end
        if passed or not following:
            following = _next_line(lines, line)
        yield line, following, kind, {code.upper() for code in named}


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of the text in each comment."""
    end = 0
    while (start := text.find(_OPEN, end)) >= 0:
        end = text.find(_CLOSE, start + len(_OPEN))
        if end < 0:
            return
        yield start + len(_OPEN), end


def _next_line(lines: list[str], line: int) -> int:
    """The number of the next line that is not empty; `line` itself if there is none."""
    following = range(line, len(lines))
    return next((number + 1 for number in following if lines[number].strip()), line)


def _layers(net: Net) -> Iterator[Layer]:
    """The layers, those of bodies included."""
    nets = [net]
    while nets:
        for layer in nets.pop().layers:
            nets += layer.bodies.values()
            yield layer
