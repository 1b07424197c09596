"""Converts the pooling and alignment of regions of interest, in both directions."""

from __future__ import annotations

from typing import Any

from irloop.conversion.detection import roi_samples
from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.forms import openvino_forms as ov_forms
from irloop.conversion.forms.scores import places
from irloop.conversion.forms.sizes import OnnxSizes, Size
from irloop.conversion.framework.translation import Conversion, exports, imports
from irloop.conversion.neural.sampling import export_grid_sample
from irloop.conversion.tensors.einsum import einsum
from irloop.dialects.onnx import comparison, elementwise, search
from irloop.dialects.onnx import pooling as onnx_pooling
from irloop.dialects.onnx import roi as onnx
from irloop.dialects.openvino import roi as ov
from irloop.dialects.openvino.sampling import GridSample
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["up_to_the_end"]

F32 = ElementType.F32


@exports(ov.ROIPooling)
def export_roi_pooling(c: Conversion, op: ov.ROIPooling, data: Value, rois: Value) -> Value:
    """Write ROIPooling as MaxRoiPool, or as GridSample for the method bilinear."""
    if op.method.lower() == "bilinear":
        # Sample the item of each region at a grid from corner to corner; 0 outside the map.
        item, *corners = _columns(c, rois)
        sampled = _sampled(c, op.size(), _items(c, data, item), corners)
        return up_to_the_end(c, item, sampled)
    item, *box = _columns(c, rois)
    known = forms.concat(c, [forms.maximum(c, item, forms.scalar(c, 0.0, rois)), *box], 1)
    return up_to_the_end(c, item, c(onnx.MaxRoiPool(op.size(), op.spatial_scale), data, known))


def _columns(c: Conversion, rois: Value) -> list[Value]:
    """The columns item, x1, y1, x2 and y2 of the regions, [R, 1] each."""
    return [forms.gather(c, rois, c.i64([at]), 1) for at in range(5)]


def up_to_the_end(c: Conversion, item: Value, result: Value) -> Value:
    """Set the rows of `result` [R, ., ., .] to 0 from the first negative number in `item` on.

    `item` [R, 1] holds the batch item of each region; a negative number ends the list of regions.

    Raises:
        RefusedError: before opset 11.
    """
    if c.opset < 11:
        raise c.refuse("ONNX has CumSum since opset 11", opset=11)
    end = forms.convert(c, forms.less(c, item, forms.scalar(c, 0.0, item)), ElementType.I64)
    ended = forms.less(c, c.i64(0), c(search.CumSum(), end, c.i64(0)))
    return forms.select(c, forms.unsqueeze(c, ended, [2, 3]), forms.scalar(c, 0.0, result), result)


def _items(c: Conversion, data: Value, item: Value) -> Value:
    """For each region, the feature maps of its batch item: [R, C, H, W].

    `item` holds the number of the batch item of each region; negative numbers count as 0.
    """
    index = forms.reshape(c, forms.convert(c, item, ElementType.I64), [-1])
    return forms.gather(c, data, forms.maximum(c, index, c.i64(0)), 0)


def _sampled(c: Conversion, size: tuple[int, int], items: Value, box: list[Value]) -> Value:
    """Sample the maps `items` [R, C, H, W] at a grid of `size` points in each box.

    `box` holds the corners (x1, y1) and (x2, y2) as fractions of the map, from 0 to 1. Samples
    outside the map are 0.
    """
    x1, y1, x2, y2 = box
    across, down = _axis(c, x1, x2, size[1]), _axis(c, y1, y2, size[0])
    # The positions of both coordinates, [R, h, w]
    shape = c.i64([1, size[0], size[1]])
    x = forms.expand(c, forms.unsqueeze(c, across, [1]), shape)
    y = forms.expand(c, forms.unsqueeze(c, down, [2]), shape)
    grid = forms.concat(c, [forms.unsqueeze(c, x, [3]), forms.unsqueeze(c, y, [3])], 3)
    read = export_grid_sample(c, GridSample(True, "bilinear", "border"), items, grid)
    kept = forms.unsqueeze(c, _inside(c, x, y), [1])
    return forms.select(c, kept, read, forms.scalar(c, 0.0, items))


