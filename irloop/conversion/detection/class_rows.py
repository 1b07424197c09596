"""Writes in ONNX the output rows of MulticlassNms and MatrixNms, sorted as OpenVINO sorts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from irloop.conversion.detection import box_selection
from irloop.conversion.framework.directions import Export
from irloop.dialects.writing.sizes import Size, Sizes
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["Rows", "flat_places", "outputs", "sorted_rows"]

F32, I64 = ElementType.F32, ElementType.I64


class _OfClasses(Protocol):
    """Declares the attributes of MatrixNms and MulticlassNms that set the outputs' order and type.

    `keep_top_k` limits the rows per item.
    """

    @property
    def sort_result_type(self) -> str: ...
    @property
    def sort_result_across_batch(self) -> bool: ...
    @property
    def output_type(self) -> ElementType: ...
    @property
    def keep_top_k(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Rows:
    """The M boxes that suppression keeps: their rows [M, 3] and their scores [M].

    A row holds the batch item, the class and the index of the box.
    """

    found: Value
    values: Value
    items: Size

    def taken(self, c: Export, order: Value) -> Rows:
        """Select rows, and their scores, in the order of the indices `order`."""
        found, values = (c.gather(item, order, 0) for item in (self.found, self.values))
        return Rows(found, values, self.items)


def sorted_rows(c: Export, op: _OfClasses, rows: Rows, *, by_class: bool) -> Rows:
    """Select the best `keep_top_k` rows of each item, and sort them as `op` demands.

    By default the rows are sorted by item, then by score; rows of equal scores are sorted by class
    and box. The attributes of `op` can demand that all rows are sorted by score or by class, or
    that the rows within each item are sorted by class. This last order is ignored unless `by_class`
    is True.
    """
    image, label, box = (box_selection.column(c, rows.found, at) for at in range(3))
    keys = [box, label, rows.values]
    keys += [] if rows.items == 1 else [image]
    order = box_selection.ordered(c, *keys)
    kept = box_selection.best_of_items(c, order, image, rows.items, op.keep_top_k)
    rows = rows.taken(c, kept)
    kind, across = op.sort_result_type.lower(), op.sort_result_across_batch
    image, label = (box_selection.column(c, rows.found, at) for at in (0, 1))
    if across and kind == "score":
        # Rows of equal scores keep the order of their items.
        return rows.taken(c, box_selection.ordered(c, rows.values))
    if kind == "classid" and across:
        return rows.taken(c, box_selection.ordered(c, label))
    if kind == "classid" and by_class:
        return rows.taken(c, box_selection.ordered(c, label, image))
    return rows


def outputs(
    c: Export,
    op: _OfClasses,
    rows: Rows,
    boxes: Value,
    flat: Value,
    element: ElementType,
) -> list[Value]:
    """Emit the three outputs: detections, box indices and detection counts.

    The detections [M, 6] have type `element` and hold class, score and the four box coordinates.
    The indices [M, 1] are those in `flat`: the position of each detection's box in `boxes` [P, 4].
    The counts hold the number of detections of each batch item.
    """
    label = c.convert(c.slice(rows.found, [1], [2], [1]), F32)
    listed = c.gather(boxes, flat, 0)
    table = c.concat([label, c.unsqueeze(rows.values, [1]), listed], 1)
    counts = box_selection.counted(c, box_selection.column(c, rows.found, 0), rows.items)
    return [
        c.convert(table, element),
        c.convert(c.unsqueeze(flat, [1]), op.output_type),
        c.convert(counts, op.output_type),
    ]


def flat_places(c: Export, rows: Rows, boxes: Value) -> Value:
    """Return the positions of the kept boxes in `boxes` [N, P, 4] when reshaped to [N * P, 4].

    `rows` holds the kept boxes. Box b of item n has the position n * P + b.
    """
    count = Sizes(c).list([Sizes(c).of(boxes, 3)[1]])
    item, box = (box_selection.column(c, rows.found, at) for at in (0, 2))
    return c.add(c.multiply(item, count), box)
