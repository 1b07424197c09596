"""Converts the pooling of rotated regions, and of regions whose bins are shifted, to ONNX."""

from __future__ import annotations

from irloop.conversion.detection.roi import up_to_the_end
from irloop.conversion.detection.roi_samples import Maps, integer, maps_of, number_of, side
from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.dialects.onnx import comparison, elementwise
from irloop.dialects.openvino import roi as ov
from irloop.dialects.writing.sizes import Sizes
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, I64 = ElementType.F32, ElementType.I64


@exports(ov.ROIAlignRotated)
def export_align_rotated(
    c: Export, op: ov.ROIAlignRotated, data: Value, rois: Value, items: Value
) -> Value:
    """Write ROIAlignRotated: sample the bins of the rotated regions, and take the mean of each bin.

    A sample is interpolated from the four elements around it, which Gather reads.
    """
    maps = maps_of(c, data, items)
    scale = c.constant(op.spatial_scale, F32)
    x, y, wide, high = (c.multiply(number_of(c, rois, at), scale) for at in range(4))
    angle = number_of(c, rois, 4)
    if op.clockwise_mode:
        angle = c(elementwise.Neg(), angle)
    down = side(c, high, op.pooled_h, op.sampling_ratio, (1, 2), 0.0)
    along = side(c, wide, op.pooled_w, op.sampling_ratio, (3, 4), 0.0)
    cos, sin = c(elementwise.Cos(), angle), c(elementwise.Sin(), angle)
    half = c.constant(0.5, F32)
    place_y = c.subtract(c.multiply(down.place, cos), c.multiply(along.place, sin))
    place_x = c.add(c.multiply(down.place, sin), c.multiply(along.place, cos))
    place_y = c.subtract(c.add(place_y, y), half)
    place_x = c.subtract(c.add(place_x, x), half)
    values, _ = maps.read(c, place_y, place_x, 1.0)
    own = c.unsqueeze(c(comparison.And(), down.own, along.own), [-1])
    values = c.select(own, values, c.constant(0.0, F32))
    total = c.reduce("Sum", values, [2, 4], keep=False)
    number = c.multiply(down.count, along.count)
    number = c.maximum(number, c.constant(1.0, F32))
    mean = c.divide(total, c.reshape(number, [-1, 1, 1, 1]))
    return c.convert(c.transpose(mean, [0, 3, 1, 2]), element_of(data))


@exports(ov.DeformablePSROIPooling)
def export_deformable_psroi(
    c: Export,
    op: ov.DeformablePSROIPooling,
    data: Value,
    rois: Value,
    offsets: Value | None = None,
) -> Value:
    """Write DeformablePSROIPooling: sample the shifted bins, and take the mean of each bin.

    A sample is interpolated from the four elements around it, which Gather reads. Tensors of
    samples have the shape [R, output_dim, group, group, bins y, bins x].
    """
    sizes, group = Sizes(c), op.group_size
    _, channels, height, width = sizes.of(data, 4)
    numbers = [
        c.reshape(c.gather(c.convert(rois, F32), c.i64(at), 1), [-1, *[1] * 5]) for at in range(5)
    ]
    image = c.convert(numbers[0], I64)
    channel = c.i64(_channels(op.output_dim, group))
    start = c.add(c.multiply(image, integer(c, channels)), channel)
    first = c.multiply(c.maximum(start, c.i64(0)), integer(c, sizes.times(height, width)))
    x1, y1, x2, y2 = (_bound(c, op, number, at) for at, number in enumerate(numbers[1:]))
    least = c.constant(0.1, F32)
    wide, high = (c.maximum(c.subtract(end, begin), least) for begin, end in ((x1, x2), (y1, y2)))
    shifts = _shifts(c, op, offsets)
    y = _samples(c, y1, high, group, op.spatial_bins_y, shifts[1], 2)
    x = _samples(c, x1, wide, group, op.spatial_bins_x, shifts[0], 3)
    table = c.reshape(c.convert(data, F32), [-1])
    values, inside = Maps(table, first, height, width).read(c, y, x, 0.5)
    total = c.reduce("Sum", values, [4, 5], keep=False)
    number = c.reduce("Sum", inside, [4, 5], keep=False)
    mean = c.divide(total, c.maximum(number, c.constant(1.0, F32)))
    result = up_to_the_end(c, c.reshape(image, [-1, 1]), mean)
    return c.convert(result, element_of(data))


