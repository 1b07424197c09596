"""What the graph has no place for, and under which keys it is kept until it is written."""

from __future__ import annotations

from typing import Any

import onnx

__all__ = [
    "DECLARED",
    "DEFAULT",
    "FORM",
    "NOTES",
    "TYPE",
    "apply_graph_notes",
    "apply_node_notes",
    "graph_notes",
    "node_notes",
]

#: Key of `Node.info`: documentation, metadata and form of a node.
NOTES = "onnx"
#: Key of the notes of a Constant: it was a node, not an initializer.
FORM = "form"
#: Keys of `Value.info`: its type was declared in value_info; it is the default value of a graph
#: input; the TypeProto, where `Value.type` cannot say all of it.
DECLARED = "onnx.declared"
DEFAULT = "onnx.default"
TYPE = "onnx.type"


def node_notes(proto: onnx.NodeProto) -> dict[str, Any]:
    """What a NodeProto says that is no attribute."""
    notes: dict[str, Any] = {}
    if proto.doc_string:
        notes["doc_string"] = proto.doc_string
    if proto.overload:
        notes["overload"] = proto.overload
    if proto.metadata_props:
        notes["metadata_props"] = {item.key: item.value for item in proto.metadata_props}
    graphs = {}
    for attribute in proto.attribute:
        if attribute.HasField("g"):
            found = graph_notes(attribute.g)
            if found:
                graphs[attribute.name] = found
    if graphs:
        notes["graphs"] = graphs
    return notes


def graph_notes(proto: onnx.GraphProto) -> dict[str, Any]:
    """What a GraphProto says besides its nodes and values."""
    notes: dict[str, Any] = {}
    if proto.doc_string:
        notes["graph_doc_string"] = proto.doc_string
    if proto.metadata_props:
        notes["graph_metadata_props"] = {item.key: item.value for item in proto.metadata_props}
    if proto.quantization_annotation:
        notes["quantization_annotation"] = [
            item.SerializeToString(deterministic=True) for item in proto.quantization_annotation
        ]
    return notes


def apply_node_notes(proto: onnx.NodeProto, notes: dict[str, Any]) -> None:
    """Write back what `node_notes` kept, bodies apart."""
    if "doc_string" in notes:
        proto.doc_string = notes["doc_string"]
    if "overload" in notes:
        proto.overload = notes["overload"]
    for key, value in notes.get("metadata_props", {}).items():
        proto.metadata_props.add(key=key, value=value)


def apply_graph_notes(proto: onnx.GraphProto, notes: dict[str, Any]) -> None:
    """Write back what `graph_notes` kept."""
    if "graph_doc_string" in notes:
        proto.doc_string = notes["graph_doc_string"]
    for key, value in notes.get("graph_metadata_props", {}).items():
        proto.metadata_props.add(key=key, value=value)
    for data in notes.get("quantization_annotation", []):
        proto.quantization_annotation.add().ParseFromString(data)
