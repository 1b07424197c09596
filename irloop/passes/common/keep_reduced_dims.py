"""Lets reductions to a scalar keep their axes, and removes the axes by a Squeeze."""

from __future__ import annotations

from dataclasses import replace

from irloop.dialects.openvino import reduction, shape
from irloop.graph.builder import shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["KeepReducedDims"]


class KeepReducedDims(NodePass):
    """Lets reductions to a scalar keep their axes, and removes the axes afterwards.

    Given::

        y = ReduceMax(x, [0, 1], keep_dims false)

    Result::

        y = Squeeze(ReduceMax(x, [0, 1], keep_dims true), [0, 1])

    OpenVINO 2021.4 loses the rank of such a scalar: operations that broadcast it do not compile,
    and a condition that depends on it is refused. Reductions over computed axes are not changed.
    """

    name = "keep_reduced_dims"
    dialects = frozenset({"openvino"})
    operations = (reduction.Reduction,)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        op = node.op
        assert isinstance(op, reduction.Reduction)
        data, axes = node.inputs
        if data is None or axes is None or not isinstance(axes.producer.op, Constant):
            return None
        if op.keep_dims or shape_of(node.output).rank != 0 or shape_of(data).rank == 0:
            return None
        kept = w(replace(op, keep_dims=True), data, axes)
        return w(shape.Squeeze(), kept, axes)
