"""Removes empty parts of Splits and Concats, which OpenVINO 2021.4 refuses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irloop.dialects.openvino.slicing import Concat, VariadicSplit
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["DropEmptyParts"]


class DropEmptyParts(NodePass):
    """Removes empty outputs of VariadicSplits, and empty operands of Concats.

    Given::

        a, e = VariadicSplit(x [2,8], axis 1, [8, 0])
        y = Concat(f(a) [2,8], e [2,0])

    Result::

        a = VariadicSplit(x, axis 1, [8])
        y = Concat(f(a))

    An output or operand is removed only if it is known to have no elements; at least one always
    stays. Other readers of a removed output get an empty constant. OpenVINO 2021.4 refuses empty
    outputs and operands.
    """

    name = "drop_empty_parts"
    dialects = frozenset({"openvino"})
    operations = (VariadicSplit, Concat)

    def rewrite(self, node: Node, w: NodeWriter) -> Sequence[Value] | None:
        if isinstance(node.op, Concat):
            return _joined_without_empty(node, w)
        return _split_without_empty(node, w)


def _is_empty(value: Value | None) -> bool:
    return value is not None and shape_of(value).count() == 0


def _joined_without_empty(node: Node, w: NodeWriter) -> Sequence[Value] | None:
    left = [value for value in node.inputs if value is not None and not _is_empty(value)]
    if not left or len(left) == len(node.inputs):
        return None
    return [w(node.op, *left)]


def _split_without_empty(node: Node, w: NodeWriter) -> Sequence[Value] | None:
    data, axis, lengths = node.inputs
    known = None if lengths is None else w.rewriter.inference.constant(lengths)
    filled = [value for value in node.outputs if not _is_empty(value)]
    if known is None or lengths is None or not filled or len(filled) == len(node.outputs):
        return None
    kept = w.constant([known[value.index] for value in filled], element_of(lengths))
    split = w.rewriter.insert(
        node.op, (data, axis, kept), before=node, name=node.name, n_outputs=len(filled)
    )
    made = iter(split.outputs)
    return [_empty(value, w) if _is_empty(value) else next(made) for value in node.outputs]


def _empty(value: Value, w: NodeWriter) -> Value:
    """An empty constant with the shape and element type of `value`, to take its place."""
    return w.constant(np.zeros(shape_of(value).static() or (0,)), element_of(value))
