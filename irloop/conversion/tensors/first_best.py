"""Finds ArgMax and ArgMin in the operations that IR has in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from irloop.analysis.operands import (
    inputs_of,
    integers_in,
    is_length_of,
    only_reader,
    single_number,
)
from irloop.dialects.onnx.comparison import Equal, Where
from irloop.dialects.onnx.elementwise import Sub
from irloop.dialects.onnx.generate import Range
from irloop.dialects.onnx.reduction import ReduceMin1, ReduceMin18
from irloop.dialects.onnx.search import ArgMax12, ArgMin12, TopK11
from irloop.dialects.onnx.shape import Squeeze13
from irloop.graph.builder import shape_of
from irloop.graph.inference import Inference
from irloop.graph.model import Node, Value
from irloop.graph.types import Dim
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["FuseFirstBest"]


class FuseFirstBest(NodePass):
    """Writes ArgMax or ArgMin in place of a search for the first of equal elements.

    Given::

        best, _ = TopK(x, 1)
        y = ReduceMin(Where(x == best, Range(0, n), n - 1))

    Result::

        y = ArgMax(x)

    In place of ReduceMin there may also be a second TopK. A Squeeze that removes the axis of `y` is
    not needed then.

    The other operand of Where may also be larger. They differ only where `x` has a NaN, of which
    ONNX does not say where it ranks.
    """

    name = "fuse_first_best"
    dialects = frozenset({"onnx"})
    operations = (ReduceMin1, ReduceMin18, Squeeze13, TopK11)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | tuple[Value, Value] | None:
        if isinstance(node.op, Squeeze13):
            kept = _kept(node)
            return None if kept is None else w(replace(kept[0], keepdims=False), kept[1])
        choice = _choice(node)
        if choice is None or any(value.is_used for value in node.outputs[1:]):
            return None
        best, positions, otherwise = choice
        known, search = w.inference, best.producer
        x, top = search.inputs[0], search.op
        assert x is not None
        assert isinstance(top, TopK11)
        dims, reduced = shape_of(x).dims, _reduced_axis(node, known)
        if dims is None or reduced is None or not _is_one(search, known):
            return None
        axis = top.axis % len(dims)
        if axis != reduced % len(dims):
            return None
        counted = inputs_of(positions, Range)
        if counted is None:
            is_position = _are_all(positions, otherwise, dims[axis], len(dims) - axis, known)
        else:
            is_position = axis == len(dims) - 1 and _is_counted(counted, otherwise, x, axis)
        if not is_position:
            return None
        kind = ArgMax12 if top.largest else ArgMin12
        if isinstance(node.op, TopK11):
            return w(kind(axis=axis), x), node.outputs[1]
        assert isinstance(node.op, ReduceMin1 | ReduceMin18)
        return w(kind(axis=axis, keepdims=node.op.keepdims), x)


def _kept(node: Node) -> tuple[ArgMax12 | ArgMin12, Value] | None:
    """Match a Squeeze of the axis that only it needs of ArgMax or ArgMin; return these."""
    place, axes = (*node.inputs, None)[:2]
    op = None if place is None else place.producer.op
    if place is None or not isinstance(op, ArgMax12 | ArgMin12) or only_reader(place) is None:
        return None
    x = place.producer.inputs[0]
    if not op.keepdims or x is None:
        return None
    rank = shape_of(x).rank
    is_same = rank is not None and [at % rank for at in integers_in(axes)] == [op.axis]
    return (op, x) if is_same else None


def _choice(node: Node) -> tuple[Value, Value, Value] | None:
    """Match the smallest of Where(x == TopK(x), p, n); return TopK(x), p and n."""
    op, candidates = node.op, node.inputs[0]
    if (isinstance(op, TopK11) and op.largest) or candidates is None:
        return None
    condition, positions, otherwise = inputs_of(candidates, Where) or (None, None, None)
    compared = None if condition is None else inputs_of(condition, Equal)
    if compared is None or positions is None or otherwise is None:
        return None
    x, best = compared
    search = best.producer
    is_best = isinstance(search.op, TopK11) and search.outputs[0] is best
    return (best, positions, otherwise) if is_best and search.inputs[0] is x else None


def _are_all(positions: Value, otherwise: Value, size: Dim, rank: int, known: Inference) -> bool:
    """Return whether constants are all positions below a size, and one that is not smaller."""
    order, last = known.constant(positions), known.constant(otherwise)
    if order is None or last is None or order.ndim != rank or order.dtype != np.int64:
        return False
    if order.size != size or not np.array_equal(order.reshape(-1), range(order.size)):
        return False
    return bool((last >= order.size - 1).all())


def _is_counted(counted: Sequence[Value], otherwise: Value, x: Value, axis: int) -> bool:
    """Return whether a Range has all positions along an axis, and `otherwise` is the last one."""
    start, stop, step = counted
    last = inputs_of(otherwise, Sub)
    if last is None or last[0] is not stop or not is_length_of(stop, x, axis):
        return False
    return (single_number(start), single_number(step), single_number(last[1])) == (0, 1, 1)


def _reduced_axis(node: Node, known: Inference) -> int | None:
    """The only axis of a ReduceMin, or that of a TopK of one element; else None."""
    op = node.op
    if isinstance(op, TopK11):
        return op.axis if _is_one(node, known) else None
    axes = op.axes if isinstance(op, ReduceMin1) else integers_in(node.inputs[1])
    return axes[0] if axes is not None and len(axes) == 1 else None


def _is_one(search: Node, known: Inference) -> bool:
    """Return whether a TopK finds one element."""
    count = search.inputs[1]
    number = None if count is None else known.constant(count)
    return number is not None and number.reshape(-1).tolist() == [1]
