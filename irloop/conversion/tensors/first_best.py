"""Finds ArgMax and ArgMin in the operations that IR has in their place."""

from __future__ import annotations

import numpy as np

from irloop.analysis.operands import inputs_of
from irloop.dialects.onnx.comparison import Equal, Where
from irloop.dialects.onnx.search import ArgMax12, ArgMin12, TopK11
from irloop.graph.builder import shape_of
from irloop.graph.inference import Inference
from irloop.graph.model import Node, Value
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["FuseFirstBest"]


class FuseFirstBest(NodePass):
    """Writes ArgMax or ArgMin in place of a search for the first of equal elements.

    Given::

        best, _ = TopK(x, 1)
        y, _ = TopK(Where(x == best, [0, 1, ..., n - 1], n - 1), 1, largest=0)

    Result::

        y = ArgMax(x)

    The other operand of Where may also be larger. They differ only where `x` has a NaN, of which
    ONNX does not say where it ranks.
    """

    name = "fuse_first_best"
    dialects = frozenset({"onnx"})
    operations = (TopK11,)

    def applies(self, node: Node) -> bool:
        return _choice(node) is not None and not node.outputs[1].is_used

    def rewrite(self, node: Node, w: NodeWriter) -> tuple[Value, Value] | None:
        choice = _choice(node)
        if choice is None:
            return None
        best, positions, otherwise = choice
        known, search, least = w.inference, best.producer, node.op
        x, top = search.inputs[0], search.op
        assert x is not None
        assert isinstance(top, TopK11)
        assert isinstance(least, TopK11)
        dims = shape_of(x).dims
        if dims is None or not _is_one(search, known) or not _is_one(node, known):
            return None
        axis = top.axis % len(dims)
        order = known.constant(positions)
        if axis != least.axis % len(dims) or order is None or order.ndim != len(dims) - axis:
            return None
        if order.size != dims[axis] or not np.array_equal(order.reshape(-1), range(order.size)):
            return None
        last = known.constant(otherwise)
        if last is None or order.dtype != np.int64 or (last < order.size - 1).any():
            return None
        op = ArgMax12(axis=axis) if top.largest else ArgMin12(axis=axis)
        return w(op, x), node.outputs[1]


def _choice(node: Node) -> tuple[Value, Value, Value] | None:
    """Match the smallest of Where(x == TopK(x), p, n); return TopK(x), p and n."""
    op, candidates = node.op, node.inputs[0]
    if not isinstance(op, TopK11) or op.largest or candidates is None:
        return None
    condition, positions, otherwise = inputs_of(candidates, Where) or (None, None, None)
    compared = None if condition is None else inputs_of(condition, Equal)
    if compared is None or positions is None or otherwise is None:
        return None
    x, best = compared
    search = best.producer
    is_best = isinstance(search.op, TopK11) and search.outputs[0] is best
    return (best, positions, otherwise) if is_best and search.inputs[0] is x else None


def _is_one(search: Node, known: Inference) -> bool:
    """Return whether a TopK finds one element."""
    count = search.inputs[1]
    number = None if count is None else known.constant(count)
    return number is not None and number.reshape(-1).tolist() == [1]
