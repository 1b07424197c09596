"""Rewrites OpenVINO operations as operations of older opsets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from irloop.dialects.openvino import (
    activation,
    comparison,
    convert,
    elementwise,
    gather,
    generate,
    nms,
    padding,
    pooling,
    prior_box,
    resize,
    roi,
    scatter,
    search,
    shape,
    slicing,
)
from irloop.dialects.writing.known_inputs import ints
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.openvino_node_writer import OpenVinoNodeWriter
from irloop.passes.options import option

__all__ = ["DowngradeOpset"]

#: A bound of a slice that is at least this large means the end of the axis.
OPEN = 2**31 - 1


class _Downgrade(OpenVinoNodeWriter):
    """Rewrites one node as operations of older opsets."""

    def __init__(self, node: Node, rewriter: MatchRewriter) -> None:
        super().__init__(rewriter, node, node.name)
        self.node = node

    @property
    def inputs(self) -> list[Value]:
        """The connected inputs."""
        return [value for value in self.node.inputs if value is not None]

    def relabel(self, op: Op) -> list[Value]:
        """Emit `op` in place of the node's operation, with the same inputs; return its outputs."""
        made = self.rewriter.insert(
            op, self.node.inputs, before=self.node, name=self.stem, n_outputs=op.n_outputs or 1
        )
        return list(made.outputs)


#: Returns a value for each output that is read, or None if the older opset cannot express the node.
Form = Callable[[_Downgrade], list[Value] | None]


def _gather(c: _Downgrade) -> list[Value] | None:
    op = c.node.op
    assert isinstance(op, gather.Gather8)
    data, indices, axis = c.inputs
    along, dims = ints(c, axis), shape_of(data).dims
    if along is None:
        return None
    size = None if dims is None else dims[along[0]]
    known = c.inference.constant(indices)
    element = element_of(indices)
    if known is None:
        length = _length(c, data, along[0], size, element)
        moved = c(elementwise.Add(), indices, length)
        negative = c(comparison.Less(), indices, c.constant(0, element))
        indices = c(comparison.Select(), negative, moved, indices)
    elif (known < 0).any():
        if not isinstance(size, int):
            return None
        indices = c.constant(known + size * (known < 0), element)
    return [c(gather.Gather7(op.batch_dims), data, indices, axis)]


def _length(c: _Downgrade, data: Value, axis: int, size: object, element: ElementType) -> Value:
    """Emit the length of an axis as a scalar of type `element`.

    If `size`, the declared length, is a number, the result is a constant.
    """
    if isinstance(size, int):
        return c.constant(size, element)
    lengths = c(shape.ShapeOf3(), data)
    length = c(gather.Gather7(), lengths, c.constant(axis), c.constant(0))
    return length if element is ElementType.I64 else c(convert.Convert(element), length)


def _gather_without_batch(c: _Downgrade) -> list[Value] | None:
    op = c.node.op
    assert isinstance(op, gather.Gather7)
    return c.relabel(gather.Gather()) if op.batch_dims == 0 else None


def _gather_nd(c: _Downgrade) -> list[Value] | None:
    op = c.node.op
    assert isinstance(op, gather.GatherND8)
    dims, coordinates = shape_of(c.node.output).static(), _coordinates(c, op.batch_dims)
    if coordinates is None or (op.batch_dims > 1 and dims is None):
        return None
    made = c(gather.GatherND(op.batch_dims), c.inputs[0], coordinates)
    if op.batch_dims <= 1:
        return [made]
    # The older version merges all batch axes into one, so they are restored.
    return [c(shape.Reshape(), made, c.constant(list(dims or ())))]


