"""Converts DetectionOutput to ONNX: decodes boxes, suppresses some, keeps the best of each item."""

from __future__ import annotations

from irloop.conversion.detection import box_selection
from irloop.conversion.detection import boxes as geometry
from irloop.conversion.detection.scores import at_least, places
from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.dialects.onnx import comparison
from irloop.dialects.onnx.gather import GatherElements
from irloop.dialects.onnx.search import ArgMax, ArgMax12
from irloop.dialects.openvino import detection as ov
from irloop.dialects.writing.sizes import Size, Sizes
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, I64 = ElementType.F32, ElementType.I64


@exports(ov.DetectionOutput, ov.DetectionOutput1)
def export_detections(
    c: Export,
    op: ov.Detecting,
    moves: Value,
    scores: Value,
    priors: Value,
    first_scores: Value | None = None,
    first_moves: Value | None = None,
) -> Value:
    """Write DetectionOutput: decode the boxes, suppress overlapping boxes, and keep the best boxes.

    NonMaxSuppression drops the boxes that overlap a better box of their class, and TopK limits the
    number of boxes of each batch item. If the output has room for more rows than there are
    detections, a row with the item number -1 follows the last detection.
    """
    box_selection.require_opset(c)
    case = _Case(c, op, moves, scores, priors)
    boxes = case.boxes(moves, priors, first_moves)
    worth = case.worth(scores, first_scores)
    rows = _by_box(c, op, case, boxes, worth) if op.decrease_label_id else None
    if rows is None:
        shown = box_selection.without_class(c, worth, case.classes, op.background_label_id)
        rows = box_selection.suppressed(
            c,
            geometry.unfolded(c, boxes),
            shown,
            op.nms_threshold,
            least=op.confidence_threshold,
            best=op.top_k,
        )
    values = box_selection.read(c, worth, rows)
    if op.keep_top_k[0] >= 0:
        kept = _limited(c, rows, values, case.items, op.keep_top_k[0])
        rows, values = c.gather(rows, kept, 0), c.gather(values, kept, 0)
    return c.convert(_listed(c, op, case, boxes, rows, values), element_of(moves))


class _Case:
    """Emits nodes that compute the boxes and scores of one DetectionOutput.

    The object holds the sizes that these nodes need: the numbers of items, priors and classes.
    """

    def __init__(
        self, c: Export, op: ov.Detecting, moves: Value, scores: Value, priors: Value
    ) -> None:
        self.c, self.op, self.sizes = c, op, Sizes(c)
        self.width = 4 if op.normalized else 5
        self.items = self.sizes.of(moves, 2)[0]
        self.lists, self.rows, length = self.sizes.of(priors, 3)
        self.priors = self.sizes.by(length, self.width)
        all_scores = self.sizes.of(scores, 2)[1]
        self.classes = op.classes() or self.sizes.by(all_scores, self.priors)

    def _moves(self, moves: Value) -> Value:
        """Reshape the predicted offsets to [N, L, P, 4], for N batch items and P priors.

        L is the number of classes if each class has its own offsets, or 1 if all classes share
        them. The last axis holds the four numbers of one offset.
        """
        wide = self.c.convert(moves, F32)
        if self.op.share_location:
            return self.sizes.reshape(wide, [self.items, 1, self.priors, 4])
        split = self.sizes.reshape(wide, [self.items, self.priors, self.classes, 4])
        return self.c.transpose(split, [0, 2, 1, 3])

    def _priors(self, priors: Value) -> tuple[Value, Value | None]:
        """The boxes and the variances of the priors, [1 or N, 1, P, 4] each.

        The variances are None if the offsets include them.
        """
        c, op = self.c, self.op
        wide = c.convert(priors, F32)
        first = c.slice(wide, [0], [1], [1])
        boxes = self.sizes.reshape(first, [self.lists, 1, self.priors, self.width])
        if not op.normalized:
            boxes = c.slice(boxes, [1], [5], [3])
            high, along = float(op.input_height), float(op.input_width)
            boxes = c.divide(boxes, c.constant([along, high, along, high], F32))
        if op.variance_encoded_in_target:
            return boxes, None
        length = self.sizes.list([self.sizes.times(self.priors, 4)])
        second = c.slice(wide, [1], [2], [1])
        own = c.slice_by(second, c.i64([0]), length, c.i64([2]))
        return boxes, self.sizes.reshape(own, [self.lists, 1, self.priors, 4])

    def boxes(self, moves: Value, priors: Value, first: Value | None) -> Value:
        """Decode the boxes from the prior boxes; the result is [N, L, P, 4].

        N is the number of items and P the number of priors; L is the number of classes, or 1 if the
        classes share their boxes. `moves` are the predicted offsets; the offsets `first` (None if
        absent) are applied before them.
        """
        boxes, variances = self._priors(priors)
        for raw in (first, moves):
            if raw is None:
                continue
            move = self._moves(raw)
            move = move if variances is None else self.c.multiply(move, variances)
            if self.op.centred():
                boxes = geometry.centred_moves(self.c, boxes, move)
            else:
                boxes = self.c.add(boxes, move)
            if self.op.clip_before_nms:
                boxes = self.c.clip(boxes, 0.0, 1.0)
        return boxes

    def worth(self, scores: Value, first: Value | None) -> Value:
        """Return the scores [N, C, P]; priors without an object are replaced by background.

        A prior has no object if its object score in `first` is less than `objectness_score`. It
        then has the score 1 for the background class, and 0 for all other classes. If `first` is
        None, the scores stay as they are.
        """
        c = self.c
        wide = c.convert(scores, F32)
        split = self.sizes.reshape(wide, [self.items, self.priors, self.classes])
        worth = c.transpose(split, [0, 2, 1])
        if first is None:
            return worth
        pairs = self.sizes.reshape(c.convert(first, F32), [self.items, self.priors, 2])
        objects = c.gather(c.transpose(pairs, [0, 2, 1]), c.i64([1]), 1)
        shown = at_least(c, objects, c.constant(self.op.objectness_score, F32))
        label = c.unsqueeze(places(c, self.classes), [1])
        nothing = c.equal(label, c.i64(self.op.background_label_id))
        return c.select(shown, worth, c.convert(nothing, F32))


