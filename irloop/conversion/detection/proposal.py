"""Converts region proposals to ONNX: anchors are moved, and NonMaxSuppression keeps the best."""

from __future__ import annotations

import math
from dataclasses import dataclass

from irloop.conversion.detection import box_selection
from irloop.conversion.detection import boxes as geometry
from irloop.conversion.detection.scores import places
from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.dialects.openvino import proposals as ov
from irloop.dialects.writing.sizes import Size, Sizes
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, I64 = ElementType.F32, ElementType.I64

#: The logarithm of the largest factor by which a box may grow.
_MAX_GROWTH = math.log(1000.0 / 16.0)


@dataclass(frozen=True, slots=True)
class _Image:
    """The height and the width of images, and the scales of their heights and widths.

    Each value has the shape [1, 1, 1], or [N, 1, 1] for N images.
    """

    height: Value
    width: Value
    scales: tuple[Value, Value]

    @classmethod
    def of(cls, c: Export, image: Value, count: Size) -> _Image:
        """Read the height, the width and the scales of images from `image` [.., K].

        The last axis holds (height, width, scale) or (height, width, scale of heights, scale of
        widths); `count` is its size K.
        """
        wide = c.convert(image, F32)
        last = count - 1 if isinstance(count, int) else -1
        parts = [c.gather(wide, c.i64([at]), -1) for at in (0, 1, 2, last)]
        height, width, high, along = (c.reshape(part, [-1, 1, 1]) for part in parts)
        return cls(height, width, (high, along))

    def largest_coordinates(self, c: Export, border: float) -> tuple[Value, Value]:
        """Return the largest y and the largest x that a box may have in the images.

        These are the height minus `border` and the width minus `border`.
        """
        if not border:
            return self.height, self.width
        one = c.constant(border, F32)
        return c.subtract(self.height, one), c.subtract(self.width, one)

    def least(self, c: Export, smallest: float) -> tuple[Value, Value]:
        """Return the minimum height and width of a box: `smallest` times the image's scales."""
        factor = c.constant(smallest, F32)
        first, last = (c.multiply(scale, factor) for scale in self.scales)
        return first, last


