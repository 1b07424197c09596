"""Decodes the strings and attributes of the nodes of a graph, once for all readers of a file.

A protobuf decodes a string, and makes an object for a list, at each access. The outline, the
expansion of functions and the reader all need the names of every node, and decoding them takes
longer than the rest of reading a large graph.
"""

from __future__ import annotations

from typing import NamedTuple

import onnx

__all__ = ["DecodedNode", "decode"]


class DecodedNode(NamedTuple):
    """A NodeProto, and what it contains.

    `domain` is empty for ai.onnx. `has_notes` is true if the node has a doc string, an overload or
    metadata.

    `is_text` is false if a string of the node is not UTF-8. Such a string is of type `bytes`, so
    readers refuse the node before they use its names.
    """

    proto: onnx.NodeProto
    type: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[onnx.AttributeProto, ...]
    has_notes: bool
    is_text: bool


def decode(graph: onnx.GraphProto | onnx.FunctionProto) -> list[DecodedNode]:
    """The nodes of a graph or function, in the order of the file; their bodies are not decoded."""
    return [_decode(proto) for proto in graph.node]


def _decode(proto: onnx.NodeProto) -> DecodedNode:
    inputs, outputs = tuple(proto.input), tuple(proto.output)
    attributes, properties = tuple(proto.attribute), proto.metadata_props
    name, type, domain = proto.name, proto.op_type, proto.domain
    doc_string, overload = proto.doc_string, proto.overload
    texts = [name, type, domain, doc_string, overload, *inputs, *outputs]
    texts += [item.name for item in attributes]
    for entry in properties:
        texts += [entry.key, entry.value]
    try:
        "".join(texts)
    except TypeError:
        is_text = False
    else:
        is_text = True
    has_notes = bool(doc_string or overload or properties)
    return DecodedNode(
        proto,
        type,
        "" if domain == "ai.onnx" else domain,
        name,
        inputs,
        outputs,
        attributes,
        has_notes,
        is_text,
    )
