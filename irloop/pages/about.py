"""What a page says about a whole model, and attributes and metadata as rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

from irloop.drawing.text import clipped
from irloop.graph.model import Model, Node, Value
from irloop.graph.summary import Summary, summary_of

__all__ = ["LISTED", "about", "pairs"]

#: Maximum length of the text of an attribute or of runtime information, in characters.
LONGEST = 500

#: Maximum number of attributes, inputs or outputs of a node that are listed.
LISTED = 200

#: An entry of the metadata of an IR.
_ENTRY = re.compile(r'<([\w.-]{1,200}) value="([^"]{0,5000})"')


def about(model: Model, numbers: Mapping[Node, int]) -> dict[str, Any]:
    """Inputs, outputs, sizes, operations by type, and metadata; `numbers` has the drawn nodes."""
    graph = model.graph
    size = summary_of(model)
    return {
        "inputs": [_border(numbers, node, node.outputs[0]) for node in graph.parameters],
        "outputs": [_border(numbers, node, node.inputs[0]) for node in graph.results],
        "sizes": list(pairs(dict(_sizes(size)))),
        "operations": list(pairs(dict(size.operations.most_common(LISTED)))),
        "metadata": list(pairs(dict(_metadata(model.metadata)))),
    }


def _border(numbers: Mapping[Node, int], node: Node, value: Value | None) -> list[Any]:
    return [numbers.get(node), node.name, "" if value is None else str(value.type)]


def _sizes(size: Summary) -> Iterator[tuple[str, str]]:
    yield "operations", f"{sum(size.operations.values()):,}"
    if size.inside:
        yield "in bodies", f"{size.inside:,}"
    yield "constants", f"{size.constants:,}"
    for name, (count, nbytes) in size.weights.items():
        yield f"weights {name}", f"{count:,} ({nbytes:,} bytes)"
    yield "multiply-adds", _known(size.multiply_adds)
    memory = _known(size.activations)
    yield "activations", memory if size.activations is None else f"{memory} bytes"


def _known(number: int | None) -> str:
    return "not known" if number is None else f"{number:,}"


def _metadata(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The metadata as pairs: entries of dictionaries and of the XML of an IR one by one."""
    for name, value in metadata.items():
        if isinstance(value, Mapping):
            yield from ((str(key), item) for key, item in value.items())
        elif isinstance(value, str) and value.startswith("<"):
            entries = _ENTRY.findall(value)
            yield from ((key, unescape(text)) for key, text in entries)
            if not entries and len(value) > len(name) + 3:
                yield name, value
        else:
            yield name, value


def pairs(items: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the rows of a table of names and values, as text."""
    for at, (key, value) in enumerate(items.items()):
        if at == LISTED:
            yield ["…", f"{len(items) - LISTED} more"]
            return
        if isinstance(value, (list, tuple)):
            more = ", …" if len(value) > LISTED else ""
            text = f"[{', '.join(str(item) for item in value[:LISTED])}{more}]"
        else:
            text = str(value)
        yield [clipped(str(key), LONGEST), clipped(text, LONGEST)]
