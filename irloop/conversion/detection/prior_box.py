"""Converts prior boxes to ONNX: a constant if the sizes are known, else a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from irloop.conversion.detection.scores import places
from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.dialects.onnx import elementwise
from irloop.dialects.openvino import prior_box as ov
from irloop.dialects.writing.sizes import Size, Sizes
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32 = ElementType.F32


@dataclass(frozen=True, slots=True)
class _Grid:
    """The prior boxes around the centre of every cell of a grid.

    Each item of `boxes` is (x, y, w, h, clipped): the shift of the box from the centre, half its
    width, half its height, and whether it is clipped. The half sizes of box i are multiplied by
    image height ** powers[i]. `steps` holds the vertical and the horizontal distance between the
    centres of neighbouring cells; with a `step_power` of 1, these are fractions of the image
    height. If `steps` is None, each distance is image size / grid size.
    """

    boxes: Sequence[tuple[float, float, float, float, bool]]
    powers: Sequence[float]
    #: The number of boxes for each cell: surplus boxes are left out, and missing ones are filled
    #: with zeros.
    count: int
    steps: tuple[float, float] | None
    step_power: float
    offset: float
    clip: bool
    variance: Sequence[float]


@exports(ov.PriorBox, ov.PriorBox8, ov.PriorBoxClustered)
def export_priors(
    c: Export, op: ov.SizedPriors | ov.PriorBoxClustered, layer: Value, image: Value
) -> Value:
    """Write the boxes of PriorBox or PriorBoxClustered as a constant, or compute them at run time.

    They are a constant if the sizes of the layer and the image are known. Otherwise the written
    operations compute them around a grid of centres, which needs opset 11.
    """
    sizes = [c.constant_of(layer), c.constant_of(image)]
    if all(size is not None for size in sizes):
        return c.constant(op.kernel()(*sizes), F32)
    if c.opset < 11:
        raise c.refuse("its sizes are known only at run time, which needs Range", opset=11)
    grid = _clustered(op) if isinstance(op, ov.PriorBoxClustered) else _sized(op)
    return _built(c, grid, layer, image)


def _clustered(op: ov.PriorBoxClustered) -> _Grid:
    sizes = zip(op.width, op.height, strict=True)
    boxes = [(0.0, 0.0, width / 2, height / 2, False) for width, height in sizes]
    none = [0.0] * len(boxes)
    return _Grid(boxes, none, len(boxes), op.steps(), 0.0, op.offset, op.clip, op.variance)


def _sized(op: ov.SizedPriors) -> _Grid:
    from irloop.kernels.prior_box import count_of, element_boxes

    priors = op.priors()
    boxes = element_boxes(priors)
    powers = [0.0] * len(boxes)
    if not op.scale_all_sizes:
        # In this case min_size is a fraction of the image's height, and the geometric mean of
        # min_size and max_size is proportional to the square root of the height. Computing the
        # boxes with 4 times min_size shows which power applies to each box.
        larger = element_boxes(replace(priors, min_size=tuple(4 * x for x in priors.min_size)))
        ratios = [there[2] / here[2] for here, there in zip(boxes, larger, strict=True)]
        powers = [0.0 if ratio < 1.5 else 0.5 if ratio < 3 else 1.0 for ratio in ratios]
    offset = op.offset if op.step else 0.5
    step_power = 0.0 if op.scale_all_sizes else 1.0
    steps = (op.step, op.step) if op.step else None
    count = count_of(priors)
    return _Grid(boxes, powers, count, steps, step_power, offset, op.clip, op.variance)


def _built(c: Export, grid: _Grid, layer: Value, image: Value) -> Value:
    """Emit the prior boxes for sizes that are known only when the model runs.

    The result is [2, 4 * height * width * boxes], where row 0 holds corners and row 1 variances.
    `layer` holds the height and width of the feature map, `image` those of the image.
    """
    sizes = Sizes(c)
    (height, width), (rows, columns) = (sizes.items(value, 2) for value in (layer, image))
    tall = _size_in_f32(c, rows)
    across = _coordinates(c, grid, 0, width, columns, tall)
    boxes = c.add(across, _coordinates(c, grid, 1, height, rows, tall))
    flat = c.reshape(_clipped(c, grid, boxes), [-1])
    if grid.count != len(grid.boxes):
        total = sizes.list([sizes.product([height, width, 4 * grid.count])])
        whole = c.concat([flat, c.constant_of_shape(total, 0.0, F32)], 0)
        flat = c.slice_by(whole, c.i64([0]), total, c.i64([0]))
    return c.concat([c.unsqueeze(row, [0]) for row in (flat, _variances(c, grid, flat))], 0)


def _coordinates(
    c: Export, grid: _Grid, axis: int, count: Size, length: Size, tall: Value
) -> Value:
    """Compute the x coordinates of the prior boxes if `axis` is 0, the y coordinates if it is 1.

    Each box of the result is (x1, y1, x2, y2); the two coordinates of the other direction are 0. In
    the direction of `axis`, the feature map has `count` cells and the image `length` pixels. `tall`
    is the height of the image.
    """
    size = _size_in_f32(c, length)
    if grid.steps is not None:
        stride = c.constant(grid.steps[1 - axis], F32)
        stride = c.multiply(stride, tall) if grid.step_power else stride
    else:
        stride = c.divide(size, _size_in_f32(c, count))
    middle = c.add(places(c, count, F32), c.constant(grid.offset, F32))
    along = [1, -1, 1, 1] if axis == 0 else [-1, 1, 1, 1]
    middle = c.reshape(c.multiply(middle, stride), along)
    centre = c.add(middle, _column(c, [box[axis] for box in grid.boxes]))
    half = _column(c, [box[2 + axis] for box in grid.boxes])
    if any(grid.powers):
        half = c.multiply(half, c(elementwise.Pow(), tall, _column(c, grid.powers)))
    ends = [c.divide(build(centre, half), size) for build in (c.subtract, c.add)]
    placed = []
    for at, end in zip((axis, 2 + axis), ends, strict=True):
        own = c.constant([float(place == at) for place in range(4)], F32)
        placed.append(c.multiply(end, own))
    return c.add(*placed)


def _size_in_f32(c: Export, size: Size) -> Value:
    """A size as f32."""
    if isinstance(size, int):
        return c.constant([float(size)], F32)
    return c.convert(size, F32)


def _column(c: Export, numbers: Sequence[float]) -> Value:
    return c.unsqueeze(c.constant(list(numbers), F32), [1])


def _clipped(c: Export, grid: _Grid, boxes: Value) -> Value:
    """Clip the corners of boxes to 0..1, as far as `grid` demands it.

    `boxes` is [rows, columns, boxes of a cell, 4]. With `grid.clip` all coordinates are clipped.
    Otherwise only the boxes whose own flag in `grid.boxes` is set are clipped: their low corner at
    0, and their high corner at 1.
    """
    at_once = [box[4] for box in grid.boxes]
    if grid.clip:
        return c.clip(boxes, 0.0, 1.0)
    if not any(at_once):
        return boxes
    # Only the low corner of these boxes has a lower bound, and only the high one an upper bound.
    far = 3e38
    low = [[0.0, 0, -far, -far] if once else [-far] * 4 for once in at_once]
    high = [[far, far, 1.0, 1] if once else [far] * 4 for once in at_once]
    raised = c.maximum(boxes, c.constant(low, F32))
    return c.minimum(raised, c.constant(high, F32))


def _variances(c: Export, grid: _Grid, like: Value) -> Value:
    """Emit variances in the shape of `like`, by repeating the variances of the operation.

    The operation has four variances, one for each coordinate of a box, or one for all of them;
    without any, the variance is 0.1.
    """
    row = list(grid.variance) or [0.1]
    repeats = c.divide(c.shape_of(like), c.i64([len(row)]))
    return c.tile(c.constant(row, F32), repeats)