def _coordinates(c: _Downgrade, batch_dims: int) -> Value | None:
    """Return the indices of a GatherND; indices that may be negative are made non-negative.

    For this, the size of the axis is added to each negative index. Returns None if these
    sizes are needed, but are unknown.
    """
    data, indices = c.inputs
    known, element = c.inference.constant(indices), element_of(indices)
    if known is not None and not (known < 0).any():
        return indices
    dims, depth = shape_of(data).static(), shape_of(indices).dims
    if dims is None or depth is None or not isinstance(depth[-1], int):
        return None
    lengths = c.constant(list(dims[batch_dims : batch_dims + depth[-1]]), element)
    moved = c(elementwise.Add(), indices, lengths)
    negative = c(comparison.Less(), indices, c.constant(0, element))
    return c(comparison.Select(), negative, moved, indices)


def _slice(c: _Downgrade) -> list[Value] | None:
    data, *bounds = c.inputs
    rank = shape_of(data).rank
    given = ints(c, bounds[3]) if len(bounds) > 3 else None
    count = shape_of(bounds[0]).count()
    if rank is None or count is None or (len(bounds) > 3 and given is None):
        return None
    axes = [axis % rank for axis in (range(count) if given is None else given)]
    leading = list(range(max(axes, default=-1) + 1))
    begin, end, step = (ints(c, bound) for bound in bounds[:3])
    if begin is None or end is None or step is None:
        return _computed_slice(c, axes, leading)
    places = {axis: at for at, axis in enumerate(axes)}
    steps = [step[places[axis]] if axis in places else 1 for axis in leading]
    opens, closes, begins, ends = [], [], [], []
    for axis, stride in zip(leading, steps, strict=True):
        first = begin[places[axis]] if axis in places else 0
        last = end[places[axis]] if axis in places else OPEN
        opens.append(int(first >= OPEN if stride < 0 else first <= -OPEN))
        closes.append(int(last <= -OPEN if stride < 0 else last >= OPEN))
        begins.append(0 if opens[-1] else first)
        ends.append(0 if closes[-1] else last)
    op = slicing.StridedSlice(begin_mask=tuple(opens), end_mask=tuple(closes))
    return [c(op, data, *(c.constant(item) for item in (begins, ends, steps)))]


def _computed_slice(c: _Downgrade, axes: list[int], whole: list[int]) -> list[Value]:
    """Emit a StridedSlice for a Slice with computed bounds.

    A Slice lists bounds for `axes` only, and a StridedSlice lists bounds for all axes in `whole`.
    Therefore, each bound is moved to the position of its axis, and masks mark the axes that have no
    bounds.
    """
    masks = tuple(int(axis not in axes) for axis in whole)
    data, *bounds = c.inputs
    order = [axes.index(axis) if axis in axes else len(axes) for axis in whole]
    spread = []
    for bound, filler in zip(bounds[:3], (0, 0, 1), strict=True):
        element = element_of(bound)
        joined = c(slicing.Concat(0), bound, c.constant([filler], element))
        spread.append(c(gather.Gather(), joined, c.constant(order), c.constant(0)))
    op = slicing.StridedSlice(begin_mask=masks, end_mask=masks)
    return [c(op, data, *spread)]


def _softmax(c: _Downgrade) -> list[Value] | None:
    op, rank = c.node.op, shape_of(c.inputs[0]).rank
    assert isinstance(op, activation.SoftMax8)
    if op.axis < 0 and rank is None:
        return None
    return c.relabel(activation.SoftMax1(op.axis if rank is None else op.axis % rank))


def _max_pool(c: _Downgrade) -> list[Value] | None:
    op = c.node.op
    assert isinstance(op, pooling.MaxPool | pooling.MaxPool14)
    if set(op.dilations) - {1} or op.rounding_type == "ceil_torch":
        return None
    if any(value.is_used for value in c.node.outputs[1:]):
        return None
    older = pooling.MaxPool1(
        op.kernel_size, op.strides, op.pads_begin, op.pads_end, op.rounding_type, op.auto_pad
    )
    return [c(older, c.inputs[0])]


def _average_pool(c: _Downgrade) -> list[Value] | None:
    op = c.node.op
    assert isinstance(op, pooling.AvgPool14 | pooling.AvgPool16)
    spread = isinstance(op, pooling.AvgPool16) and set(op.dilations) - {1}
    if spread or op.rounding_type == "ceil_torch":
        return None
    older = pooling.AvgPool(
        op.kernel_size,
        op.strides,
        op.pads_begin,
        op.pads_end,
        op.rounding_type,
        op.auto_pad,
        op.exclude_pad,
    )
    return c.relabel(older)