def _axis(c: Conversion, low: Value, high: Value, count: int) -> Value:
    """Return `count` equally spaced positions between `low` and `high`, as [R, count].

    `low` and `high` have the shape [R, 1], and both ends are included. If `count` is 1, the
    position is in the middle. The bounds are in 0..1, and the result is scaled to -1..1.
    """
    import numpy as np

    shares = np.full((1, 1), 0.5) if count == 1 else np.linspace(0.0, 1.0, count)[None]
    share = c.constant(shares, element_of(low))
    place = forms.add(c, low, forms.multiply(c, forms.subtract(c, high, low), share))
    doubled = forms.multiply(c, place, forms.scalar(c, 2.0, low))
    return forms.subtract(c, doubled, forms.scalar(c, 1.0, low))


def _inside(c: Conversion, x: Value, y: Value) -> Value:
    """True where both coordinates are in -1..1."""
    one = forms.scalar(c, 1.0, x)
    within = [
        forms.logical_not(c, forms.less(c, one, c(elementwise.Abs(), value))) for value in (x, y)
    ]
    return c(comparison.And(), *within)


@exports(ov.ROIAlign, ov.ROIAlign9)
def export_roi_align(
    c: Conversion, op: ov.ROIAlign | ov.ROIAlign9, data: Value, rois: Value, items: Value
) -> Value:
    """Write ROIAlign as RoiAlign; for mode max, choose the largest sample of each bin.

    If the number of samples per bin is fixed, RoiAlign then has a bin for each sample, and MaxPool
    chooses the largest samples. Otherwise Gather reads the samples (see `_largest`).
    """
    aligned = op.alignment()
    finest = op.mode.lower() == "max"
    ratio = op.sampling_ratio
    if finest and ratio < 1:
        return _largest(c, op, data, rois, items)
    if aligned != "asymmetric" and c.opset < 16:
        raise c.refuse("RoiAlign with half pixels needs ONNX opset 16 or later", opset=16)
    if aligned == "half_pixel":
        rois = forms.add(c, rois, forms.scalar(c, 0.5, rois))
    factor = ratio if finest else 1
    attributes: dict[str, Any] = {
        "mode": "avg",
        "output_height": op.pooled_h * factor,
        "output_width": op.pooled_w * factor,
        "sampling_ratio": 1 if finest else ratio,
        "spatial_scale": op.spatial_scale,
    }
    whole = forms.convert(c, items, ElementType.I64)
    if c.opset >= 16:
        mode = "output_half_pixel" if aligned == "asymmetric" else "half_pixel"
        target: onnx.RoiAlign10 = onnx.RoiAlign(**attributes, coordinate_transformation_mode=mode)
    else:
        target = onnx.RoiAlign10(**attributes)
    result = c(target, data, rois, whole)
    if not finest:
        return result
    if factor > 1:
        window = (factor, factor)
        pool = onnx_pooling.MaxPool(kernel_shape=window, strides=window)
        result = c.emit(pool, result, n_outputs=1).outputs[0]
    # OpenVINO starts its search for the largest sample from 0.
    return forms.maximum(c, result, forms.scalar(c, 0.0, result))


