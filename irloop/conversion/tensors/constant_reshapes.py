"""Gives reshapes a constant target shape if it is known, because OpenVINO 2021.4 needs one."""

from __future__ import annotations

from irloop.dialects.openvino.shape import Reshape, Squeeze, Unsqueeze
from irloop.graph.builder import shape_of
from irloop.graph.model import Node, Value
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["ConstantReshapes"]


class ConstantReshapes(NodePass):
    """Replaces Reshape, Squeeze and Unsqueeze by a Reshape to a constant shape.

    This applies if the second operand, a shape or axes, is computed by the model, but the shape of
    the result is known.

    Given::

        y [3,4] = Squeeze(x [1,3,4], axes)      axes is computed, one element

    Result::

        y [3,4] = Reshape(x, Const [3,4])

    OpenVINO 2021.4 needs a constant second operand, and refuses a computed one.
    """

    name = "constant_reshapes"
    dialects = frozenset({"openvino"})
    operations = (Reshape, Squeeze, Unsqueeze)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        data, operand = (*node.inputs, None)[:2]
        dims = shape_of(node.output).static()
        if data is None or operand is None or dims is None or 0 in dims:
            return None
        if w.rewriter.inference.constant(operand) is not None:
            return None
        return w.reshape(data, dims)
