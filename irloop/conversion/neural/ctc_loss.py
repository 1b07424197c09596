"""Converts CTCLoss to ONNX: a Scan over the frames sums the probabilities of all alignments.

The state of the Scan is [N, 2 * L + 1]: for each item, the L labels with blanks around them.
"""

from __future__ import annotations

from irloop.conversion.detection.scores import LOWEST, OUT, at_least, places
from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.conversion.loops.onnx_loop_builder import OnnxScanBuilder
from irloop.conversion.neural.ctc import changed, packed
from irloop.dialects.onnx import comparison, elementwise
from irloop.dialects.onnx.gather import GatherElements
from irloop.dialects.openvino import ctc as ov
from irloop.dialects.writing.sizes import Sizes
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, I64 = ElementType.F32, ElementType.I64


@exports(ov.CTCLoss)
def export_loss(
    c: Export,
    op: ov.CTCLoss,
    logits: Value,
    length: Value,
    labels: Value,
    label_length: Value,
    blank: Value | None = None,
) -> Value:
    """Write CTCLoss as a LogSoftmax, and a Scan that sums the probabilities of all alignments.

    The Scan computes the forward recursion over the frames in logarithms. The loss is the negative
    logarithm of the total.
    """
    if c.opset < 11:
        raise c.refuse("it needs GatherElements, which ONNX has since opset 11", opset=11)
    frames, classes = Sizes(c).of(logits, 3)[1:]
    if blank is None:
        none = Sizes(c).list([classes])
        none = c.subtract(none, c.i64([1]))
    else:
        none = c.reshape(c.as_i64(blank), [1])
    target, counts = _targets(c, op, c.as_i64(labels), c.as_i64(label_length))
    states = _states(c, target, none)
    place = places(c, Sizes(c).of(states, 2)[1])
    chances = c.log_softmax(c.convert(logits, F32), 2)
    shape = Sizes(c).list([1, frames, 1])
    index = c.expand(c.unsqueeze(states, [1]), shape)
    own = c(GatherElements(2), chances, index)
    ends = c.reshape(c.as_i64(length), [-1, 1])
    active = c.less(places(c, frames), ends)
    paths = _all_frames(c, op, states, place, own, active)
    total = _log_sum(c, *_ends(c, paths, counts))
    loss = c(elementwise.Neg(), c.squeeze(total, [1]))
    return c.convert(loss, element_of(logits))


def _targets(c: Export, op: ov.CTCLoss, labels: Value, length: Value) -> tuple[Value, Value]:
    """Return the labels that CTCLoss uses, [N, L] padded with -1, and their number per item [N].

    Two attributes remove repeated labels: `unique` keeps only the first of all equal labels of an
    item, `preprocess_collapse_repeated` only the first of adjacent equal labels.
    """
    place = places(c, Sizes(c).of(labels, 2)[1])
    kept = c.less(place, c.unsqueeze(length, [1]))
    if op.unique:
        pairs = (c.unsqueeze(labels, [axis]) for axis in (2, 1))
        earlier = c.less(place, c.unsqueeze(place, [1]))
        again = c(comparison.And(), c.equal(*pairs), earlier)
        times = c.reduce("Sum", c.convert(again, I64), [2], keep=False)
        kept = c(comparison.And(), kept, c.equal(times, c.i64(0)))
    elif op.preprocess_collapse_repeated:
        kept = c(comparison.And(), kept, changed(c, labels))
    return packed(c, labels, kept)


def _states(c: Export, target: Value, blank: Value) -> Value:
    """Interleave the target labels with blanks: the class of each CTC state, [N, 2 * L + 1].

    Each item begins and ends with a blank. A negative (missing) label becomes a blank, too.
    """
    missing = c.less(target, c.i64(0))
    labels = c.unsqueeze(c.select(missing, blank, target), [2])
    blanks = c.add(c.multiply(labels, c.i64(0)), blank)
    pairs = c.concat([blanks, labels], 2)
    sizes = Sizes(c)
    items, count = sizes.of(target, 2)
    turns = sizes.reshape(pairs, [items, sizes.times(count, 2)])
    last = c.expand(blank, sizes.list([items, 1]))
    return c.concat([turns, last], 1)


