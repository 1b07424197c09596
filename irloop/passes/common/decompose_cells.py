"""Decomposes recurrent cells into their gates."""

from __future__ import annotations

from irloop.dialects.openvino import recurrent
from irloop.graph.builder import shape_of
from irloop.graph.model import Node, Value
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter
from irloop.passes.openvino_node_writer import OpenVinoNodeWriter
from irloop.passes.recurrent_gates import Gates, cut, projected

__all__ = ["DecomposeCells"]


class DecomposeCells(NodePass):
    """Decomposes LSTM, GRU and RNN cells into products, additions and activations.

    Given::

        h1 = GRUCell(x, h, W, R, B)

    Result::

        z_x, r_x, n_x = Split(x * W' + B)    z_h, r_h = Split(h * R_zr')
        z = Sigmoid(z_x + z_h)    r = Sigmoid(r_x + r_h)
        n = Tanh(n_x + (r * h) * R_n')
        h1 = n + z * (h - n)

    Clipping becomes a Clamp before each activation. A cell is not decomposed if its state size is
    unknown, or if it has an activation that OpenVINO's cells do not support.
    """

    name = "decompose_cells"
    dialects = frozenset({"openvino"})
    operations = (
        recurrent.LSTMCell,
        recurrent.LSTMCell1,
        recurrent.GRUCell,
        recurrent.RNNCell,
    )

    def rewrite(self, node: Node, w: NodeWriter) -> list[Value] | None:
        op, count = node.op, len(node.outputs)
        assert isinstance(op, recurrent.Recurrent)
        x, *states = node.inputs[: 1 + count]
        weights, r, bias = (*node.inputs[1 + count : 4 + count], None)[:3]
        held = [value for value in states if value is not None]
        if x is None or weights is None or r is None or len(held) != count:
            return None
        size = shape_of(r).dim(1)
        if not isinstance(size, int):
            return None
        if any(name not in recurrent.ACTIVATIONS for name, _, _ in op.functions()):
            return None
        c, own, parts = OpenVinoNodeWriter(w.rewriter, node, node.name), None, [r]
        if isinstance(op, recurrent.GRUCell):
            parts = cut(c, r, [2 * size, size])
            if op.linear_before_reset and bias is not None:
                bias, own = cut(c, bias, [3 * size, size])
        return Gates(c, op, size, parts, own).step(projected(c, x, weights, bias), held)
