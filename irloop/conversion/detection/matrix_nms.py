"""Converts MatrixNms to ONNX operations that compare all pairs of boxes of a class at once."""

from __future__ import annotations

from irloop.conversion.detection import box_selection, class_rows
from irloop.conversion.detection import boxes as geometry
from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.forms.scores import LOWEST, places
from irloop.conversion.forms.sizes import OnnxSizes
from irloop.conversion.framework.translation import Conversion, exports
from irloop.dialects.onnx import elementwise
from irloop.dialects.onnx.search import NonZero
from irloop.dialects.openvino import multiclass_nms as ov
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, I64 = ElementType.F32, ElementType.I64


@exports(ov.MatrixNms)
def export_matrix_nms(c: Conversion, op: ov.MatrixNms, boxes: Value, scores: Value) -> list[Value]:
    """Write MatrixNms: lower the score of each box by its overlaps with better boxes.

    TopK selects the candidates of each class. A table holds the overlap of each pair of them, from
    which a decay factor for each pair is computed; the smallest factor of a box (ReduceMin) lowers
    its score. Another TopK sorts the boxes whose scores are still high enough.
    """
    box_selection.require_opset(c)
    sizes = OnnxSizes(c)
    wide, worth = forms.convert(c, boxes, F32), forms.convert(c, scores, F32)
    items, classes, _ = sizes.of(worth, 3)
    good = forms.less(c, c.constant(op.score_threshold, F32), worth)
    worth = box_selection.dropped(c, worth, good)
    worth = box_selection.without_class(c, worth, classes, op.background_class)
    values, index = forms.topk(c, worth, _most(c, worth, op.nms_top_k), 2)
    chosen = box_selection.members(c, forms.unsqueeze(c, wide, [1]), index)
    lowered = forms.multiply(c, values, _decay(c, op, chosen))
    left = forms.less(c, c.constant(max(op.post_threshold, LOWEST), F32), lowered)
    places = forms.transpose(c, c(NonZero(), left), [1, 0])
    found = box_selection.Candidates(chosen, lowered, index).origin(c, places)
    rows = class_rows.Rows(found, box_selection.read(c, lowered, places), items)
    rows = class_rows.sorted_rows(c, op, rows, by_class=False)
    flat = class_rows.flat_places(c, rows, wide)
    listed = forms.reshape(c, wide, [-1, 4])
    return class_rows.outputs(c, op, rows, listed, flat, element_of(boxes))


def _most(c: Conversion, worth: Value, best: int) -> Value:
    """Emit, as a vector [1], the largest number of candidates in any class of any batch item.

    A candidate is a box whose score in `worth` [N, C, boxes] is above `LOWEST`. The result is
    limited to `best`, unless this is negative, and is at least 1.
    """
    candidate = forms.less(c, c.constant(LOWEST, F32), worth)
    counts = forms.reduce(c, "Sum", forms.convert(c, candidate, I64), [2])
    most = forms.reshape(c, forms.reduce(c, "Max", counts, [0, 1]), [1])
    most = most if best < 0 else forms.minimum(c, most, c.i64([best]))
    return forms.maximum(c, most, c.i64([1]))


def _decay(c: Conversion, op: ov.MatrixNms, boxes: Value) -> Value:
    """Compute the factor that lowers the score of each box because of boxes with higher scores.

    `boxes` are [N, C, K, 4], sorted by descending score.
    """
    border = 0.0 if op.normalized else 1.0
    own, others = forms.unsqueeze(c, boxes, [3]), forms.unsqueeze(c, boxes, [2])
    share = geometry.overlap(c, own, others, border)
    zero, one = c.constant(0.0, F32), c.constant(1.0, F32)
    if border:
        # The border makes boxes wider, but boxes that do not touch must not overlap.
        share = forms.select(c, geometry.touching(c, own, others), share, zero)
    place = places(c, OnnxSizes(c).of(boxes, 4)[2])
    better = forms.less(c, place, forms.unsqueeze(c, place, [1]))
    most = forms.reduce(c, "Max", forms.select(c, better, share, zero), [3], keep=False)
    most = forms.unsqueeze(c, most, [2])
    if op.decay_function.lower() == "gaussian":
        power = forms.subtract(c, forms.multiply(c, most, most), forms.multiply(c, share, share))
        factor = c(elementwise.Exp(), forms.multiply(c, power, c.constant(op.gaussian_sigma, F32)))
    else:
        rest = forms.add(c, forms.subtract(c, one, most), c.constant(1e-10, F32))
        factor = forms.divide(c, forms.subtract(c, one, share), rest)
    return forms.reduce(c, "Min", forms.select(c, better, factor, one), [3], keep=False)
