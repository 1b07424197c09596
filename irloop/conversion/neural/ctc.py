"""Converts CTC decoding to ONNX: TopK moves the kept labels to the front."""

from __future__ import annotations

from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.framework.translation import Conversion, exports
from irloop.dialects.onnx import comparison, gather, search
from irloop.dialects.openvino import ctc as ov
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["changed", "packed"]

I64 = ElementType.I64


@exports(ov.CTCGreedyDecoder)
def export_greedy(c: Conversion, op: ov.CTCGreedyDecoder, data: Value, mask: Value) -> Value:
    """CTCGreedyDecoder -> ArgMax and TopK.

    ArgMax finds the label of each frame; TopK moves the kept labels to the front of their row.
    """
    ended = forms.equal(
        c, forms.convert(c, mask, ElementType.F32), c.constant(0.0, ElementType.F32)
    )
    count = forms.transpose(c, forms.convert(c, ended, I64), [1, 0])
    if c.opset < 11:
        raise c.refuse("CumSum needs ONNX opset 11 or later", opset=11)
    behind = c(search.CumSum(), count, c.i64(1))
    valid = forms.equal(c, behind, c.i64(0))
    labels = forms.transpose(c, _best(c, data), [1, 0])
    found, _ = _decoded(c, labels, valid, _last_class(c, data), merge=op.ctc_merge_repeated)
    return forms.unsqueeze(c, forms.convert(c, found, element_of(data)), [2, 3])


@exports(ov.CTCGreedyDecoderSeqLen)
def export_greedy_by_length(
    c: Conversion,
    op: ov.CTCGreedyDecoderSeqLen,
    data: Value,
    length: Value,
    blank: Value | None = None,
) -> list[Value]:
    """CTCGreedyDecoderSeqLen -> ArgMax and TopK.

    ArgMax finds the label of each frame; TopK moves the kept labels to the front of their row.
    """
    labels = _best(c, data)
    limit = forms.unsqueeze(c, forms.convert(c, length, I64), [1])
    valid = forms.less(c, _places(c, labels), limit)
    if blank is None:
        none = _last_class(c, data)
    else:
        none = forms.reshape(c, forms.convert(c, blank, I64), [1])
    found, counts = _decoded(c, labels, valid, none, merge=op.merge_repeated)
    return [
        forms.convert(c, found, op.classes_index_type),
        forms.convert(c, counts, op.sequence_length_type),
    ]


def _best(c: Conversion, data: Value) -> Value:
    """The class with the highest score in each frame; of equal scores, the first class."""
    target = search.ArgMax12(axis=2, keepdims=False)
    older = search.ArgMax(axis=2, keepdims=False)
    return c(target if c.opset >= 12 else older, forms.convert(c, data, ElementType.F32))


def _last_class(c: Conversion, data: Value) -> Value:
    return forms.subtract(c, forms.gather(c, forms.shape_of(c, data), c.i64([2]), 0), c.i64([1]))


def _size(c: Conversion, labels: Value) -> Value:
    return forms.gather(c, forms.shape_of(c, labels), c.i64(1), 0)


def _places(c: Conversion, labels: Value) -> Value:
    """The vector 0, 1, ..., frames - 1, where frames is the length of axis 1 of `labels`."""
    if c.opset < 11:
        raise c.refuse("Range needs ONNX opset 11 or later", opset=11)
    return forms.range_(c, c.i64(0), _size(c, labels), c.i64(1))


def _decoded(
    c: Conversion, labels: Value, valid: Value, blank: Value, *, merge: bool
) -> tuple[Value, Value]:
    """Move the labels that remain in rows [N, T] to the front, padded with -1.

    A label remains if it is valid, is not `blank`, and, with `merge`, differs from the label before
    it. The function also returns the number of remaining labels in each row, [N].
    """
    kept = c(comparison.And(), valid, forms.logical_not(c, forms.equal(c, labels, blank)))
    if merge:
        kept = c(comparison.And(), kept, changed(c, labels))
    return packed(c, labels, kept)


def changed(c: Conversion, labels: Value) -> Value:
    """True for the elements of rows [N, T] that differ from the element before them.

    The first element of a row is compared with -1, which is not a label.
    """
    first = forms.slice_(c, labels, [0], [1], [1])
    none = forms.subtract(c, forms.multiply(c, first, c.i64(0)), c.i64(1))
    before = forms.concat(c, [none, forms.slice_(c, labels, [0], [-1], [1])], 1)
    return forms.logical_not(c, forms.equal(c, labels, before))


def packed(c: Conversion, labels: Value, kept: Value) -> tuple[Value, Value]:
    """Move the kept elements of rows [N, T] to the front; return them and their counts [N].

    The rest of each row is filled with -1.
    """
    number, places = forms.convert(c, kept, I64), _places(c, labels)
    size = forms.reshape(c, _size(c, labels), [1])
    # Rank kept elements before the others; both groups stay in their old order.
    rank = forms.subtract(c, forms.multiply(c, number, size), places)
    _, order = forms.topk(c, rank, size, 1)
    moved = c(gather.GatherElements(1), labels, order)
    counts = forms.reduce(c, "Sum", number, [1])
    front = forms.less(c, places, counts)
    return forms.select(c, front, moved, c.i64(-1)), forms.squeeze(c, counts, [1])
