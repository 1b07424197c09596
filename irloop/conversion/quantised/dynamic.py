"""Replaces the arithmetic of a dynamic quantisation by DynamicQuantizeLinear.

A dynamic quantisation computes scale and zero point from the range of the values.
"""

from __future__ import annotations

from irloop.analysis.operands import inputs_of, single_number
from irloop.dialects.classes import classes_of
from irloop.dialects.onnx.activation import Clip11
from irloop.dialects.onnx.comparison import Equal, Where
from irloop.dialects.onnx.convert import Cast6
from irloop.dialects.onnx.elementwise import Add, Div, Max, Min, Round, Sub
from irloop.dialects.onnx.quantize import DynamicQuantizeLinear
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Op
from irloop.graph.record import Record
from irloop.graph.types import ElementType
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter
from irloop.passes.onnx_node_writer import OnnxNodeWriter

__all__ = ["DynamicRanges"]

_REDUCE_MAX = classes_of("ReduceMax")
_REDUCE_MIN = classes_of("ReduceMin")


class DynamicRanges(NodePass):
    """Replaces the arithmetic of a dynamic quantisation by DynamicQuantizeLinear.

    Given::

        low = Min(ReduceMin(x), 0)    high = Max(ReduceMax(x), 0)    d = (high - low) / 255
        s = Where(d == 0, 1, d)       z = Clip(Round(-low / s), 0, 255)
        c = Clip(Round(x / s) + z, 0, 255)

    Result::

        codes, s, zero = DynamicQuantizeLinear(x)    z = Cast(zero, f32)    c = Cast(codes, f32)

    The results are equal, except for NaN and for subnormal numbers that become 0 when divided by
    255.
    """

    name = "dynamic_ranges"
    dialects = frozenset({"onnx"})
    operations = (Clip11,)

    def rewrite(self, node: Node, w: NodeWriter) -> None:
        parts, rewriter = _found(node.output), w.rewriter
        if parts is None:
            return
        # Everything that reads the scale comes after the Where that selects it.
        before = parts.scale.producer
        made = rewriter.insert(
            DynamicQuantizeLinear(), (parts.x,), before=before, name=before.name, n_outputs=3
        )
        codes, scale, zero = made.outputs
        emitter = OnnxNodeWriter(rewriter, before, before.name, w.opset)
        wide = [emitter(Cast6(ElementType.F32), value) for value in (codes, zero)]
        replaced = {node: wide[0], parts.zero.producer: wide[1], before: scale}
        read = [item.producer for old in replaced for item in old.inputs if item is not None]
        for old, value in replaced.items():
            rewriter.replace_node(old, [value])
        rewriter.erase_unread(item for item in read if item not in replaced)


class _Dynamic(Record):
    """Values of a quantisation whose scale is computed at run time.

    `x` is the data, `scale` the scale, and `zero` the zero point, in f32.
    """

    x: Value
    scale: Value
    zero: Value


def _found(codes: Value) -> _Dynamic | None:
    """Recognise a dynamic quantisation of f32 data; return its data, scale and zero point.

    `codes` are the quantised integers, stored as f32 numbers from 0 to 255. Returns None if they
    are not the result of a dynamic quantisation.
    """
    limited = _limited(codes)
    total = None if limited is None else inputs_of(limited, Add)
    if total is None or element_of(codes) is not ElementType.F32:
        return None
    ratio, unlimited = _rounded_ratio(total[0]), _limited(total[1])
    offset = None if unlimited is None else _rounded_ratio(unlimited)
    if ratio is None or offset is None or ratio[1] is not offset[1]:
        return None
    x, scale = ratio
    step = _step_of(scale)
    low = None if step is None else _lowest(step, x)
    negated = inputs_of(offset[0], Sub)
    if low is None or negated is None:
        return None
    if single_number(negated[0]) != 0 or negated[1] is not low:
        return None
    return _Dynamic(x, scale, total[1])


def _limited(value: Value) -> Value | None:
    """Return x if `value` is Clip(x, 0, 255), else None."""
    clip = inputs_of(value, Clip11)
    if clip is None or [single_number(item) for item in clip[1:]] != [0, 255]:
        return None
    return clip[0]


def _rounded_ratio(value: Value) -> tuple[Value, Value] | None:
    """x and y if `value` is Round(x / y), else None."""
    rounded = inputs_of(value, Round)
    ratio = None if rounded is None else inputs_of(rounded[0], Div)
    return None if ratio is None else (ratio[0], ratio[1])


def _step_of(scale: Value) -> Value | None:
    """Return d if `scale` is computed as Where(d == 0, 1, d), else None."""
    choice = inputs_of(scale, Where)
    test = None if choice is None else inputs_of(choice[0], Equal)
    if choice is None or test is None or single_number(choice[1]) != 1:
        return None
    is_zero = test[0] is choice[2] and single_number(test[1]) == 0
    return choice[2] if is_zero else None


def _lowest(step: Value, x: Value) -> Value | None:
    """Return `low` if `step` is (high - low) / 255, else None.

    `low` is Min(ReduceMin(x), 0), and high is Max(ReduceMax(x), 0).
    """
    ratio = inputs_of(step, Div)
    span = None if ratio is None else inputs_of(ratio[0], Sub)
    if ratio is None or span is None or single_number(ratio[1]) != 255:
        return None
    ends = (_extreme(span[0], Max, _REDUCE_MAX), _extreme(span[1], Min, _REDUCE_MIN))
    return span[1] if ends == (x, x) else None


def _extreme(value: Value, op: type[Op], reduction: tuple[type[Op], ...]) -> Value | None:
    """Return x if `value` is ``op(reduction(x), 0)`` over all elements of x, else None.

    For example, `op` is Max, `reduction` holds the versions of ReduceMax, and `value` is computed
    by Max(ReduceMax(x), 0).
    """
    ends = inputs_of(value, op)
    if ends is None or len(ends) != 2 or single_number(ends[1]) != 0:
        return None
    node = ends[0].producer
    is_whole = isinstance(node.op, reduction) and shape_of(ends[0]).rank == 0
    return node.inputs[0] if is_whole else None
