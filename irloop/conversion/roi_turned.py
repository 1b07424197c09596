"""Regions in ONNX that are turned or whose bins move: four elements gathered for each sample."""

from __future__ import annotations

from dataclasses import dataclass

from irloop.conversion import onnx_forms as forms
from irloop.conversion.boxes import at_least, places
from irloop.conversion.framework import Conversion, exports
from irloop.conversion.roi import up_to_the_end
from irloop.conversion.sizes import OnnxSizes, Size
from irloop.dialects.onnx import comparison, elementwise
from irloop.dialects.openvino import roi as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, I64 = ElementType.F32, ElementType.I64


@dataclass(frozen=True, slots=True)
class _Maps:
    """Feature maps as a list of elements, [P] or with channels at its end, [P, C].

    `first` is where the map of each sample starts.
    """

    table: Value
    first: Value
    height: Size
    width: Size

    def read(self, c: Conversion, y: Value, x: Value, margin: float) -> tuple[Value, Value]:
        """Values at places that broadcast, 0 where they are more than `margin` outside.

        Also 1 for each sample that is inside, else 0.
        """
        inside = c(
            comparison.And(),
            _inside(c, y, self.height, margin),
            _inside(c, x, self.width, margin),
        )
        share = forms.cast(c, inside, F32)
        rows, columns = _corners(c, y, self.height), _corners(c, x, self.width)
        total: Value | None = None
        for row, down in rows:
            start = forms.add(c, forms.mul(c, row, _integer(c, self.width)), self.first)
            for column, along in columns:
                weight = forms.mul(c, forms.mul(c, down, along), share)
                found = forms.gather(c, self.table, forms.add(c, start, column), 0)
                if shape_of(self.table).rank == 2:
                    weight = forms.unsqueeze(c, weight, [-1])
                part = forms.mul(c, found, weight)
                total = part if total is None else forms.add(c, total, part)
        assert total is not None, "there are four corners"
        return total, share


def _integer(c: Conversion, size: Size) -> Value:
    return c.i64(size) if isinstance(size, int) else size


def _number(c: Conversion, size: Size) -> Value:
    return c.constant(float(size), F32) if isinstance(size, int) else forms.cast(c, size, F32)


def _inside(c: Conversion, place: Value, size: Size, margin: float) -> Value:
    """True from `margin` before the first element to as much behind the last."""
    last = forms.add(c, _number(c, size), c.constant(margin - 1.0, F32))
    low = at_least(c, place, c.constant(-margin, F32))
    return c(comparison.And(), low, at_least(c, last, place))


def _corners(c: Conversion, place: Value, size: Size) -> list[tuple[Value, Value]]:
    """The two elements around each place moved inside, and their weights."""
    last = forms.sub(c, _number(c, size), c.constant(1.0, F32))
    bounded = forms.minimum(c, forms.maximum(c, place, c.constant(0.0, F32)), last)
    low = c(elementwise.Floor(), bounded)
    share = forms.sub(c, bounded, low)
    high = forms.minimum(c, forms.add(c, low, c.constant(1.0, F32)), last)
    rest = forms.sub(c, c.constant(1.0, F32), share)
    return [(forms.cast(c, low, I64), rest), (forms.cast(c, high, I64), share)]


