"""Converts the pooling and alignment of regions of interest, in both directions."""

from __future__ import annotations

from typing import Any

from irloop.conversion.detection import roi_samples
from irloop.conversion.detection.scores import places
from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.conversion.neural.sampling import export_grid_sample
from irloop.conversion.tensors.einsum import einsum
from irloop.dialects.onnx import comparison, elementwise, search
from irloop.dialects.onnx import pooling as onnx_pooling
from irloop.dialects.onnx import roi as onnx
from irloop.dialects.openvino import roi as ov
from irloop.dialects.openvino.sampling import GridSample
from irloop.dialects.writing.sizes import Size, Sizes
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["up_to_the_end"]

F32 = ElementType.F32


@exports(ov.ROIPooling)
def export_roi_pooling(c: Export, op: ov.ROIPooling, data: Value, rois: Value) -> Value:
    """Write ROIPooling as MaxRoiPool, or as GridSample for the method bilinear."""
    if op.method.lower() == "bilinear":
        # Sample the item of each region at a grid from corner to corner; 0 outside the map.
        image, *corners = _columns(c, rois)
        sampled = _sampled(c, op.size(), _items(c, data, image), corners)
        return up_to_the_end(c, image, sampled)
    image, *box = _columns(c, rois)
    known = c.concat([c.maximum(image, c.scalar(0.0, rois)), *box], 1)
    return up_to_the_end(c, image, c(onnx.MaxRoiPool(op.size(), op.spatial_scale), data, known))


def _columns(c: Export, rois: Value) -> list[Value]:
    """The columns item, x1, y1, x2 and y2 of the regions, [R, 1] each."""
    return [c.gather(rois, c.i64([at]), 1) for at in range(5)]


def up_to_the_end(c: Export, images: Value, result: Value) -> Value:
    """Set the rows of `result` [R, ., ., .] to 0 from the first negative number in `images` on.

    `images` [R, 1] holds the batch item of each region; a negative number ends the list of regions.

    Raises:
        RefusedError: before opset 11.
    """
    if c.opset < 11:
        raise c.refuse("ONNX has CumSum since opset 11", opset=11)
    end = c.convert(c.less(images, c.scalar(0.0, images)), ElementType.I64)
    ended = c.less(c.i64(0), c(search.CumSum(), end, c.i64(0)))
    return c.select(c.unsqueeze(ended, [2, 3]), c.scalar(0.0, result), result)


def _items(c: Export, data: Value, image: Value) -> Value:
    """For each region, the feature maps of its batch item: [R, C, H, W].

    `image` holds the number of the batch item of each region; negative numbers count as 0.
    """
    index = c.reshape(c.convert(image, ElementType.I64), [-1])
    return c.gather(data, c.maximum(index, c.i64(0)), 0)


def _sampled(c: Export, size: tuple[int, int], items: Value, box: list[Value]) -> Value:
    """Sample the maps `items` [R, C, H, W] at a grid of `size` points in each box.

    `box` holds the corners (x1, y1) and (x2, y2) as fractions of the map, from 0 to 1. Samples
    outside the map are 0.
    """
    x1, y1, x2, y2 = box
    across, down = _axis(c, x1, x2, size[1]), _axis(c, y1, y2, size[0])
    # The positions of both coordinates, [R, h, w]
    shape = c.i64([1, size[0], size[1]])
    x = c.expand(c.unsqueeze(across, [1]), shape)
    y = c.expand(c.unsqueeze(down, [2]), shape)
    grid = c.concat([c.unsqueeze(x, [3]), c.unsqueeze(y, [3])], 3)
    read = export_grid_sample(c, GridSample(True, "bilinear", "border"), items, grid)
    kept = c.unsqueeze(_inside(c, x, y), [1])
    return c.select(kept, read, c.scalar(0.0, items))


def _axis(c: Export, low: Value, high: Value, count: int) -> Value:
    """Return `count` equally spaced positions between `low` and `high`, as [R, count].

    `low` and `high` have the shape [R, 1], and both ends are included. If `count` is 1, the
    position is in the middle. The bounds are in 0..1, and the result is scaled to -1..1.
    """
    import numpy as np

    shares = np.full((1, 1), 0.5) if count == 1 else np.linspace(0.0, 1.0, count)[None]
    share = c.constant(shares, element_of(low))
    place = c.add(low, c.multiply(c.subtract(high, low), share))
    doubled = c.multiply(place, c.scalar(2.0, low))
    return c.subtract(doubled, c.scalar(1.0, low))


