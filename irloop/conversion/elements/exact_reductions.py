"""Reduces large integers exactly in OpenVINO, whose CPU plugin reduces them in f32."""

from __future__ import annotations

from irloop.dialects.openvino.gather import Gather8
from irloop.dialects.openvino.padding import Pad
from irloop.dialects.openvino.reduction import ReduceMax, ReduceMin, ReduceSum, Reduction
from irloop.dialects.openvino.search import CumSum, TopK3
from irloop.dialects.openvino.shape import Squeeze
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.hazards.large_integers import is_reduced_in_f32
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["ReduceExactly", "is_reduced_by_rounding"]


class ReduceExactly(MatcherPass):
    """Writes sums of large integers as running sums, and maxima and minima as TopK.

    Given::

        y = ReduceSum(x [N, 5], 1)    z = ReduceMax(x [N, 5], 1)

    Result::

        y = Squeeze(Gather(CumSum(x, 1), Const [-1], 1), 1)
        z = Squeeze(TopK(x, 1, axis=1), 1)

    OpenVINO reduces in f32 (hazard OVN159), but computes running sums and TopK exactly. An axis of
    unknown size may be empty, so a zero is appended to it before its running sum. Other reductions
    are not supported, nor are unsigned integers: from 2^31 on, OpenVINO takes them for negative.
    """

    name = "reduce_exactly"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(
            (ReduceSum, ReduceMax, ReduceMin), where=producer_is(is_reduced_by_rounding)
        )

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        op, result, axes = node.op, node.inputs[0], _axes(node)
        assert isinstance(op, Reduction)
        assert result is not None
        assert axes is not None
        emitter = Emitter(rewriter, node, node.name)
        for axis in axes:
            if isinstance(op, ReduceSum):
                result = _total(emitter, result, axis)
            else:
                result = _extreme(emitter, op, result, axis)
        if not op.keep_dims:
            result = emitter.emit(Squeeze(), result, emitter.constant(axes))
        rewriter.replace_node(node, [result])
        return True


def _total(emitter: Emitter, value: Value, axis: int) -> Value:
    """Emit the sum of `value` along `axis`, which stays as an axis of size 1."""
    shape = shape_of(value)
    if not isinstance(shape.dim(axis), int):
        assert shape.rank is not None, "the reduction has axes of known positions"
        none = emitter.constant([0] * shape.rank)
        one = emitter.constant([int(at == axis) for at in range(shape.rank)])
        value = emitter.emit(Pad(), value, none, one, emitter.constant(0, element_of(value)))
    place = emitter.constant(axis)
    return emitter.emit(
        Gather8(), emitter.emit(CumSum(), value, place), emitter.constant([-1]), place
    )


def _extreme(emitter: Emitter, op: Reduction, value: Value, axis: int) -> Value:
    """Emit the maximum or minimum of `value` along `axis`, which stays as an axis of size 1."""
    mode = "max" if isinstance(op, ReduceMax) else "min"
    topk = TopK3(axis=axis, mode=mode, sort="value")
    return emitter.rewriter.insert(
        topk,
        (value, emitter.constant(1)),
        before=emitter.before,
        name=f"{emitter.stem}/TopK",
        n_outputs=2,
    ).outputs[0]


def is_reduced_by_rounding(node: Node) -> bool:
    """True for a reduction that the pass `ReduceExactly` changes."""
    if not isinstance(node.op, ReduceSum | ReduceMax | ReduceMin) or not is_reduced_in_f32(node):
        return False
    data, axes = node.inputs[0], _axes(node)
    if data is None or not axes or element_of(data) not in (ElementType.I32, ElementType.I64):
        return False
    sizes = [shape_of(data).dim(axis) for axis in axes]
    if 0 in sizes:
        return False
    return isinstance(node.op, ReduceSum) or all(isinstance(size, int) for size in sizes)


def _axes(node: Node) -> list[int] | None:
    """The axes of a reduction; None if they or the rank of the data are not known."""
    data, axes = node.inputs
    rank = None if data is None else shape_of(data).rank
    if rank is None or axes is None or not isinstance(axes.producer.op, Constant):
        return None
    return sorted({int(axis) % rank for axis in axes.producer.op.tensor.numpy().reshape(-1)})