def _interpolate(c: _Downgrade) -> list[Value] | None:
    """Write Interpolate-11 as Interpolate-4, which has separate inputs for sizes and scales.

    Interpolate-11 has a single input for both, and `shape_calculation_mode` tells which it holds.
    The other input of Interpolate-4 becomes a constant. Returns None if a shape is not static, if
    the axes are computed, or if the mode is one of Pillow's.
    """
    op = c.node.op
    assert isinstance(op, resize.Interpolate11)
    before, after = (shape_of(value).static() for value in (c.inputs[0], c.node.output))
    if op.mode.endswith("_pillow") or before is None or after is None:
        return None
    axes = ints(c, c.inputs[2]) if len(c.inputs) > 2 else list(range(len(before)))
    if axes is None:
        return None
    sizes = [after[axis] for axis in axes]
    padded = [*zip(op.pads_begin, op.pads_end, strict=False)]
    spans = [before[axis] + sum(padded[axis] if padded else ()) for axis in axes]
    scales = [size / span for size, span in zip(sizes, spans, strict=True)]
    target = c.inputs[1]
    by_size = op.shape_calculation_mode == "sizes"
    older = resize.Interpolate(
        op.mode,
        op.shape_calculation_mode,
        op.coordinate_transformation_mode,
        op.nearest_mode,
        op.antialias,
        op.pads_begin,
        op.pads_end,
        op.cube_coeff,
    )
    inputs = (
        target if by_size else c.constant(sizes),
        c.constant(scales, ElementType.F32) if by_size else target,
    )
    return [c(older, c.inputs[0], *inputs, c.constant(axes))]


def _pad(c: _Downgrade) -> list[Value] | None:
    op = c.node.op
    assert isinstance(op, padding.Pad12)
    known = [ints(c, value) for value in c.inputs[1:3]]
    if any(pads is None or min(pads, default=0) < 0 for pads in known):
        return None
    return c.relabel(padding.Pad(op.pad_mode))


def _prior_box(c: _Downgrade) -> list[Value] | None:
    op = c.node.op
    assert isinstance(op, prior_box.PriorBox8)
    if not op.min_max_aspect_ratios_order:
        return None
    older = prior_box.PriorBox(
        op.min_size,
        op.max_size,
        op.aspect_ratio,
        op.density,
        op.fixed_ratio,
        op.fixed_size,
        op.clip,
        op.flip,
        op.step,
        op.offset,
        op.variance,
        op.scale_all_sizes,
    )
    return c.relabel(older)


def _roi_align(c: _Downgrade) -> list[Value] | None:
    op = c.node.op
    assert isinstance(op, roi.ROIAlign9)
    if op.aligned_mode != "asymmetric":
        return None
    older = roi.ROIAlign(op.pooled_h, op.pooled_w, op.sampling_ratio, op.spatial_scale, op.mode)
    return c.relabel(older)


def _scatter_elements(c: _Downgrade) -> list[Value] | None:
    op = c.node.op
    assert isinstance(op, scatter.ScatterElementsUpdate12)
    return c.relabel(scatter.ScatterElementsUpdate()) if op.reduction == "none" else None


def _scatter_nd(c: _Downgrade) -> list[Value] | None:
    op = c.node.op
    assert isinstance(op, scatter.ScatterNDUpdate15)
    return c.relabel(scatter.ScatterNDUpdate()) if op.reduction == "none" else None


def _squeeze(c: _Downgrade) -> list[Value] | None:
    op = c.node.op
    assert isinstance(op, shape.Squeeze15)
    return None if op.allow_axis_skip else c.relabel(shape.Squeeze())


def _top_k(c: _Downgrade) -> list[Value] | None:
    op = c.node.op
    assert isinstance(op, search.TopK11)
    if op.stable:
        return None
    return c.relabel(search.TopK3(op.axis, op.mode, op.sort, op.index_element_type))


