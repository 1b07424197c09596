"""The vocabulary of passes for ONNX."""

from __future__ import annotations

from irloop.dialects.writing.onnx_writer import OnnxWriter
from irloop.passes.node_writer import NodeWriter

__all__ = ["OnnxNodeWriter"]


class OnnxNodeWriter(NodeWriter, OnnxWriter):
    """Emits operations of ONNX, in the opset of the model."""
