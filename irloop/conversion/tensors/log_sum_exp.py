"""Finds ReduceLogSumExp in the operations that IR has in its place."""

from __future__ import annotations

import math

from irloop.analysis.operands import axes_of, inputs_of, single_number
from irloop.dialects.onnx.comparison import Equal, Where
from irloop.dialects.onnx.elementwise import Abs, Add, Exp, Log, Sub
from irloop.dialects.onnx.reduction import (
    ByAttribute,
    ReduceLogSumExp1,
    ReduceLogSumExp18,
    ReduceMax1,
    ReduceMax18,
    ReduceSum1,
    ReduceSum13,
)
from irloop.graph.builder import shape_of
from irloop.graph.inference import Inference
from irloop.graph.model import Node, Value
from irloop.passes.common.identity_elimination import SQUEEZES
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter

__all__ = ["FuseLogSumExp"]


class FuseLogSumExp(NodePass):
    """Writes ReduceLogSumExp in place of its decomposition.

    Given::

        m = ReduceMax(x)    p = Where(Abs(m) == infinity, 0, m)
        y = Log(ReduceSum(Exp(x - p))) + p

    Result::

        y = ReduceLogSumExp(x)

    The maximum keeps the reduced axes. If the sum does not, a Squeeze comes before the maximum is
    added. Without a guard against an infinite maximum the results would not be the same.
    """

    name = "fuse_log_sum_exp"
    dialects = frozenset({"onnx"})
    operations = (Add,)

    def rewrite(self, node: Node, w: NodeWriter) -> Value | None:
        total, added = _total(node) or (None, None)
        powers = None if total is None else _operand(total.inputs[0], Exp)
        difference = None if powers is None else inputs_of(powers, Sub)
        if total is None or added is None or difference is None:
            return None
        x, subtracted = difference
        known = w.rewriter.inference
        axes, keep = _axes(total, known)
        peak = _peak(subtracted, x)
        if axes is None or peak is None or _axes(peak, known) != (axes, True):
            return None
        if added is not subtracted and (keep or not _is_squeezed(added, subtracted, axes, known)):
            return None
        by_attribute = isinstance(peak.op, ByAttribute)
        op = ReduceLogSumExp1(axes, keep) if by_attribute else ReduceLogSumExp18(keep)
        made = w.rewriter.insert(op, (x, *peak.inputs[1:]), before=node, name=node.name)
        return made.output


def _total(node: Node) -> tuple[Node, Value] | None:
    """Match Log(ReduceSum(...)) + p; return the ReduceSum and p."""
    left, right = inputs_of(node.output, Add) or (None, None)
    for log, added in ((left, right), (right, left)):
        total = _operand(log, Log)
        if total is not None and isinstance(total.producer.op, ReduceSum1 | ReduceSum13):
            assert added is not None
            return total.producer, added
    return None


def _operand(value: Value | None, op: type[Abs | Exp | Log]) -> Value | None:
    """The operand of the `op` that computes `value`; None for any other value."""
    node = None if value is None else value.producer
    return None if node is None or not isinstance(node.op, op) else node.inputs[0]


def _peak(value: Value, x: Value) -> Node | None:
    """Match Where(Abs(m) == infinity, 0, m), where m = ReduceMax(x); return the ReduceMax."""
    condition, zero, peak = inputs_of(value, Where) or (None, None, None)
    if condition is None or peak is None or single_number(zero) != 0:
        return None
    node = peak.producer
    compared = inputs_of(condition, Equal)
    if compared is None or not isinstance(node.op, ReduceMax1 | ReduceMax18):
        return None
    is_guarded = _operand(compared[0], Abs) is peak and single_number(compared[1]) == math.inf
    return node if is_guarded and node.inputs[0] is x else None


def _is_squeezed(value: Value, wide: Value, axes: tuple[int, ...], inference: Inference) -> bool:
    """Return whether `value` is `wide` without the axes."""
    node = value.producer
    if not isinstance(node.op, SQUEEZES) or node.inputs[0] is not wide:
        return False
    rank, squeezed = shape_of(wide).rank or 1, _axes(node, inference)[0] or ()
    return {axis % rank for axis in squeezed} == {axis % rank for axis in axes}


def _axes(node: Node, inference: Inference) -> tuple[tuple[int, ...] | None, bool]:
    """The reduced axes, None if they are not known, and whether they are kept."""
    axes = axes_of(node, inference.constant)
    return None if axes is None else tuple(axes), bool(getattr(node.op, "keepdims", True))
