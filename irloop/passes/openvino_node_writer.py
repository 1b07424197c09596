"""The vocabulary of passes for OpenVINO."""

from __future__ import annotations

from irloop.dialects.writing.openvino_writer import OpenVinoWriter
from irloop.graph.model import Node
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter

__all__ = ["OpenVinoNodeWriter"]

#: Every OpenVINO that reads version 10 has these operations; an IR does not name one opset.
OPSET = 3


class OpenVinoNodeWriter(NodeWriter, OpenVinoWriter):
    """Emits operations of OpenVINO."""

    def __init__(self, rewriter: MatchRewriter, before: Node | None, stem: str) -> None:
        super().__init__(rewriter, before, stem, OPSET)
