"""Converts the pooling of rotated regions, and of regions whose bins are shifted, to ONNX."""

from __future__ import annotations

from irloop.conversion.detection.roi import up_to_the_end
from irloop.conversion.detection.roi_samples import Maps, integer, maps_of, number_of, side
from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.forms.sizes import OnnxSizes
from irloop.conversion.framework.translation import Conversion, exports
from irloop.dialects.onnx import comparison, elementwise
from irloop.dialects.openvino import roi as ov
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, I64 = ElementType.F32, ElementType.I64


@exports(ov.ROIAlignRotated)
def export_align_rotated(
    c: Conversion, op: ov.ROIAlignRotated, data: Value, rois: Value, items: Value
) -> Value:
    """Write ROIAlignRotated: sample the bins of the rotated regions, and take the mean of each bin.

    A sample is interpolated from the four elements around it, which Gather reads.
    """
    maps = maps_of(c, data, items)
    scale = c.constant(op.spatial_scale, F32)
    x, y, wide, high = (forms.multiply(c, number_of(c, rois, at), scale) for at in range(4))
    angle = number_of(c, rois, 4)
    if op.clockwise_mode:
        angle = c(elementwise.Neg(), angle)
    down = side(c, high, op.pooled_h, op.sampling_ratio, (1, 2), 0.0)
    along = side(c, wide, op.pooled_w, op.sampling_ratio, (3, 4), 0.0)
    cos, sin = c(elementwise.Cos(), angle), c(elementwise.Sin(), angle)
    half = c.constant(0.5, F32)
    place_y = forms.subtract(
        c, forms.multiply(c, down.place, cos), forms.multiply(c, along.place, sin)
    )
    place_x = forms.add(c, forms.multiply(c, down.place, sin), forms.multiply(c, along.place, cos))
    place_y = forms.subtract(c, forms.add(c, place_y, y), half)
    place_x = forms.subtract(c, forms.add(c, place_x, x), half)
    values, _ = maps.read(c, place_y, place_x, 1.0)
    own = forms.unsqueeze(c, c(comparison.And(), down.own, along.own), [-1])
    values = forms.select(c, own, values, c.constant(0.0, F32))
    total = forms.reduce(c, "Sum", values, [2, 4], keep=False)
    number = forms.multiply(c, down.count, along.count)
    number = forms.maximum(c, number, c.constant(1.0, F32))
    mean = forms.divide(c, total, forms.reshape(c, number, [-1, 1, 1, 1]))
    return forms.convert(c, forms.transpose(c, mean, [0, 3, 1, 2]), element_of(data))


@exports(ov.DeformablePSROIPooling)
def export_deformable_psroi(
    c: Conversion,
    op: ov.DeformablePSROIPooling,
    data: Value,
    rois: Value,
    offsets: Value | None = None,
) -> Value:
    """Write DeformablePSROIPooling: sample the shifted bins, and take the mean of each bin.

    A sample is interpolated from the four elements around it, which Gather reads. Tensors of
    samples have the shape [R, output_dim, group, group, bins y, bins x].
    """
    sizes, group = OnnxSizes(c), op.group_size
    _, channels, height, width = sizes.of(data, 4)
    numbers = [
        forms.reshape(c, forms.gather(c, forms.convert(c, rois, F32), c.i64(at), 1), [-1, *[1] * 5])
        for at in range(5)
    ]
    image = forms.convert(c, numbers[0], I64)
    channel = c.i64(_channels(op.output_dim, group))
    start = forms.add(c, forms.multiply(c, image, integer(c, channels)), channel)
    first = forms.multiply(
        c, forms.maximum(c, start, c.i64(0)), integer(c, sizes.times(height, width))
    )
    x1, y1, x2, y2 = (_bound(c, op, number, at) for at, number in enumerate(numbers[1:]))
    least = c.constant(0.1, F32)
    wide, high = (
        forms.maximum(c, forms.subtract(c, end, begin), least)
        for begin, end in ((x1, x2), (y1, y2))
    )
    shifts = _shifts(c, op, offsets)
    y = _samples(c, y1, high, group, op.spatial_bins_y, shifts[1], 2)
    x = _samples(c, x1, wide, group, op.spatial_bins_x, shifts[0], 3)
    table = forms.reshape(c, forms.convert(c, data, F32), [-1])
    values, inside = Maps(table, first, height, width).read(c, y, x, 0.5)
    total = forms.reduce(c, "Sum", values, [4, 5], keep=False)
    number = forms.reduce(c, "Sum", inside, [4, 5], keep=False)
    mean = forms.divide(c, total, forms.maximum(c, number, c.constant(1.0, F32)))
    result = up_to_the_end(c, forms.reshape(c, image, [-1, 1]), mean)
    return forms.convert(c, result, element_of(data))


def _channels(outputs: int, group: int) -> object:
    """Return the channel of the feature map that each bin of each output channel reads.

    The result is [1, outputs, group, group, 1, 1]: axis 1 is the output channel, axes 2 and 3 are
    the row and column of the bin. Its elements count up from 0 in row-major order.
    """
    import numpy as np

    return np.arange(outputs * group * group).reshape(1, outputs, group, group, 1, 1)


def _bound(c: Conversion, op: ov.DeformablePSROIPooling, number: Value, at: int) -> Value:
    """Compute one bound of each region, in cells of the feature map.

    `number` is the bound in coordinates of the image. `at` tells which bound it is: 0 and 1 are the
    low bounds of x and y, 2 and 3 their high bounds. The cell at a high bound belongs to the
    region.
    """
    half = c.constant(0.5, F32)
    size = c(elementwise.Floor(), forms.add(c, c(elementwise.Abs(), number), half))
    whole = forms.multiply(c, c(elementwise.Sign(), number), size)
    if at >= 2:
        whole = forms.add(c, whole, c.constant(1.0, F32))
    return forms.subtract(c, forms.multiply(c, whole, c.constant(op.spatial_scale, F32)), half)


def _shifts(
    c: Conversion, op: ov.DeformablePSROIPooling, offsets: Value | None
) -> tuple[Value | None, Value | None]:
    """Emit the horizontal and the vertical offset of each bin, as fractions of the region.

    Both are None if the operation has no input for offsets.
    """
    import numpy as np

    if offsets is None:
        return None, None
    sizes, part, group = OnnxSizes(c), op.part_size, op.group_size
    regions, numbers = sizes.of(offsets, 4)[:2]
    pairs = sizes.by(numbers, 2)
    wide = forms.convert(c, offsets, F32)
    moves = forms.reshape_to(c, wide, sizes.list([regions, pairs, 2, part, part]))
    moves = forms.multiply(c, moves, c.constant(op.trans_std, F32))
    each = sizes.list([sizes.by(op.output_dim, pairs)])
    kinds = forms.divide(c, c.i64(np.arange(op.output_dim)), each)
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
    place = forms.add(c, start, forms.multiply(c, length, c.constant(share, F32)))
    return place if shift is None else forms.add(c, place, forms.multiply(c, shift, length))
