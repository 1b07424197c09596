"""Removes empty parts of Splits and Concats, which OpenVINO 2021.4 refuses."""

from __future__ import annotations

import numpy as np

from irloop.dialects.openvino.slicing import Concat, VariadicSplit
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type

__all__ = ["DropEmptyParts"]


class DropEmptyParts(MatcherPass):
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

    def pattern(self) -> Pattern:
        return wrap_type((VariadicSplit, Concat))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        if isinstance(node.op, Concat):
            return _joined_without_empty(node, rewriter)
        return _split_without_empty(node, rewriter)


def _is_empty(value: Value | None) -> bool:
    return value is not None and shape_of(value).count() == 0


def _joined_without_empty(node: Node, rewriter: MatchRewriter) -> bool:
    left = tuple(value for value in node.inputs if not _is_empty(value))
    if not left or len(left) == len(node.inputs):
        return False
    made = rewriter.insert(node.op, left, before=node, name=node.name)
    rewriter.replace_node(node, made.outputs)
    return True


def _split_without_empty(node: Node, rewriter: MatchRewriter) -> bool:
    data, axis, lengths = node.inputs
    known = None if lengths is None else rewriter.inference.constant(lengths)
    filled = [value for value in node.outputs if not _is_empty(value)]
    if known is None or lengths is None or not filled or len(filled) == len(node.outputs):
        return False
    emitter = Emitter(rewriter, node, node.name)
    kept = emitter.constant([known[value.index] for value in filled], element_of(lengths))
    split = rewriter.insert(
        node.op, (data, axis, kept), before=node, name=node.name, n_outputs=len(filled)
    )
    made = iter(split.outputs)
    rewriter.replace_node(
        node,
        [_empty(value, emitter) if _is_empty(value) else next(made) for value in node.outputs],
    )
    return True


def _empty(value: Value, emitter: Emitter) -> Value:
    """An empty constant with the shape and element type of `value`, to take its place."""
    return emitter.constant(np.zeros(shape_of(value).static() or (0,)), element_of(value))
