"""Reads models that tools hold in memory: a ModelProto, its bytes, or a single NodeProto."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from irloop.errors import ReadError, UsageError
from irloop.formats.onnx.reader import from_proto
from irloop.graph.model import Model

__all__ = ["model_of_node", "model_of_proto"]


def model_of_proto(model: Any) -> Model:
    """The model of a ModelProto or of its bytes.

    Raises:
        UsageError: for anything else.
        ReadError: when it is not a valid model.
    """
    if isinstance(model, onnx.ModelProto):
        return from_proto(model)
    if not isinstance(model, bytes):
        raise UsageError(
            "the backend runs only ONNX models",
            expected="a ModelProto, its bytes, a path, or a model of irloop",
            found=f"{model!r:.60}",
        )
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(model)
    except DecodeError as error:
        raise ReadError("the bytes are not an ONNX model") from error
    return from_proto(proto)


def model_of_node(node: onnx.NodeProto, opset: int | None, outer: Iterable[str] = ()) -> Model:
    """A model of one node, whose inputs have no declared type.

    The model has more inputs for the values `outer`, which bodies of the node read.

    Raises:
        UsageError: when it is not a NodeProto.
        ReadError: when its attributes or bodies are not valid.
    """
    if not isinstance(node, onnx.NodeProto):
        raise UsageError("run_node takes a NodeProto", found=f"{node!r:.60}")
    graph = onnx.GraphProto(name=node.name or node.op_type)
    graph.node.add().CopyFrom(node)
    for name in dict.fromkeys(name for name in (*node.input, *outer) if name):
        graph.input.add(name=name)
    for name in (name for name in node.output if name):
        graph.output.add(name=name)
    domain = "" if node.domain == "ai.onnx" else node.domain
    newest = {"": onnx.defs.onnx_opset_version(), "ai.onnx.ml": 5}.get(domain, 1)
    proto = onnx.ModelProto(ir_version=onnx.IR_VERSION, graph=graph)
    proto.opset_import.add(domain=domain, version=newest if opset is None else opset)
    if domain:
        proto.opset_import.add(domain="", version=onnx.defs.onnx_opset_version())
    return from_proto(proto)
