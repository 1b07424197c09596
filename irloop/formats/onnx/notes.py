"""Keeps the parts of a file that the graph cannot represent; the ONNX writer writes them back.

They are stored in `Node.info`, `Value.info` and `Model.metadata`, under the keys defined here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import onnx

from irloop.graph.record import Record

__all__ = [
    "DECLARED",
    "DEFAULT",
    "NO_NOTES",
    "TYPE",
    "UNREAD",
    "NodeNotes",
    "apply_graph_notes",
    "apply_node_notes",
    "graph_notes",
    "info_of",
    "node_notes",
    "notes_of",
]

#: The key of `Value.info` that marks a value whose type is declared in value_info.
DECLARED = "onnx.declared"
#: The key of `Value.info` that marks the default value of a graph input.
DEFAULT = "onnx.default"
#: The key of `Value.info` for the TypeProto, which is kept if `Value.type` cannot represent it.
TYPE = "onnx.type"
#: Parts of a ModelProto that are kept as bytes and not parsed; IR version 11 added the last one.
UNREAD = ("training_info", "configuration")
#: Key of `Node.info`; its value is a `NodeNotes`.
_NOTES = "onnx"


class NodeNotes(Record):
    """The parts of a NodeProto without a field in `Node`: doc string, overload, metadata.

    `is_node` is true for a constant that was read from a Constant node instead of an initializer;
    it is then written as a node again. `graphs` holds the notes of the node's bodies, keyed by the
    name of the attribute that contains the body.
    """

    doc_string: str = ""
    overload: str = ""
    metadata_props: Mapping[str, str] = field(default_factory=dict)
    graphs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    is_node: bool = False


NO_NOTES = NodeNotes()
_NODE: Mapping[str, Any] = {_NOTES: NodeNotes(is_node=True)}


def node_notes(proto: onnx.NodeProto, *, is_node: bool = False) -> NodeNotes:
    """Collect the doc string, overload and metadata of a node, and the notes of its subgraphs.

    `is_node` is true if `proto` is a Constant node. The result records this, so that the constant
    is written as a node again.
    """
    graphs = {}
    for attribute in proto.attribute:
        if attribute.HasField("g"):
            found = graph_notes(attribute.g)
            if found:
                graphs[attribute.name] = found
    if not (proto.doc_string or proto.overload or proto.metadata_props or graphs or is_node):
        return NO_NOTES
    properties = {item.key: item.value for item in proto.metadata_props}
    return NodeNotes(proto.doc_string, proto.overload, properties, graphs, is_node)


def info_of(notes: NodeNotes) -> Mapping[str, Any]:
    """Make the value of `Node.info` that stores `notes`; it is empty if there are no notes."""
    if notes is NO_NOTES or notes == NO_NOTES:
        return {}
    return _NODE if notes == _NODE[_NOTES] else {_NOTES: notes}


def notes_of(info: Mapping[str, Any]) -> NodeNotes:
    """The notes stored in a `Node.info`."""
    found = info.get(_NOTES)
    return found if isinstance(found, NodeNotes) else NO_NOTES


def graph_notes(proto: onnx.GraphProto) -> dict[str, Any]:
    """Collect the parts of a GraphProto other than nodes and values."""
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


def apply_node_notes(proto: onnx.NodeProto, notes: NodeNotes) -> None:
    """Add notes to a NodeProto: its docstring, overload and metadata.

    `notes` is an object as `node_notes` returns it; the notes of bodies are not added.
    """
    if notes.doc_string:
        proto.doc_string = notes.doc_string
    if notes.overload:
        proto.overload = notes.overload
    for key, value in notes.metadata_props.items():
        proto.metadata_props.add(key=key, value=value)


def apply_graph_notes(proto: onnx.GraphProto, notes: Mapping[str, Any]) -> None:
    """Add notes to a GraphProto: its docstring, metadata and quantisation annotations.

    `notes` is a mapping as `graph_notes` returns it.
    """
    if "graph_doc_string" in notes:
        proto.doc_string = notes["graph_doc_string"]
    for key, value in notes.get("graph_metadata_props", {}).items():
        proto.metadata_props.add(key=key, value=value)
    for data in notes.get("quantization_annotation", []):
        proto.quantization_annotation.add().ParseFromString(data)