def _by_box(c: Export, op: ov.Detecting, case: _Case, boxes: Value, worth: Value) -> Value:
    """Select detections such that each box counts only for its best class.

    Returns rows (item, class, box).

    `boxes` [N, L, P, 4] are the decoded boxes and `worth` [N, C, P] their scores. Class 0 and the
    background class are never the best class of a box; the best of the other classes is taken
    instead.
    """
    low = c.constant(-1.0, F32)
    allowed = worth
    label = c.unsqueeze(places(c, case.classes), [1])
    for none in {0, op.background_label_id} - {-1}:
        allowed = c.select(c.equal(label, c.i64(none)), low, allowed)
    kind = ArgMax12(axis=1) if c.opset >= 12 else ArgMax(axis=1)
    best = c(kind, allowed)
    own = c.reduce("Max", allowed, [1])
    shown = at_least(c, own, c.constant(op.confidence_threshold, F32))
    shown = c(comparison.And(), shown, c.less(low, own))
    shown = c(comparison.And(), shown, c.less(c.i64(0), best))
    own = box_selection.dropped(c, own, shown)
    if not op.share_location:
        boxes = _of_class(c, boxes, best)
    candidates = box_selection.candidates(c, geometry.unfolded(c, boxes), own, op.top_k)
    chosen = best if candidates.index is None else c(GatherElements(2), best, candidates.index)
    rows = box_selection.suppressed(
        c,
        candidates.boxes,
        box_selection.dropped(c, candidates.scores, c.equal(chosen, label)),
        op.nms_threshold,
    )
    if candidates.index is None:
        return rows
    # One index per item is enough, because all classes share one list of boxes.
    one = c.i64([1])
    shape = c.concat([one, case.sizes.list([case.classes]), one], 0)
    return box_selection.Candidates(boxes, worth, c.expand(candidates.index, shape)).origin(c, rows)


def _of_class(c: Export, boxes: Value, label: Value) -> Value:
    """Select one box for each prior, namely that of the class in `label`.

    `boxes` [N, L, P, 4] holds a box of each prior for each class, `label` [N, 1, P] the class
    numbers. The result is [N, 1, P, 4].
    """
    by_prior = c.transpose(boxes, [0, 2, 1, 3])
    index = c.transpose(label, [0, 2, 1])
    return c.transpose(box_selection.members(c, by_prior, index), [0, 2, 1, 3])


def _limited(c: Export, rows: Value, values: Value, items: Size, limit: int) -> Value:
    """Select for each batch item the `limit` rows with the best scores, and keep their order.

    `rows` are (item, class, box), and `values` their scores. A negative `limit` selects all rows.
    """
    image = box_selection.column(c, rows, 0)
    keys = [box_selection.column(c, rows, 2), values]
    if items != 1:
        keys.append(image)
    order = box_selection.ordered(c, *keys)
    kept = box_selection.best_of_items(c, order, image, items, limit)
    return c.topk(kept, c.sizes_of(kept, [0]), 0, largest=False)[0]


def _listed(
    c: Export, op: ov.Detecting, case: _Case, boxes: Value, rows: Value, values: Value
) -> Value:
    """Build the result [1, 1, total, 7]: (item, class, score, x1, y1, x2, y2) of each detection.

    `rows` are the selected (item, class, box), and `values` are their scores. If there are fewer
    detections than total, a row that begins with item -1 marks their end, and zeros follow.
    """
    label = c.slice(rows, [1], [2], [1])
    place = rows
    if op.share_location:
        ends = (c.slice(rows, [at], [at + 1], [1]) for at in (0, 2))
        item, box = ends
        place = c.concat([item, c.multiply(label, c.i64(0)), box], 1)
    corners = box_selection.read(c, boxes, place)
    if op.clip_after_nms:
        corners = c.clip(corners, 0.0, 1.0)
    if op.decrease_label_id:
        label = c.subtract(label, c.i64(1))
    head = c.convert(c.concat([c.slice(rows, [0], [1], [1]), label], 1), F32)
    table = c.concat([head, c.unsqueeze(values, [1]), corners], 1)
    end = c.constant([[-1.0, 0, 0, 0, 0, 0, 0]], F32)
    table = c.concat([table, end], 0)
    sizes, total = case.sizes, _rows(op, case)
    missing = c.subtract(sizes.list([total]), c.sizes_of(table, [0]))
    missing = c.maximum(missing, c.i64([0]))
    pads = c.concat([c.i64([0, 0]), missing, c.i64([0])], 0)
    whole = c.pad(table, pads, c.constant(0.0, F32))
    whole = c.slice_by(whole, c.i64([0]), sizes.list([total]), c.i64([0]))
    return sizes.reshape(whole, [1, 1, total, 7])


def _rows(op: ov.Detecting, case: _Case) -> Size:
    if op.keep_top_k[0] > 0:
        return case.sizes.times(case.items, op.keep_top_k[0])
    of_class = case.priors if op.top_k == -1 else op.top_k
    return case.sizes.product([case.items, case.classes, of_class])
