"""Rewrites operations of newer OpenVINO opsets in an older opset, by converting via ONNX.

An operation is converted to ONNX and the result back to OpenVINO, in the older opset. For example,
GroupNormalization-12 becomes MVN-6 with Reshapes, a multiplication and an addition.
"""

from __future__ import annotations

from dataclasses import dataclass

from irloop.conversion.alone import alone
from irloop.conversion.pipelines import to_onnx, to_openvino
from irloop.dialects.openvino import OPENVINO
from irloop.errors import InferenceError, UnsupportedError
from irloop.graph.model import Node
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter
from irloop.passes.options import option
from irloop.passes.written_out import replace_by_graph

__all__ = ["LowerThroughOnnx"]


@dataclass(eq=False)
class LowerThroughOnnx(NodePass):
    """Converts operations newer than an opset to ONNX, and the result back to an older opset.

    Given::

        y = GroupNormalization-12(x, scale, bias)

    Result (opset 7)::

        y = Reshape(MVN-6(Reshape(x, [n, groups, ...])), shape of x) * scale + bias

    Operations with bodies stay, as do operations that one of the two directions refuses.
    """

    name = "lower_through_onnx"
    dialects = frozenset({"openvino"})

    opset: int = option(7, "the newest opset to use; 7 is that of OpenVINO 2021.4")

    def __post_init__(self) -> None:
        self.operations = tuple(cls for cls in OPENVINO.all() if cls.since > self.opset)

    def rewrite(self, node: Node, w: NodeWriter) -> None:
        if node.bodies or not node.op.pure:
            return
        single = alone(node, w.rewriter)
        try:
            lowered, _ = to_openvino(to_onnx(single.model)[0], opset=self.opset)
        except (UnsupportedError, InferenceError):
            return
        replace_by_graph(node, lowered.graph, single.inputs, single.outputs, w.rewriter)
