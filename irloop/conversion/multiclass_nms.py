"""MulticlassNms in ONNX: NonMaxSuppression, then the orders that OpenVINO has.

Boxes are taken to have their lower corner first, as the specification asks: ONNX swaps corners
that are not, OpenVINO lets such boxes overlap nothing.
"""

from __future__ import annotations

from irloop.conversion import onnx_forms as forms
from irloop.conversion.framework import Conversion, exports
from irloop.dialects.onnx import gather, nms
from irloop.dialects.openvino import multiclass_nms as ov
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, I64 = ElementType.F32, ElementType.I64


@exports(ov.MulticlassNms8, ov.MulticlassNms)
def export_multiclass(
    c: Conversion,
    op: ov.MulticlassNms8 | ov.MulticlassNms,
    boxes: Value,
    scores: Value,
    numbers: Value | None = None,
) -> list[Value]:
    """MulticlassNms -> NonMaxSuppression, TopK by score, and Gather of the boxes."""
    items = _items(c, op, boxes, numbers)
    wide, worth = forms.cast(c, boxes, F32), forms.cast(c, scores, F32)
    rows = _suppressed(c, op, wide, worth)
    values = _read(c, worth, rows)
    # ONNX Runtime lists rows by item, class and score, which decides among equal scores.
    values, order = forms.topk(c, values, _count(c, rows), 0)
    rows = forms.gather(c, rows, order, 0)
    if items > 1 and not (op.sort_result_across_batch and _by(op) == "score"):
        rows, values = _grouped(c, rows, values, [0])
    if op.keep_top_k >= 0:
        rows = forms.slice_(c, rows, [0], [op.keep_top_k], [0])
        values = forms.slice_(c, values, [0], [op.keep_top_k], [0])
    if _by(op) == "classid":
        rows, values = _grouped(c, rows, values, [1, 0] if op.sort_result_across_batch else [0, 1])
    return _outputs(c, op, wide, rows, values, items, element_of(boxes))


def _by(op: ov.MulticlassNms8 | ov.MulticlassNms) -> str:
    return op.sort_result_type.lower()


def _items(
    c: Conversion,
    op: ov.MulticlassNms8 | ov.MulticlassNms,
    boxes: Value,
    numbers: Value | None,
) -> int:
    """The number of items, where all that is asked for can be said."""
    if c.opset < 11:
        raise c.refuse("it needs GatherND, which ONNX has since opset 11", "write opset 11")
    if numbers is not None:
        raise c.refuse("ONNX has no boxes of each class (input roisnum)")
    if op.nms_eta < 1:
        raise c.refuse("ONNX has no overlap threshold that shrinks (nms_eta)", "set nms_eta to 1")
    if op.nms_top_k >= 0:
        raise c.refuse("ONNX does not limit the boxes before suppression (nms_top_k)")
    dims = shape_of(boxes).dims
    if dims is None or not isinstance(dims[0], int):
        raise c.refuse("its number of items is not known", "give the input a static batch")
    if op.keep_top_k >= 0 and dims[0] != 1:
        raise c.refuse("ONNX limits the rows of several items together only (keep_top_k)")
    return dims[0]


def _suppressed(
    c: Conversion, op: ov.MulticlassNms8 | ov.MulticlassNms, boxes: Value, scores: Value
) -> Value:
    """Rows (item, class, box) of what is kept, without the background."""
    import numpy as np

    if not op.normalized:
        border = c.constant([0.0, 0.0, 1.0, 1.0], F32)
        boxes = forms.add(c, boxes, border)
    limit = forms.gather(c, forms.shape(c, boxes), c.i64([1]), 0)
    share = np.float32(op.iou_threshold)
    if share > 0:
        share = np.nextafter(share, np.float32(0))
    else:
        # Every box overlaps by at least 0: one is left.
        limit = c.i64([1])
    least = np.nextafter(np.float32(op.score_threshold), np.float32(-np.inf))
    thresholds = [c.constant([float(value)], F32) for value in (share, least)]
    rows = c(nms.NonMaxSuppression(0), boxes, scores, limit, *thresholds)
    if op.background_class < 0:
        return rows
    label = forms.gather(c, rows, c.i64(1), 1)
    shown = forms.logical_not(c, forms.equal(c, label, c.i64(op.background_class)))
    return c(gather.Compress(0), rows, shown)


def _read(c: Conversion, scores: Value, rows: Value) -> Value:
    return c(gather.GatherND12() if c.opset >= 12 else gather.GatherND(), scores, rows)


def _count(c: Conversion, rows: Value) -> Value:
    return forms.gather(c, forms.shape(c, rows), c.i64([0]), 0)


def _grouped(c: Conversion, rows: Value, values: Value, columns: list[int]) -> tuple[Value, Value]:
    """Rows ordered by these columns, first the first; otherwise in the order they have."""
    count = _count(c, rows)
    for column in reversed(columns):
        number = forms.gather(c, rows, c.i64(column), 1)
        place = forms.range_(c, c.i64(0), forms.squeeze(c, count, [0]), c.i64(1))
        key = forms.add(c, forms.mul(c, number, count), place)
        _, order = forms.topk(c, key, count, 0, largest=False)
        rows, values = forms.gather(c, rows, order, 0), forms.gather(c, values, order, 0)
    return rows, values


def _outputs(
    c: Conversion,
    op: ov.MulticlassNms8 | ov.MulticlassNms,
    boxes: Value,
    rows: Value,
    values: Value,
    items: int,
    element: ElementType,
) -> list[Value]:
    label = forms.cast(c, forms.slice_(c, rows, [1], [2], [1]), F32)
    item, box = forms.slice_(c, rows, [0], [1], [1]), forms.slice_(c, rows, [2], [3], [1])
    size = forms.gather(c, forms.shape(c, boxes), c.i64([1]), 0)
    flat = forms.add(c, forms.mul(c, item, size), box)
    listed = forms.gather(c, forms.reshape(c, boxes, [-1, 4]), forms.squeeze(c, flat, [1]), 0)
    table = forms.concat(c, [label, forms.unsqueeze(c, values, [1]), listed], 1)
    own = forms.cast(c, forms.equal(c, item, c.i64([list(range(items))])), I64)
    counts = forms.reduce(c, "Sum", own, [0], keep=False)
    return [
        forms.cast(c, table, element),
        forms.cast(c, flat, op.output_type),
        forms.cast(c, counts, op.output_type),
    ]