def _one_hot(c: _Downgrade) -> list[Value] | None:
    op = c.node.op
    assert isinstance(op, generate.OneHot16)
    if op.negative_indices_mode != "ignore_negative":
        return None
    return c.relabel(generate.OneHot(op.axis))


def _suppressed(c: _Downgrade) -> list[Value] | None:
    op = c.node.op
    assert isinstance(op, nms.NonMaxSuppression9)
    older = nms.NonMaxSuppression5(op.box_encoding, op.sort_result_descending, op.output_type)
    return c.relabel(older)


def _softsign(c: _Downgrade) -> list[Value] | None:
    (x,) = c.inputs
    one = c.constant(1, element_of(x))
    bound = c(elementwise.Add(), c(elementwise.Abs(), x), one)
    return [c(elementwise.Divide(), x, bound)]


def _is_nan(c: _Downgrade) -> list[Value] | None:
    (x,) = c.inputs
    return [c(comparison.NotEqual(), x, x)]


def _is_finite(c: _Downgrade) -> list[Value] | None:
    (x,) = c.inputs
    size, infinite = c(elementwise.Abs(), x), c.constant(np.inf, element_of(x))
    return [c(comparison.Less(), size, infinite)]


def _identity(c: _Downgrade) -> list[Value] | None:
    """Write Identity as Maximum(x, x), which OpenVINO's plugins do not remove.

    Booleans get a LogicalOr instead.
    """
    (x,) = c.inputs
    is_flag = element_of(x) is ElementType.BOOLEAN
    return [c(comparison.LogicalOr() if is_flag else elementwise.Maximum(), x, x)]


FORMS: dict[type[Op], Form] = {
    activation.SoftMax8: _softmax,
    activation.SoftSign: _softsign,
    comparison.IsFinite: _is_finite,
    comparison.IsNaN: _is_nan,
    convert.Identity: _identity,
    gather.Gather7: _gather_without_batch,
    gather.Gather8: _gather,
    gather.GatherND8: _gather_nd,
    generate.OneHot16: _one_hot,
    nms.NonMaxSuppression9: _suppressed,
    padding.Pad12: _pad,
    pooling.AvgPool14: _average_pool,
    pooling.AvgPool16: _average_pool,
    pooling.MaxPool: _max_pool,
    pooling.MaxPool14: _max_pool,
    prior_box.PriorBox8: _prior_box,
    resize.Interpolate11: _interpolate,
    roi.ROIAlign9: _roi_align,
    scatter.ScatterElementsUpdate12: _scatter_elements,
    scatter.ScatterNDUpdate15: _scatter_nd,
    search.TopK11: _top_k,
    shape.Squeeze15: _squeeze,
    slicing.Slice: _slice,
}


@dataclass(eq=False)
class DowngradeOpset(NodePass):
    """Replaces operations newer than an opset by equivalent ones that the opset contains.

    Given::

        y = Gather-8(x, indices, axis 1)    z = Slice-8(y, [1], [9], [2], axes [-1])

    Result (opset 7)::

        i = Select(indices < 0, indices + size of axis 1, indices)
        y = Gather-7(x, i, axis 1)          z = StridedSlice-1(y, [0, 1], [0, 9], [1, 2])

    Operations that use a feature without an equivalent are not replaced: negative padding, pooling
    with dilations or ceil_torch rounding, scattering with a reduction, stable sorting.
    """

    name = "downgrade_opset"
    dialects = frozenset({"openvino"})

    opset: int = option(7, "the newest opset to use; 7 is that of OpenVINO 2021.4")

    def __post_init__(self) -> None:
        self.operations = tuple(cls for cls in FORMS if cls.since > self.opset)

    def rewrite(self, node: Node, w: NodeWriter) -> list[Value] | None:
        values = FORMS[type(node.op)](_Downgrade(node, w.rewriter))
        if values is not None:
            w.rewriter.set_outputs(node, len(values))
        return values