@exports(ov.ROIAlignRotated)
def export_align_rotated(
    c: Conversion, op: ov.ROIAlignRotated, data: Value, rois: Value, items: Value
) -> Value:
    """ROIAlignRotated -> Gather of the elements around each sample, and their mean."""
    if c.opset < 11:
        raise c.refuse("its samples are a Range, which ONNX has since opset 11", opset=11)
    sizes = OnnxSizes(c)
    _, channels, height, width = sizes.of(data, 4)
    by_place = forms.transpose(c, forms.cast(c, data, F32), [0, 2, 3, 1])
    table = forms.reshape_to(c, by_place, sizes.list([-1, channels]))
    area = _integer(c, sizes.times(height, width))
    first = forms.mul(c, forms.reshape(c, forms.as_i64(c, items), [-1, 1, 1, 1, 1]), area)
    scale = c.constant(op.spatial_scale, F32)
    x, y, wide, high = (forms.mul(c, _number_of(c, rois, at), scale) for at in range(4))
    angle = _number_of(c, rois, 4)
    if op.clockwise_mode:
        angle = c(elementwise.Neg(), angle)
    along, across, columns = _steps(c, wide, op.pooled_w, op.sampling_ratio, [1, 1, 1, -1, 1], 4)
    down, over, rows = _steps(c, high, op.pooled_h, op.sampling_ratio, [1, -1, 1, 1, 1], 2)
    cos, sin = c(elementwise.Cos(), angle), c(elementwise.Sin(), angle)
    half = c.constant(0.5, F32)
    place_y = forms.sub(c, forms.mul(c, down, cos), forms.mul(c, along, sin))
    place_x = forms.add(c, forms.mul(c, down, sin), forms.mul(c, along, cos))
    place_y = forms.sub(c, forms.add(c, place_y, y), half)
    place_x = forms.sub(c, forms.add(c, place_x, x), half)
    values, _ = _Maps(table, first, height, width).read(c, place_y, place_x, 1.0)
    counted = forms.unsqueeze(c, forms.mul(c, columns, rows), [-1])
    total = forms.reduce(c, "Sum", forms.mul(c, values, counted), [2, 4], keep=False)
    number = forms.maximum(c, forms.mul(c, across, over), c.constant(1.0, F32))
    mean = forms.div(c, total, forms.reshape(c, number, [-1, 1, 1, 1]))
    return forms.cast(c, forms.transpose(c, mean, [0, 3, 1, 2]), element_of(data))


def _number_of(c: Conversion, rois: Value, at: int) -> Value:
    """One of the numbers of each region, [R, 1, 1, 1, 1]."""
    own = forms.gather(c, forms.cast(c, rois, F32), c.i64(at), 1)
    return forms.reshape(c, own, [-1, 1, 1, 1, 1])


def _steps(
    c: Conversion, length: Value, bins: int, ratio: int, shape: list[int], axis: int
) -> tuple[Value, Value, Value]:
    """Places of samples from the middle of a side, how many a bin has, and 1 for each of them.

    Bins are along the axis of -1 in `shape`, the samples of a bin along `axis`. Without a ratio
    there is about one an element, and those of the region with most of them count for all.
    """
    if ratio:
        count = c.constant([[[[[float(ratio)]]]]], F32)
        most: Size = ratio
    else:
        count = c(elementwise.Ceil(), forms.div(c, length, c.constant(float(bins), F32)))
        count = forms.maximum(c, count, c.constant(0.0, F32))
        whole = forms.concat(c, [forms.reshape(c, count, [-1]), c.constant([1.0], F32)], 0)
        most = forms.cast(c, forms.reduce(c, "Max", whole, [0]), I64)
    samples = [1] * 5
    samples[axis] = -1
    sample = forms.reshape(c, places(c, most, F32), samples)
    index = forms.reshape(c, c.constant([float(place) for place in range(bins)], F32), shape)
    place = forms.add(c, forms.add(c, forms.mul(c, index, count), sample), c.constant(0.5, F32))
    total = forms.maximum(
        c, forms.mul(c, count, c.constant(float(bins), F32)), c.constant(1.0, F32)
    )
    share = forms.sub(c, forms.div(c, place, total), c.constant(0.5, F32))
    own = forms.cast(c, forms.less(c, sample, count), F32)
    return forms.mul(c, share, length), count, own