def _channels(outputs: int, group: int) -> object:
    """Return the channel of the feature map that each bin of each output channel reads.

    The result is [1, outputs, group, group, 1, 1]: axis 1 is the output channel, axes 2 and 3 are
    the row and column of the bin. Its elements count up from 0 in row-major order.
    """
    import numpy as np

    return np.arange(outputs * group * group).reshape(1, outputs, group, group, 1, 1)


def _bound(c: Export, op: ov.DeformablePSROIPooling, number: Value, position: int) -> Value:
    """Compute one bound of each region, in cells of the feature map.

    `number` is the bound in coordinates of the image. `position` tells which bound it is: 0 and 1
    are the low bounds of x and y, 2 and 3 their high bounds. The cell at a high bound belongs to
    the region.
    """
    half = c.constant(0.5, F32)
    size = c(elementwise.Floor(), c.add(c(elementwise.Abs(), number), half))
    rounded = c.multiply(c(elementwise.Sign(), number), size)
    if position >= 2:
        rounded = c.add(rounded, c.constant(1.0, F32))
    return c.subtract(c.multiply(rounded, c.constant(op.spatial_scale, F32)), half)


def _shifts(
    c: Export, op: ov.DeformablePSROIPooling, offsets: Value | None
) -> tuple[Value | None, Value | None]:
    """Emit the horizontal and the vertical offset of each bin, as fractions of the region.

    Both are None if the operation has no input for offsets.
    """
    import numpy as np

    if offsets is None:
        return None, None
    sizes, part, group = Sizes(c), op.part_size, op.group_size
    regions, numbers = sizes.of(offsets, 4)[:2]
    pairs = sizes.by(numbers, 2)
    wide = c.convert(offsets, F32)
    moves = c.reshape_to(wide, sizes.list([regions, pairs, 2, part, part]))
    moves = c.multiply(moves, c.constant(op.trans_std, F32))
    each = sizes.list([sizes.by(op.output_dim, pairs)])
    kinds = c.divide(c.i64(np.arange(op.output_dim)), each)
    moves = c.gather(moves, kinds, 1)
    own = c.i64(np.arange(group) * part // group)
    moves = c.gather(c.gather(moves, own, 3), own, 4)
    along, down = (c.gather(moves, c.i64(at), 2) for at in range(2))
    return c.unsqueeze(along, [4, 5]), c.unsqueeze(down, [4, 5])


def _samples(
    c: Export,
    start: Value,
    length: Value,
    group: int,
    bins: int,
    shift: Value | None,
    axis: int,
) -> Value:
    """Compute where to sample each region along one axis of the feature map.

    Sample b of group g is at start + length * (g / group + b / (group * bins)), plus shift * length
    if there is a shift. So there are `group` groups along the axis, with `bins` samples each.

    `start` and `length` hold a number for each region. In the result, dimension `axis` counts the
    groups, and dimension `axis` + 2 the samples of a group.
    """
    import numpy as np

    shapes = np.ones((2, 6), np.int64)
    shapes[0, axis], shapes[1, axis + 2] = group, bins
    share = np.arange(group).reshape(shapes[0]) / group
    share = share + np.arange(bins).reshape(shapes[1]) / (group * bins)
    place = c.add(start, c.multiply(length, c.constant(share, F32)))
    return place if shift is None else c.add(place, c.multiply(shift, length))