def _shifted(c: Export, values: Value, by: int, fill: Value) -> Value:
    """Shift rows [N, S] to the right by `by` positions, and fill the left with `fill` [1, 1]."""
    rows = c.sizes_of(values, [0])
    before = c.expand(fill, c.concat([rows, c.i64([by])], 0))
    return c.slice(c.concat([before, values], 1), [0], [-by], [1])


def _all_frames(
    c: Export, op: ov.CTCLoss, states: Value, place: Value, chances: Value, active: Value
) -> Value:
    """Emit a Scan over the frames that adds up the probabilities of all CTC alignments.

    The result [N, S] is the log probability of all alignments that are in a state after the last
    frame. `states` [N, S] holds the label of each state, and `place` [S] the numbers of the states.
    `chances` [N, T, S] holds the log probability of each state's label in each frame. `active`
    [N, T] is true for the frames of an item, and false for its padding.
    """
    out, zero = c.constant([[OUT]], F32), c.constant(0.0, F32)
    half = c.divide(place, c.i64(2))
    is_blank = c.equal(c.multiply(half, c.i64(2)), place)
    skips = c(comparison.And(), c.logical_not(is_blank), at_least(c, place, c.i64(2)))
    if op.ctc_merge_repeated:
        before = _shifted(c, states, 2, c.i64([[-1]]))
        other = c.logical_not(c.equal(states, before))
        skips = c(comparison.And(), skips, other)
    first = c.select(c.equal(place, c.i64(0)), zero, out)
    start = c.expand(first, c.shape_of(states))
    scan = OnnxScanBuilder(c, "frames")
    inner = scan.inner
    state = scan.state(start, start.type, "paths")
    paths = state.parameter
    chance = scan.scan(chances, 1, False, "chances")
    runs = scan.scan(active, 1, False, "active")
    none = inner.constant([[OUT]], F32)
    stays = paths
    if not op.ctc_merge_repeated:
        stays = inner.select(scan.capture(is_blank), paths, none)
    skipped = _shifted(inner, paths, 2, none)
    skipped = inner.select(scan.capture(skips), skipped, none)
    ahead = _log_sum(inner, stays, _shifted(inner, paths, 1, none), skipped)
    ahead = inner.add(ahead, chance)
    state.result = inner.select(inner.unsqueeze(runs, [1]), ahead, paths)
    return scan.finish()[state]


def _log_sum(c: Export, *values: Value) -> Value:
    """Emit log(exp(a) + exp(b) + ...) for logarithms a, b, ... without overflow.

    If all of them are minus infinity, so is the result.
    """
    most = values[0]
    for value in values[1:]:
        most = c.maximum(most, value)
    most = c.maximum(most, c.constant(LOWEST, F32))
    total = None
    for value in values:
        part = c(elementwise.Exp(), c.subtract(value, most))
        total = part if total is None else c.add(total, part)
    assert total is not None, "there is at least one value"
    return c.add(c(elementwise.Log(), total), most)


def _ends(c: Export, paths: Value, counts: Value) -> tuple[Value, Value]:
    """Compute the log probabilities of ending in the last blank and in the last label.

    `paths` [N, 2 * L + 1] holds the log probability of each state after the last frame; the states
    are blanks and labels in turn. `counts` [N] holds the number of labels of each item.

    Returns two values [N, 1]: for the last blank and for the last label. For an item without labels
    the second is a very low constant, used in place of the logarithm of 0.
    """
    count = c.unsqueeze(counts, [1])
    last = c.multiply(count, c.i64(2))
    label = c.maximum(c.subtract(last, c.i64(1)), c.i64(0))
    blank_end, label_end = (c(GatherElements(1), paths, at) for at in (last, label))
    some = c.less(c.i64(0), count)
    return blank_end, c.select(some, label_end, c.constant(OUT, F32))