def _inside(c: Export, x: Value, y: Value) -> Value:
    """True where both coordinates are in -1..1."""
    one = c.scalar(1.0, x)
    within = [c.logical_not(c.less(one, c(elementwise.Abs(), value))) for value in (x, y)]
    return c(comparison.And(), *within)


@exports(ov.ROIAlign, ov.ROIAlign9)
def export_roi_align(
    c: Export, op: ov.ROIAlign | ov.ROIAlign9, data: Value, rois: Value, items: Value
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
        rois = c.add(rois, c.scalar(0.5, rois))
    factor = ratio if finest else 1
    attributes: dict[str, Any] = {
        "mode": "avg",
        "output_height": op.pooled_h * factor,
        "output_width": op.pooled_w * factor,
        "sampling_ratio": 1 if finest else ratio,
        "spatial_scale": op.spatial_scale,
    }
    indices = c.convert(items, ElementType.I64)
    if c.opset >= 16:
        mode = "output_half_pixel" if aligned == "asymmetric" else "half_pixel"
        target: onnx.RoiAlign10 = onnx.RoiAlign(**attributes, coordinate_transformation_mode=mode)
    else:
        target = onnx.RoiAlign10(**attributes)
    result = c(target, data, rois, indices)
    if not finest:
        return result
    if factor > 1:
        window = (factor, factor)
        pool = onnx_pooling.MaxPool(kernel_shape=window, strides=window)
        result = c.emit(pool, result, n_outputs=1).outputs[0]
    # OpenVINO starts its search for the largest sample from 0.
    return c.maximum(result, c.scalar(0.0, result))


def _largest(
    c: Export, op: ov.ROIAlign | ov.ROIAlign9, data: Value, rois: Value, items: Value
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
    for column in range(4):
        moved = c.add(roi_samples.number_of(c, rois, column), before)
        bounds.append(c.subtract(c.multiply(moved, scale), after))
    sides, placed = [], []
    for column, bins, axes in ((1, op.pooled_h, (1, 2)), (0, op.pooled_w, (3, 4))):
        length = c.subtract(bounds[2 + column], bounds[column])
        if aligned == "asymmetric":
            length = c.maximum(length, c.constant(1.0, F32))
        sides.append(roi_samples.side(c, length, bins, 0, axes, 1.0))
        middle = c.add(bounds[column], c.multiply(length, half))
        placed.append(c.add(middle, sides[-1].place))
    values, _ = maps.read(c, placed[0], placed[1], 1.0)
    own = c.unsqueeze(c(comparison.And(), *(item.own for item in sides)), [-1])
    values = c.select(own, values, c.constant(0.0, F32))
    best = c.reduce("Max", values, [2, 4], keep=False)
    best = c.maximum(best, c.constant(0.0, F32))
    return c.convert(c.transpose(best, [0, 3, 1, 2]), element_of(data))


@exports(ov.PSROIPooling)
def export_psroi(c: Export, op: ov.PSROIPooling, data: Value, rois: Value) -> Value:
    """Write PSROIPooling as an Einsum of the maps with masks of the bins, or as GridSamples.

    The Einsum is for the mode average. In the mode bilinear, GridSample reads each spatial bin, and
    the result is the mean of the spatial bins.
    """
    image, *box = _columns(c, rois)
    items = _items(c, data, image)
    if op.mode.lower() == "average":
        return up_to_the_end(c, image, _average(c, op, items, box))
    scale = c.scalar(op.spatial_scale, rois)
    x1, y1, x2, y2 = (c.multiply(bound, scale) for bound in box)
    total: Value | None = None
    for row in range(op.spatial_bins_y):
        top, bottom = _part(c, y1, y2, row, op.spatial_bins_y)
        for column in range(op.spatial_bins_x):
            left, right = _part(c, x1, x2, column, op.spatial_bins_x)
            first = (row * op.spatial_bins_x + column) * op.output_dim
            own = c.slice(items, [first], [first + op.output_dim], [1])
            size = (op.group_size, op.group_size)
            read = _sampled(c, size, own, [left, top, right, bottom])
            total = read if total is None else c.add(total, read)
    assert total is not None, "there is at least one spatial bin"
    bins = float(op.spatial_bins_x * op.spatial_bins_y)
    return up_to_the_end(c, image, c.divide(total, c.scalar(bins, data)))


def _part(c: Export, low: Value, high: Value, number: int, count: int) -> tuple[Value, Value]:
    """Divide low..high into `count` equal parts, and return the bounds of part `number`."""
    step = c.divide(c.subtract(high, low), c.scalar(float(count), low))
    first = c.add(low, c.multiply(step, c.scalar(float(number), low)))
    return first, c.add(first, step)


def _average(c: Export, op: ov.PSROIPooling, items: Value, box: list[Value]) -> Value:
    """Emit the mean of the feature map over each bin of each box.

    An Einsum multiplies the map by a mask of the rows and a mask of the columns of the bin. The
    sum is divided by the number of elements in the bin. The mean of an empty bin is 0.
    """
    sizes, group = Sizes(c), op.group_size
    height, width = sizes.of(items, 4)[2:]
    x1, y1, x2, y2 = box
    rows = _mask(c, op, y1, y2, height)
    columns = _mask(c, op, x1, x2, width)
    pattern = sizes.list([0, op.output_dim, group, group, height, width])
    own = c.reshape_to(items, pattern)
    total = einsum(c, "roijhw,rih,rjw->roij", own, rows, columns)
    counts = [c.reduce("Sum", mask, [2]) for mask in (rows, columns)]
    area = c.multiply(counts[0], c.transpose(counts[1], [0, 2, 1]))
    # The sum of an empty bin is 0, which any divisor keeps; 1 avoids a division by zero.
    area = c.maximum(area, c.scalar(1.0, area))
    return c.divide(total, c.unsqueeze(area, [1]))


def _mask(c: Export, op: ov.PSROIPooling, low: Value, high: Value, size: Size) -> Value:
    """Make a mask [R, bins, size] that is 1 where an element of an axis belongs to a bin.

    `low` and `high` are the ends of the regions on this axis, and `size` is the size of the axis.
    """

    def number(value: float) -> Value:
        return c.scalar(value, low)

    def rounded(value: Value) -> Value:
        size = c(elementwise.Floor(), c.add(c(elementwise.Abs(), value), number(0.5)))
        return c.multiply(c(elementwise.Sign(), value), size)

    scale = number(op.spatial_scale)
    start = c.multiply(rounded(low), scale)
    end = c.multiply(c.add(rounded(high), number(1.0)), scale)
    extent = c.maximum(c.subtract(end, start), number(0.1))
    step = c.divide(extent, number(float(op.group_size)))
    index = c.constant([list(range(op.group_size))], element_of(low))
    first = c(elementwise.Floor(), c.add(start, c.multiply(step, index)))
    behind = c.add(index, number(1.0))
    last = c(elementwise.Ceil(), c.add(start, c.multiply(step, behind)))
    place = places(c, size, element_of(low))
    reached = c.logical_not(c.less(place, c.unsqueeze(first, [2])))
    within = c(comparison.And(), reached, c.less(place, c.unsqueeze(last, [2])))
    return c.convert(within, element_of(low))


@imports(onnx.MaxRoiPool)
def import_max_roi_pool(c: Import, op: onnx.MaxRoiPool, data: Value, rois: Value) -> Value:
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
    c: Import, op: onnx.RoiAlign10, data: Value, rois: Value, items: Value
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
    indices = c.convert(items, ElementType.I32)
    if half and c.opset >= 9:
        return c(ov.ROIAlign9(**attributes, aligned_mode="half_pixel_for_nn"), data, rois, indices)
    if half:
        c.warn(
            "CNV804",
            "regions smaller than one cell are enlarged to one cell, as ROIAlign of opset8 does",
            "write opset9 or newer",
        )
        if not op.spatial_scale:
            raise c.refuse("its spatial_scale is 0")
        shift = c.scalar(0.5 / op.spatial_scale, rois)
        rois = c.subtract(rois, shift)
    return c(ov.ROIAlign(**attributes), data, rois, indices)