def _largest(
    c: Conversion, op: ov.ROIAlign | ov.ROIAlign9, data: Value, rois: Value, items: Value
) -> Value:
    """Write ROIAlign with mode max as the largest sample of each bin, but at least 0.

    Gather reads the samples, because their number varies from region to region.
    """
    aligned = op.alignment()
    maps = roi_samples.maps_of(c, data, items)
    before = c.constant(0.5 if aligned == "half_pixel" else 0.0, F32)
    after = c.constant(0.0 if aligned == "asymmetric" else 0.5, F32)
    scale, half = c.constant(op.spatial_scale, F32), c.constant(0.5, F32)
    bounds = []
    for at in range(4):
        moved = forms.add(c, roi_samples.number_of(c, rois, at), before)
        bounds.append(forms.subtract(c, forms.multiply(c, moved, scale), after))
    sides, placed = [], []
    for at, bins, axes in ((1, op.pooled_h, (1, 2)), (0, op.pooled_w, (3, 4))):
        length = forms.subtract(c, bounds[2 + at], bounds[at])
        if aligned == "asymmetric":
            length = forms.maximum(c, length, c.constant(1.0, F32))
        sides.append(roi_samples.side(c, length, bins, 0, axes, 1.0))
        middle = forms.add(c, bounds[at], forms.multiply(c, length, half))
        placed.append(forms.add(c, middle, sides[-1].place))
    values, _ = maps.read(c, placed[0], placed[1], 1.0)
    own = forms.unsqueeze(c, c(comparison.And(), *(item.own for item in sides)), [-1])
    values = forms.select(c, own, values, c.constant(0.0, F32))
    best = forms.reduce(c, "Max", values, [2, 4], keep=False)
    best = forms.maximum(c, best, c.constant(0.0, F32))
    return forms.convert(c, forms.transpose(c, best, [0, 3, 1, 2]), element_of(data))


@exports(ov.PSROIPooling)
def export_psroi(c: Conversion, op: ov.PSROIPooling, data: Value, rois: Value) -> Value:
    """Write PSROIPooling as an Einsum of the maps with masks of the bins, or as GridSamples.

    The Einsum is for the mode average. In the mode bilinear, GridSample reads each spatial bin, and
    the result is the mean of the spatial bins.
    """
    image, *box = _columns(c, rois)
    items = _items(c, data, image)
    if op.mode.lower() == "average":
        return up_to_the_end(c, image, _average(c, op, items, box))
    scale = forms.scalar(c, op.spatial_scale, rois)
    x1, y1, x2, y2 = (forms.multiply(c, bound, scale) for bound in box)
    total: Value | None = None
    for row in range(op.spatial_bins_y):
        top, bottom = _part(c, y1, y2, row, op.spatial_bins_y)
        for column in range(op.spatial_bins_x):
            left, right = _part(c, x1, x2, column, op.spatial_bins_x)
            first = (row * op.spatial_bins_x + column) * op.output_dim
            own = forms.slice_(c, items, [first], [first + op.output_dim], [1])
            size = (op.group_size, op.group_size)
            read = _sampled(c, size, own, [left, top, right, bottom])
            total = read if total is None else forms.add(c, total, read)
    assert total is not None, "there is at least one spatial bin"
    bins = float(op.spatial_bins_x * op.spatial_bins_y)
    return up_to_the_end(c, image, forms.divide(c, total, forms.scalar(c, bins, data)))


def _part(c: Conversion, low: Value, high: Value, at: int, count: int) -> tuple[Value, Value]:
    """Divide low..high into `count` equal parts, and return the bounds of part `at`."""
    step = forms.divide(c, forms.subtract(c, high, low), forms.scalar(c, float(count), low))
    first = forms.add(c, low, forms.multiply(c, step, forms.scalar(c, float(at), low)))
    return first, forms.add(c, first, step)


