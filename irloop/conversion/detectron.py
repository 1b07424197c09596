"""What Detectron's models do around their proposals, in ONNX."""

from __future__ import annotations

import math
from typing import Any

from irloop.conversion import onnx_forms as forms
from irloop.conversion.framework import Conversion, exports
from irloop.dialects.onnx import elementwise, roi
from irloop.dialects.openvino import detectron as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

I64 = ElementType.I64


def _sizes(c: Conversion, value: Value, name: str) -> list[int]:
    """The known height and width of a feature map or image."""
    dims = shape_of(value).dims
    sizes = [] if dims is None else [dim for dim in dims[2:] if isinstance(dim, int)]
    if len(sizes) != 2:
        raise c.refuse(f"the size of its {name} is not known", "give the input a static shape")
    return sizes


@exports(ov.ExperimentalDetectronPriorGridGenerator)
def export_grid(
    c: Conversion,
    op: ov.ExperimentalDetectronPriorGridGenerator,
    priors: Value,
    features: Value,
    image: Value,
) -> Value:
    """ExperimentalDetectronPriorGridGenerator -> Add of a constant grid."""
    import numpy as np

    height, width = _sizes(c, features, "feature map")
    if (op.h or height, op.w or width) != (height, width):
        raise c.refuse("its grid is not as large as the feature map, which leaves boxes undefined")
    rows, columns = (0, 0)
    if not op.stride_x or not op.stride_y:
        rows, columns = _sizes(c, image, "image")
    y = (np.arange(height)[:, None] + 0.5) * (op.stride_y or rows / height)
    x = (np.arange(width) + 0.5) * (op.stride_x or columns / width)
    shift = np.stack(np.broadcast_arrays(x, y, x, y), axis=-1)[:, :, None]
    boxes = forms.add(c, priors, c.constant(shift, element_of(priors)))
    return forms.reshape(c, boxes, [-1, 4]) if op.flatten else boxes


@exports(ov.ExperimentalDetectronTopKROIs)
def export_best(
    c: Conversion, op: ov.ExperimentalDetectronTopKROIs, rois: Value, scores: Value
) -> Value:
    """ExperimentalDetectronTopKROIs -> TopK and Gather, zeros behind too few regions."""
    import numpy as np

    dims = shape_of(scores).dims
    if dims is not None and isinstance(dims[0], int) and dims[0] >= op.max_rois:
        _, order = forms.topk(c, scores, c.i64([op.max_rois]), 0)
        return forms.gather(c, rois, order, 0)
    count = forms.minimum(c, forms.shape(c, scores), c.i64([op.max_rois]))
    _, order = forms.topk(c, scores, count, 0)
    zeros = c.constant(np.zeros((op.max_rois, 4)), element_of(rois))
    filled = forms.concat(c, [forms.gather(c, rois, order, 0), zeros], 0)
    return forms.slice_(c, filled, [0], [op.max_rois], [0])


@exports(ov.ExperimentalDetectronROIFeatureExtractor)
def export_pyramid(
    c: Conversion, op: ov.ExperimentalDetectronROIFeatureExtractor, rois: Value, *maps: Value
) -> list[Value]:
    """ExperimentalDetectronROIFeatureExtractor -> RoiAlign of each map, the fitting one chosen."""
    if op.aligned:
        raise c.refuse("RoiAlign with half pixels lets regions be smaller than an element")
    if c.opset < 10:
        raise c.refuse("ONNX has RoiAlign since opset 10", "write opset 10 or newer")
    count = forms.gather(c, forms.shape(c, rois), c.i64([0]), 0)
    items = forms.constant_of_shape(c, count, 0, I64)
    level = _level(c, rois, len(maps))
    result: Value | None = None
    for at, (scale, features) in enumerate(zip(op.pyramid_scales, maps, strict=True)):
        read = c(_align(c, op, 1.0 / scale), features, rois, items)
        otherwise = forms.scalar(c, 0.0, read) if result is None else result
        own = forms.equal(c, level, c.constant(float(at), ElementType.F32))
        result = forms.where(c, own, read, otherwise)
    assert result is not None, "there is a map"
    return [result, forms.identity(c, rois)]


def _align(
    c: Conversion, op: ov.ExperimentalDetectronROIFeatureExtractor, scale: float
) -> roi.RoiAlign10:
    attributes: dict[str, Any] = {
        "mode": "avg",
        "output_height": op.output_size,
        "output_width": op.output_size,
        "sampling_ratio": op.sampling_ratio,
        "spatial_scale": scale,
    }
    if c.opset < 16:
        return roi.RoiAlign10(**attributes)
    return roi.RoiAlign(**attributes, coordinate_transformation_mode="output_half_pixel")


def _level(c: Conversion, rois: Value, count: int) -> Value:
    """The map each region is read from, [R, 1, 1, 1] of f32; -1 for an empty region."""
    wide = forms.cast(c, rois, ElementType.F32)
    size = forms.sub(c, forms.slice_(c, wide, [2], [4], [1]), forms.slice_(c, wide, [0], [2], [1]))
    area = forms.reduce(c, "Prod", size, [1])

    def number(value: float) -> Value:
        return forms.scalar(c, value, area)

    side = c(elementwise.Sqrt(), forms.maximum(c, area, number(0.0)))
    share = forms.add(c, forms.div(c, side, number(224.0)), number(1e-6))
    power = forms.div(c, c(elementwise.Log(), share), number(math.log(2.0)))
    level = c(elementwise.Floor(), forms.add(c, power, number(2.0)))
    level = forms.maximum(c, forms.minimum(c, level, number(count - 1.0)), number(0.0))
    solid = forms.less(c, number(0.0), area)
    return forms.unsqueeze(c, forms.where(c, solid, level, number(-1.0)), [2, 3])
