"""Non-maximum suppression in the other dialect.

A box that overlaps a better one by the threshold exactly is suppressed in OpenVINO and kept in
ONNX; a constant threshold is moved to its neighbour, so that both keep the same boxes.
"""

from __future__ import annotations

from irloop.conversion import onnx_forms as forms
from irloop.conversion import openvino_forms as ov_forms
from irloop.conversion.framework import Conversion, exports, imports
from irloop.dialects.onnx import nms as onnx
from irloop.dialects.onnx.gather import GatherND, GatherND12
from irloop.dialects.openvino import nms as ov
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, I64 = ElementType.F32, ElementType.I64


@exports(ov.NonMaxSuppression1, ov.NonMaxSuppression3, ov.NonMaxSuppression4)
def export_indices(c: Conversion, op: ov.Suppressing, *inputs: Value | None) -> Value:
    """NonMaxSuppression -> NonMaxSuppression, sorted by score where that is asked for."""
    indices, _ = _exported(c, op, inputs)
    return forms.cast(c, indices, op.index_type())


@exports(ov.NonMaxSuppression5, ov.NonMaxSuppression9)
def export_scored(c: Conversion, op: ov.Suppressing, *inputs: Value | None) -> list[Value]:
    """NonMaxSuppression -> NonMaxSuppression, the scores gathered."""
    sigma = inputs[5] if len(inputs) > 5 else None
    known = None if sigma is None else c.constant_of(sigma)
    if sigma is not None and (known is None or known.reshape(-1)[0] > 0):
        raise c.refuse("ONNX has no soft suppression (soft_nms_sigma)", "set soft_nms_sigma to 0")
    indices, scores = _exported(c, op, inputs)
    pairs = forms.cast(c, forms.slice_(c, indices, [0], [2], [1]), F32)
    listed = forms.concat(c, [pairs, forms.unsqueeze(c, scores, [1])], 1)
    count = forms.gather(c, forms.shape(c, indices), c.i64([0]), 0)
    whole = op.index_type()
    original = inputs[1]
    assert original is not None
    return [
        forms.cast(c, indices, whole),
        forms.cast(c, listed, element_of(original)),
        forms.cast(c, count, whole),
    ]


def _exported(
    c: Conversion, op: ov.Suppressing, inputs: tuple[Value | None, ...]
) -> tuple[Value, Value]:
    """The kept rows [K, 3] and their scores [K], f32."""
    boxes, scores, limit, iou, threshold = (*inputs[:5], *(None,) * 5)[:5]
    assert boxes is not None
    assert scores is not None
    wide_scores = forms.cast(c, scores, F32)
    limit = c.i64([0]) if limit is None else _listed(c, limit, I64)
    limit, iou = _below(c, limit, iou)
    least = c.constant([0.0], F32) if threshold is None else _listed(c, threshold, F32)
    target = onnx.NonMaxSuppression(int(op.centred()))
    found = c(target, forms.cast(c, boxes, F32), wide_scores, limit, iou, least)
    values = c(GatherND12() if c.opset >= 12 else GatherND(), wide_scores, found)
    if not op.sort_result_descending:
        return found, values
    count = forms.gather(c, forms.shape(c, found), c.i64([0]), 0)
    values, order = forms.topk(c, values, count, 0)
    return forms.gather(c, found, order, 0), values


def _listed(c: Conversion, value: Value, element: ElementType) -> Value:
    return forms.reshape(c, forms.cast(c, value, element), [1])


def _below(c: Conversion, limit: Value, iou: Value | None) -> tuple[Value, Value]:
    """Limit and threshold so that "more than" means what "at least" did."""
    import numpy as np

    known = np.zeros(1, np.float32) if iou is None else c.constant_of(iou)
    if known is None:
        assert iou is not None
        given = _listed(c, iou, F32)
        none = forms.less(c, given, c.constant([np.finfo(np.float32).tiny], F32))
        limit = forms.where(c, none, forms.minimum(c, limit, c.i64([1])), limit)
        return limit, forms.mul(c, given, c.constant([1.0 - 2.0**-23], F32))
    number = np.float32(known.reshape(-1)[0])
    if number > 0:
        return limit, c.constant([np.nextafter(number, np.float32(0))], F32)
    # Every box overlaps by at least 0: one is left.
    return forms.minimum(c, limit, c.i64([1])), c.constant([0.0], F32)


@imports(onnx.NonMaxSuppression)
def import_suppression(
    c: Conversion,
    op: onnx.NonMaxSuppression,
    boxes: Value,
    scores: Value,
    limit: Value | None = None,
    iou: Value | None = None,
    threshold: Value | None = None,
) -> Value:
    """NonMaxSuppression -> NonMaxSuppression-5."""
    if c.opset < 5:
        raise c.refuse("NonMaxSuppression of opset4 gives a fixed number of rows", "write opset5")
    target = ov.NonMaxSuppression5(
        box_encoding="center" if op.center_point_box else "corner",
        sort_result_descending=False,
        output_type=I64,
    )
    lowest = c.constant(-3.4028234663852886e38, F32)
    node = c.emit(
        target,
        boxes,
        scores,
        c.i64(0) if limit is None else _single(c, limit, I64),
        _above(c, iou),
        lowest if threshold is None else _single(c, threshold, F32),
    )
    return node.outputs[0]


def _single(c: Conversion, value: Value, element: ElementType) -> Value:
    return ov_forms.reshape(c, ov_forms.converted(c, value, element), [1])


def _above(c: Conversion, iou: Value | None) -> Value:
    """A threshold for "at least" that keeps what "more than" kept."""
    import numpy as np

    known = np.zeros(1, np.float32) if iou is None else c.constant_of(iou)
    # The smallest number that no runtime rounds to 0.
    tiny = np.finfo(np.float32).tiny
    if known is None:
        assert iou is not None
        raised = ov_forms.multiply(c, _single(c, iou, F32), c.constant([1.0 + 2.0**-23], F32))
        return ov_forms.maximum(c, raised, c.constant([tiny], F32))
    number = np.float32(known.reshape(-1)[0])
    return c.constant(max(np.nextafter(number, np.float32(np.inf)), tiny), F32)
