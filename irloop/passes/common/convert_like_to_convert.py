"""Replaces conversions to the type of another value by conversions to a named type."""

from __future__ import annotations

from irloop.dialects.onnx import convert as onnx
from irloop.dialects.openvino import convert as ov
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.graph.types import ElementType
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["ConvertLikeToConvert"]


class ConvertLikeToConvert(NodePass):
    """Replaces ConvertLike by a Convert that names the element type.

    Given::

        y = ConvertLike(x, z [f16])

    Result::

        y = Convert(x, f16)

    In ONNX these are CastLike and Cast. OpenVINO 2021.4 reads ConvertLike but cannot run it. Nodes
    whose type is unknown are not replaced.
    """

    name = "convert_like_to_convert"
    operations = (ov.ConvertLike, onnx.CastLike)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        value, like = node.inputs
        if value is None or like is None or element_of(like) is ElementType.DYNAMIC:
            return None
        element = element_of(like)
        op: ov.Convert | onnx.Cast6 = ov.Convert(element)
        if isinstance(node.op, onnx.CastLike):
            op = onnx.Cast6(element, node.op.saturate, node.op.round_mode)
        return w(op, value)