@exports(ov.DeformablePSROIPooling)
def export_deformable_psroi(
    c: Conversion,
    op: ov.DeformablePSROIPooling,
    data: Value,
    rois: Value,
    offsets: Value | None = None,
) -> Value:
    """DeformablePSROIPooling -> Gather of the elements around each sample, and their mean.

    Samples are [R, output_dim, group, group, bins y, bins x].
    """
    sizes, group = OnnxSizes(c), op.group_size
    _, channels, height, width = sizes.of(data, 4)
    numbers = [
        forms.reshape(c, forms.gather(c, forms.cast(c, rois, F32), c.i64(at), 1), [-1, *[1] * 5])
        for at in range(5)
    ]
    item = forms.cast(c, numbers[0], I64)
    channel = c.i64(_channels(op.output_dim, group))
    start = forms.add(c, forms.mul(c, item, _integer(c, channels)), channel)
    first = forms.mul(c, forms.maximum(c, start, c.i64(0)), _integer(c, sizes.times(height, width)))
    x1, y1, x2, y2 = (_bound(c, op, number, at) for at, number in enumerate(numbers[1:]))
    least = c.constant(0.1, F32)
    wide, high = (
        forms.maximum(c, forms.sub(c, end, begin), least) for begin, end in ((x1, x2), (y1, y2))
    )
    shifts = _shifts(c, op, offsets)
    y = _samples(c, y1, high, group, op.spatial_bins_y, shifts[1], 2)
    x = _samples(c, x1, wide, group, op.spatial_bins_x, shifts[0], 3)
    table = forms.reshape(c, forms.cast(c, data, F32), [-1])
    values, inside = _Maps(table, first, height, width).read(c, y, x, 0.5)
    total = forms.reduce(c, "Sum", values, [4, 5], keep=False)
    number = forms.reduce(c, "Sum", inside, [4, 5], keep=False)
    mean = forms.div(c, total, forms.maximum(c, number, c.constant(1.0, F32)))
    result = up_to_the_end(c, forms.reshape(c, item, [-1, 1]), mean)
    return forms.cast(c, result, element_of(data))


def _channels(outputs: int, group: int) -> object:
    """The channel that each bin reads."""
    import numpy as np

    return np.arange(outputs * group * group).reshape(1, outputs, group, group, 1, 1)


def _bound(c: Conversion, op: ov.DeformablePSROIPooling, number: Value, at: int) -> Value:
    """A bound of the region in elements of the map; the last element counts."""
    half = c.constant(0.5, F32)
    size = c(elementwise.Floor(), forms.add(c, c(elementwise.Abs(), number), half))
    whole = forms.mul(c, c(elementwise.Sign(), number), size)
    if at >= 2:
        whole = forms.add(c, whole, c.constant(1.0, F32))
    return forms.sub(c, forms.mul(c, whole, c.constant(op.spatial_scale, F32)), half)


def _shifts(
    c: Conversion, op: ov.DeformablePSROIPooling, offsets: Value | None
) -> tuple[Value | None, Value | None]:
    """How far each bin moves along and down, as a share of the region."""
    import numpy as np

    if offsets is None:
        return None, None
    sizes, part, group = OnnxSizes(c), op.part_size, op.group_size
    regions, numbers = sizes.of(offsets, 4)[:2]
    pairs = sizes.by(numbers, 2)
    wide = forms.cast(c, offsets, F32)
    moves = forms.reshape_to(c, wide, sizes.list([regions, pairs, 2, part, part]))
    moves = forms.mul(c, moves, c.constant(op.trans_std, F32))
    each = sizes.list([sizes.by(op.output_dim, pairs)])
    kinds = forms.div(c, c.i64(np.arange(op.output_dim)), each)
    moves = forms.gather(c, moves, kinds, 1)
    own = c.i64(np.arange(group) * part // group)
    moves = forms.gather(c, forms.gather(c, moves, own, 3), own, 4)
    along, down = (forms.gather(c, moves, c.i64(at), 2) for at in range(2))
    return forms.unsqueeze(c, along, [4, 5]), forms.unsqueeze(c, down, [4, 5])


def _samples(
    c: Conversion,
    start: Value,
    length: Value,
    group: int,
    bins: int,
    shift: Value | None,
    axis: int,
) -> Value:
    """Places on one axis, bins along `axis`, samples along the second axis behind it."""
    import numpy as np

    shapes = np.ones((2, 6), np.int64)
    shapes[0, axis], shapes[1, axis + 2] = group, bins
    share = np.arange(group).reshape(shapes[0]) / group
    share = share + np.arange(bins).reshape(shapes[1]) / (group * bins)
    place = forms.add(c, start, forms.mul(c, length, c.constant(share, F32)))
    return place if shift is None else forms.add(c, place, forms.mul(c, shift, length))