def _by_place(c: Export, maps: Value, width: int) -> Value:
    """Reshape maps [N, A * width, H, W] to [N, H * W * A, width].

    If `width` is 1, the result is [N, H * W * A].
    """
    sizes = Sizes(c)
    items, channels, height, along = sizes.of(maps, 4)
    anchors = sizes.by(channels, width)
    total = sizes.product([height, along, anchors])
    if width == 1:
        return sizes.reshape(c.transpose(maps, [0, 2, 3, 1]), [items, total])
    split = sizes.reshape(maps, [items, anchors, width, height, along])
    return sizes.reshape(c.transpose(split, [0, 3, 4, 1, 2]), [items, total, width])


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The kept boxes, sorted by item: boxes [M, 4], scores [M], and counts [N]."""

    boxes: Value
    scores: Value
    counts: Value


def _best(c: Export, boxes: Value, scores: Value, before: int) -> box_selection.Candidates:
    """Keep only the best boxes of each batch item by score, at most `before` of them.

    `boxes` are [N, P, 4] and `scores` [N, P]; all boxes belong to one class. A negative `before`
    keeps all boxes.
    """
    return box_selection.candidates(c, c.unsqueeze(boxes, [1]), c.unsqueeze(scores, [1]), before)


def _chosen(
    c: Export, candidates: box_selection.Candidates, overlap: float, border: float, after: int
) -> _Chosen:
    """Drop boxes that overlap a better one, and keep the best `after` boxes of each batch item.

    A box is dropped if its intersection over union with a better box exceeds `overlap`. For this
    comparison `border` is added to the high corners of all boxes of `candidates`; the boxes in the
    result have no border.
    """
    bordered = geometry.with_border(c, candidates.boxes, border)
    rows = box_selection.suppressed(c, bordered, candidates.scores, overlap, limit=after)
    image = box_selection.column(c, rows, 0)
    return _Chosen(
        box_selection.read(c, candidates.boxes, rows),
        box_selection.read(c, candidates.scores, rows),
        box_selection.counted(c, image, Sizes(c).of(candidates.scores, 3)[0]),
    )


def _grid(c: Export, op: ov.Proposing, height: Size, width: Size) -> Value:
    """Emit the anchors around every cell of the feature map, as boxes [1, H * W * A, 4].

    `height` and `width` are the sizes H and W of the feature map; A is the number of anchors per
    cell.
    """
    from irloop.kernels.proposals import anchor_boxes

    base = c.constant(anchor_boxes(op.anchors()), F32)
    stride = c.constant(float(op.feat_stride), F32)
    down, along = (c.multiply(places(c, size, F32), stride) for size in (height, width))
    down, along = c.reshape(down, [-1, 1, 1, 1]), c.reshape(along, [1, -1, 1, 1])
    x, y = (down, along) if op.anchors().tensorflow else (along, down)
    return c.reshape(c.add(geometry.shifts(c, x, y), base), [1, -1, 4])


@exports(ov.Proposal, ov.Proposal1)
def export_proposal(
    c: Export, op: ov.Proposing, scores: Value, moves: Value, image: Value
) -> list[Value]:
    """Write Proposal: move the anchors, then choose the best boxes with TopK and NonMaxSuppression.

    The anchors are boxes around every cell of the feature map. Each batch item gets the same number
    of rows; rows without a box are filled with zeros. The result is a list of the rows and, if the
    operation has a second output, the scores.
    """
    box_selection.require_opset(c)
    sizes = Sizes(c)
    items, channels, height, width = sizes.of(scores, 4)
    if op.min_size > (0 if op.anchors().tensorflow else 1):
        c.warn(
            "CNV805",
            f"OpenVINO gives boxes smaller than min_size={op.min_size:g} the score 0 and returns "
            "them in any order, after all others; the rows with score 0 may come in another order",
        )
    tensorflow = op.anchors().tensorflow
    border = 0.0 if tensorflow else 1.0
    frame = _Image.of(c, image, sizes.of(image, 1)[0])
    # TensorFlow's boxes have x and y swapped, so height and width of the image are swapped, too.
    turned = _Image(frame.width, frame.height, frame.scales) if tensorflow else frame
    half = sizes.list([sizes.by(channels, 2)])
    shown = c.slice_by(c.convert(scores, F32), half, sizes.list([channels]), c.i64([1]))
    worth = _by_place(c, shown, 1)
    boxes = _grid(c, op, height, width)
    if tensorflow:
        boxes = geometry.clipped(c, boxes, turned.height, turned.width)
    place, size = op.box_coordinate_scale, op.box_size_scale
    scales = c.constant([place, place, size, size], F32)
    move = c.divide(_by_place(c, c.convert(moves, F32), 4), scales)
    boxes = geometry.refined(c, boxes, move, border, ends=False)
    if op.clip_before_nms:
        boxes = geometry.clipped(c, boxes, *turned.largest_coordinates(c, border))
    large = geometry.large_enough(c, boxes, border, frame.least(c, op.min_size))
    worth = c.multiply(worth, c.convert(large, F32))
    found = _best(c, boxes, worth, op.pre_nms_topn)
    kept = _chosen(c, found, op.nms_thresh, border, op.post_nms_topn)
    return _filled_up(c, op, turned, kept, items, element_of(scores))


def _filled_up(
    c: Export,
    op: ov.Proposing,
    frame: _Image,
    kept: _Chosen,
    items: Size,
    element: ElementType,
) -> list[Value]:
    """Return the outputs of a Proposal: the rows [N * M, 5] and, if needed, the scores [N * M].

    N is the number of batch items (`items`), and M is `op.post_nms_topn`. A row holds the number of
    a batch item and the four coordinates of a box in `kept`. If an item has fewer than M boxes, the
    remaining rows contain zeros, except that the first of them has the item number -1. `frame` is
    the image, and `element` is the element type of the outputs.
    """
    sizes, after = Sizes(c), op.post_nms_topn
    total = sizes.times(items, after)
    table = box_selection.dense(c, kept.boxes, kept.counts, after, width=4)
    if op.clip_after_nms:
        table = geometry.clipped(c, table, frame.height, frame.width)
    if op.normalize:
        bounds = [frame.width, frame.height, frame.width, frame.height]
        table = c.divide(table, c.concat(bounds, -1))
    image = c.unsqueeze(places(c, items, F32), [1])
    place, count = c.i64([list(range(after))]), c.unsqueeze(kept.counts, [1])
    end = c.select(c.equal(place, count), c.constant(-1.0, F32), c.constant(0.0, F32))
    image = c.select(c.less(place, count), image, end)
    whole = c.concat([c.unsqueeze(image, [2]), table], 2)
    rows = c.convert(sizes.reshape(whole, [total, 5]), element)
    if op.n_outputs == 1:
        return [rows]
    values = box_selection.dense(c, kept.scores, kept.counts, after)
    return [rows, c.convert(sizes.reshape(values, [total]), element)]


def _moved(c: Export, frame: _Image, anchors: Value, moves: Value, border: float) -> Value:
    """Move the anchors [P, 4] by the predicted offsets and clip the boxes to their images.

    `moves` are the offsets [N, A * 4, H, W]. `border` is 1 if the corners of a box are the indices
    of its first and last elements, else 0. Returns the boxes [N, P, 4], with P = H * W * A.
    """
    listed = c.reshape(c.convert(anchors, F32), [1, -1, 4])
    move = _by_place(c, c.convert(moves, F32), 4)
    boxes = geometry.refined(c, listed, move, border, ends=True, limit=_MAX_GROWTH)
    return geometry.clipped(c, boxes, *frame.largest_coordinates(c, border))


@exports(ov.ExperimentalDetectronGenerateProposalsSingleImage)
def export_single_image(
    c: Export,
    op: ov.ExperimentalDetectronGenerateProposalsSingleImage,
    image: Value,
    anchors: Value,
    moves: Value,
    scores: Value,
) -> list[Value]:
    """Move the anchors of one image, and choose boxes with TopK and NonMaxSuppression."""
    box_selection.require_opset(c)
    frame = _Image.of(c, image, 3)
    boxes = _moved(c, frame, anchors, c.unsqueeze(moves, [0]), 1.0)
    worth = _by_place(c, c.unsqueeze(c.convert(scores, F32), [0]), 1)
    least = c.constant(op.min_size, F32)
    large = geometry.large_enough(c, boxes, 1.0, (least, least))
    found = _best(c, boxes, c.multiply(worth, c.convert(large, F32)), op.pre_nms_count)
    kept = _chosen(c, found, op.nms_threshold, 0.0, op.post_nms_count)
    element, after = element_of(scores), op.post_nms_count
    rows = box_selection.dense(c, kept.boxes, kept.counts, after, width=4)
    values = box_selection.dense(c, kept.scores, kept.counts, after)
    return [c.convert(c.squeeze(part, [0]), element) for part in (rows, values)]


@exports(ov.GenerateProposals)
def export_generate(
    c: Export,
    op: ov.GenerateProposals,
    images: Value,
    anchors: Value,
    moves: Value,
    scores: Value,
) -> list[Value]:
    """Move the anchors of each image, and choose boxes with TopK and NonMaxSuppression."""
    box_selection.require_opset(c)
    border = 0.0 if op.normalized else 1.0
    frame = _Image.of(c, images, Sizes(c).of(images, 2)[1])
    boxes = _moved(c, frame, anchors, moves, border)
    best = _best(c, boxes, _by_place(c, c.convert(scores, F32), 1), op.pre_nms_count)
    height, width = (c.unsqueeze(size, [1]) for size in frame.least(c, op.min_size))
    large = geometry.large_enough(c, best.boxes, border, (height, width))
    best = box_selection.Candidates(best.boxes, box_selection.dropped(c, best.scores, large), None)
    kept = _chosen(c, best, op.nms_threshold, border, op.post_nms_count)
    element = element_of(scores)
    return [
        c.convert(kept.boxes, element),
        c.convert(kept.scores, element),
        c.convert(kept.counts, op.roi_num_type),
    ]
