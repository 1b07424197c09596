"""Makes the writers of passes."""

from __future__ import annotations

from irloop.graph.model import Model, Node
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter

__all__ = ["writer_at"]


def writer_at(model: Model, rewriter: MatchRewriter, before: Node | None, stem: str) -> NodeWriter:
    """Make a writer in the dialect of `model`; see `NodeWriter` for the other arguments."""
    # Most models are of one dialect, and need the operations of this one only.
    if model.dialect == "onnx":
        from irloop.passes.onnx_node_writer import OnnxNodeWriter

        return OnnxNodeWriter(rewriter, before, stem, model.opsets.get("", 0))
    from irloop.passes.openvino_node_writer import OpenVinoNodeWriter

    return OpenVinoNodeWriter(rewriter, before, stem)
