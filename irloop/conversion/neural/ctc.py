"""Converts CTC decoding to ONNX: TopK moves the kept labels to the front."""

from __future__ import annotations

from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.dialects.onnx import comparison, gather, search
from irloop.dialects.openvino import ctc as ov
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["changed", "packed"]

I64 = ElementType.I64


@exports(ov.CTCGreedyDecoder)
def export_greedy(c: Export, op: ov.CTCGreedyDecoder, data: Value, mask: Value) -> Value:
    """CTCGreedyDecoder -> ArgMax and TopK.

    ArgMax finds the label of each frame; TopK moves the kept labels to the front of their row.
    """
    ended = c.equal(c.convert(mask, ElementType.F32), c.constant(0.0, ElementType.F32))
    count = c.transpose(c.convert(ended, I64), [1, 0])
    if c.opset < 11:
        raise c.refuse("CumSum needs ONNX opset 11 or later", opset=11)
    behind = c(search.CumSum(), count, c.i64(1))
    valid = c.equal(behind, c.i64(0))
    labels = c.transpose(_best(c, data), [1, 0])
    found, _ = _decoded(c, labels, valid, _last_class(c, data), merge=op.ctc_merge_repeated)
    return c.unsqueeze(c.convert(found, element_of(data)), [2, 3])


@exports(ov.CTCGreedyDecoderSeqLen)
def export_greedy_by_length(
    c: Export,
    op: ov.CTCGreedyDecoderSeqLen,
    data: Value,
    length: Value,
    blank: Value | None = None,
) -> list[Value]:
    """CTCGreedyDecoderSeqLen -> ArgMax and TopK.

    ArgMax finds the label of each frame; TopK moves the kept labels to the front of their row.
    """
    labels = _best(c, data)
    limit = c.unsqueeze(c.convert(length, I64), [1])
    valid = c.less(_places(c, labels), limit)
    none = _last_class(c, data) if blank is None else c.reshape(c.convert(blank, I64), [1])
    found, counts = _decoded(c, labels, valid, none, merge=op.merge_repeated)
    return [
        c.convert(found, op.classes_index_type),
        c.convert(counts, op.sequence_length_type),
    ]


def _best(c: Export, data: Value) -> Value:
    """The class with the highest score in each frame; of equal scores, the first class."""
    target = search.ArgMax12(axis=2, keepdims=False)
    older = search.ArgMax(axis=2, keepdims=False)
    return c(target if c.opset >= 12 else older, c.convert(data, ElementType.F32))


def _last_class(c: Export, data: Value) -> Value:
    return c.subtract(c.sizes_of(data, [2]), c.i64([1]))


def _places(c: Export, labels: Value) -> Value:
    """The vector 0, 1, ..., frames - 1, where frames is the length of axis 1 of `labels`."""
    if c.opset < 11:
        raise c.refuse("Range needs ONNX opset 11 or later", opset=11)
    return c.numbers_below(c.size_of(labels, 1))


def _decoded(
    c: Export, labels: Value, valid: Value, blank: Value, *, merge: bool
) -> tuple[Value, Value]:
    """Move the labels that remain in rows [N, T] to the front, padded with -1.

    A label remains if it is valid, is not `blank`, and, with `merge`, differs from the label before
    it. The function also returns the number of remaining labels in each row, [N].
    """
    kept = c(comparison.And(), valid, c.logical_not(c.equal(labels, blank)))
    if merge:
        kept = c(comparison.And(), kept, changed(c, labels))
    return packed(c, labels, kept)


def changed(c: Export, labels: Value) -> Value:
    """True for the elements of rows [N, T] that differ from the element before them.

    The first element of a row is compared with -1, which is not a label.
    """
    first = c.slice(labels, [0], [1], [1])
    none = c.subtract(c.multiply(first, c.i64(0)), c.i64(1))
    before = c.concat([none, c.slice(labels, [0], [-1], [1])], 1)
    return c.logical_not(c.equal(labels, before))


def packed(c: Export, labels: Value, kept: Value) -> tuple[Value, Value]:
    """Move the kept elements of rows [N, T] to the front; return them and their counts [N].

    The rest of each row is filled with -1.
    """
    number, places = c.convert(kept, I64), _places(c, labels)
    size = c.sizes_of(labels, [1])
    # Rank kept elements before the others; both groups stay in their old order.
    rank = c.subtract(c.multiply(number, size), places)
    _, order = c.topk(rank, size, 1)
    moved = c(gather.GatherElements(1), labels, order)
    counts = c.reduce("Sum", number, [1])
    front = c.less(places, counts)
    return c.select(front, moved, c.i64(-1)), c.squeeze(counts, [1])