def _average(c: Conversion, op: ov.PSROIPooling, items: Value, box: list[Value]) -> Value:
    """Emit the mean of the feature map over each bin of each box.

    An Einsum multiplies the map by a mask of the rows and a mask of the columns of the bin. The
    sum is divided by the number of elements in the bin. The mean of an empty bin is 0.
    """
    sizes, group = OnnxSizes(c), op.group_size
    height, width = sizes.of(items, 4)[2:]
    x1, y1, x2, y2 = box
    rows = _mask(c, op, y1, y2, height)
    columns = _mask(c, op, x1, x2, width)
    pattern = sizes.list([0, op.output_dim, group, group, height, width])
    own = forms.reshape_to(c, items, pattern)
    total = einsum(c, "roijhw,rih,rjw->roij", own, rows, columns)
    counts = [forms.reduce(c, "Sum", mask, [2]) for mask in (rows, columns)]
    area = forms.multiply(c, counts[0], forms.transpose(c, counts[1], [0, 2, 1]))
    # The sum of an empty bin is 0, which any divisor keeps; 1 avoids a division by zero.
    area = forms.maximum(c, area, forms.scalar(c, 1.0, area))
    return forms.divide(c, total, forms.unsqueeze(c, area, [1]))


def _mask(c: Conversion, op: ov.PSROIPooling, low: Value, high: Value, size: Size) -> Value:
    """Make a mask [R, bins, size] that is 1 where an element of an axis belongs to a bin.

    `low` and `high` are the ends of the regions on this axis, and `size` is the size of the axis.
    """

    def number(value: float) -> Value:
        return forms.scalar(c, value, low)

    def rounded(value: Value) -> Value:
        return c(elementwise.Floor(), forms.add(c, value, number(0.5)))

    scale = number(op.spatial_scale)
    start = forms.multiply(c, rounded(low), scale)
    end = forms.multiply(c, forms.add(c, rounded(high), number(1.0)), scale)
    step = forms.divide(c, forms.subtract(c, end, start), number(float(op.group_size)))
    index = c.constant([list(range(op.group_size))], element_of(low))
    first = c(elementwise.Floor(), forms.add(c, start, forms.multiply(c, step, index)))
    behind = forms.add(c, index, number(1.0))
    last = c(elementwise.Ceil(), forms.add(c, start, forms.multiply(c, step, behind)))
    place = places(c, size, element_of(low))
    reached = forms.logical_not(c, forms.less(c, place, forms.unsqueeze(c, first, [2])))
    within = c(comparison.And(), reached, forms.less(c, place, forms.unsqueeze(c, last, [2])))
    return forms.convert(c, within, element_of(low))


@imports(onnx.MaxRoiPool)
def import_max_roi_pool(c: Conversion, op: onnx.MaxRoiPool, data: Value, rois: Value) -> Value:
    """MaxRoiPool -> ROIPooling."""
    height, width = op.pooled_shape
    target = ov.ROIPooling(
        pooled_h=height,
        pooled_w=width,
        output_size=(height, width),
        spatial_scale=op.spatial_scale,
        method="max",
    )
    return c(target, data, rois)


@imports(onnx.RoiAlign, onnx.RoiAlign10)
def import_roi_align(
    c: Conversion, op: onnx.RoiAlign10, data: Value, rois: Value, items: Value
) -> Value:
    """RoiAlign -> ROIAlign."""
    if op.mode == "max":
        raise c.refuse(
            "RoiAlign takes the largest weighted element, OpenVINO the largest sample",
            "use mode avg",
        )
    half = op.moves_half()
    attributes: dict[str, Any] = {
        "pooled_h": op.output_height,
        "pooled_w": op.output_width,
        "sampling_ratio": op.sampling_ratio,
        "spatial_scale": op.spatial_scale,
        "mode": "avg",
    }
    whole = ov_forms.convert(c, items, ElementType.I32)
    if half and c.opset >= 9:
        return c(ov.ROIAlign9(**attributes, aligned_mode="half_pixel_for_nn"), data, rois, whole)
    if half:
        c.warn(
            "CNV804",
            "regions smaller than one cell are enlarged to one cell, as ROIAlign of opset8 does",
            "write opset9 or newer",
        )
        if not op.spatial_scale:
            raise c.refuse("its spatial_scale is 0")
        shift = ov_forms.scalar(c, 0.5 / op.spatial_scale, rois)
        rois = ov_forms.subtract(c, rois, shift)
    return c(ov.ROIAlign(**attributes), data, rois, whole)
