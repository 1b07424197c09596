"""Converts CTCLoss to ONNX: a Scan over the frames sums the probabilities of all alignments.

The state of the Scan is [N, 2 * L + 1]: for each item, the L labels with blanks around them.
"""

from __future__ import annotations

from irloop.conversion.forms import onnx_forms as forms
from irloop.conversion.forms.scores import LOWEST, OUT, at_least, places
from irloop.conversion.forms.sizes import OnnxSizes
from irloop.conversion.framework.translation import Conversion, exports
from irloop.conversion.loops.onnx_loop_builder import OnnxScanBuilder
from irloop.conversion.neural.ctc import changed, packed
from irloop.dialects.onnx import comparison, elementwise
from irloop.dialects.onnx.gather import GatherElements
from irloop.dialects.openvino import ctc as ov
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, I64 = ElementType.F32, ElementType.I64


@exports(ov.CTCLoss)
def export_loss(
    c: Conversion,
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
    frames, classes = OnnxSizes(c).of(logits, 3)[1:]
    if blank is None:
        none = OnnxSizes(c).list([classes])
        none = forms.subtract(c, none, c.i64([1]))
    else:
        none = forms.reshape(c, forms.as_i64(c, blank), [1])
    target, counts = _targets(c, op, forms.as_i64(c, labels), forms.as_i64(c, label_length))
    states = _states(c, target, none)
    place = places(c, OnnxSizes(c).of(states, 2)[1])
    chances = forms.log_softmax(c, forms.convert(c, logits, F32), 2)
    shape = OnnxSizes(c).list([1, frames, 1])
    index = forms.expand(c, forms.unsqueeze(c, states, [1]), shape)
    own = c(GatherElements(2), chances, index)
    ends = forms.reshape(c, forms.as_i64(c, length), [-1, 1])
    active = forms.less(c, places(c, frames), ends)
    paths = _all_frames(c, op, states, place, own, active)
    total = _log_sum(c, *_ends(c, paths, counts))
    loss = c(elementwise.Neg(), forms.squeeze(c, total, [1]))
    return forms.convert(c, loss, element_of(logits))


def _targets(c: Conversion, op: ov.CTCLoss, labels: Value, length: Value) -> tuple[Value, Value]:
    """Return the labels that CTCLoss uses, [N, L] padded with -1, and their number per item [N].

    Two attributes remove repeated labels: `unique` keeps only the first of all equal labels of an
    item, `preprocess_collapse_repeated` only the first of adjacent equal labels.
    """
    place = places(c, OnnxSizes(c).of(labels, 2)[1])
    kept = forms.less(c, place, forms.unsqueeze(c, length, [1]))
    if op.unique:
        pairs = (forms.unsqueeze(c, labels, [axis]) for axis in (2, 1))
        earlier = forms.less(c, place, forms.unsqueeze(c, place, [1]))
        again = c(comparison.And(), forms.equal(c, *pairs), earlier)
        times = forms.reduce(c, "Sum", forms.convert(c, again, I64), [2], keep=False)
        kept = c(comparison.And(), kept, forms.equal(c, times, c.i64(0)))
    elif op.preprocess_collapse_repeated:
        kept = c(comparison.And(), kept, changed(c, labels))
    return packed(c, labels, kept)


def _states(c: Conversion, target: Value, blank: Value) -> Value:
    """Interleave the target labels with blanks: the class of each CTC state, [N, 2 * L + 1].

    Each item begins and ends with a blank. A negative (missing) label becomes a blank, too.
    """
    missing = forms.less(c, target, c.i64(0))
    labels = forms.unsqueeze(c, forms.select(c, missing, blank, target), [2])
    blanks = forms.add(c, forms.multiply(c, labels, c.i64(0)), blank)
    pairs = forms.concat(c, [blanks, labels], 2)
    sizes = OnnxSizes(c)
    items, count = sizes.of(target, 2)
    turns = sizes.reshape(pairs, [items, sizes.times(count, 2)])
    last = forms.expand(c, blank, sizes.list([items, 1]))
    return forms.concat(c, [turns, last], 1)


def _shifted(c: Conversion, values: Value, by: int, fill: Value) -> Value:
    """Shift rows [N, S] to the right by `by` positions, and fill the left with `fill` [1, 1]."""
    rows = forms.gather(c, forms.shape_of(c, values), c.i64([0]), 0)
    before = forms.expand(c, fill, forms.concat(c, [rows, c.i64([by])], 0))
    return forms.slice_(c, forms.concat(c, [before, values], 1), [0], [-by], [1])


def _all_frames(
    c: Conversion, op: ov.CTCLoss, states: Value, place: Value, chances: Value, active: Value
) -> Value:
    """Emit a Scan over the frames that adds up the probabilities of all CTC alignments.

    The result [N, S] is the log probability of all alignments that are in a state after the last
    frame. `states` [N, S] holds the label of each state, and `place` [S] the numbers of the states.
    `chances` [N, T, S] holds the log probability of each state's label in each frame. `active`
    [N, T] is true for the frames of an item, and false for its padding.
    """
    out, zero = c.constant([[OUT]], F32), c.constant(0.0, F32)
    half = forms.divide(c, place, c.i64(2))
    is_blank = forms.equal(c, forms.multiply(c, half, c.i64(2)), place)
    skips = c(comparison.And(), forms.logical_not(c, is_blank), at_least(c, place, c.i64(2)))
    if op.ctc_merge_repeated:
        before = _shifted(c, states, 2, c.i64([[-1]]))
        other = forms.logical_not(c, forms.equal(c, states, before))
        skips = c(comparison.And(), skips, other)
    first = forms.select(c, forms.equal(c, place, c.i64(0)), zero, out)
    start = forms.expand(c, first, forms.shape_of(c, states))
    scan = OnnxScanBuilder(c, "frames")
    inner = scan.inner
    state = scan.state(start, start.type, "paths")
    paths = state.parameter
    chance = scan.scan(chances, 1, False, "chances")
    runs = scan.scan(active, 1, False, "active")
    none = inner.constant([[OUT]], F32)
    stays = paths
    if not op.ctc_merge_repeated:
        stays = forms.select(inner, scan.capture(is_blank), paths, none)
    skipped = _shifted(inner, paths, 2, none)
    skipped = forms.select(inner, scan.capture(skips), skipped, none)
    ahead = _log_sum(inner, stays, _shifted(inner, paths, 1, none), skipped)
    ahead = forms.add(inner, ahead, chance)
    state.result = forms.select(inner, forms.unsqueeze(inner, runs, [1]), ahead, paths)
    return scan.finish()[state]


def _log_sum(c: Conversion, *values: Value) -> Value:
    """Emit log(exp(a) + exp(b) + ...) for logarithms a, b, ... without overflow.

    If all of them are minus infinity, so is the result.
    """
    most = values[0]
    for value in values[1:]:
        most = forms.maximum(c, most, value)
    most = forms.maximum(c, most, c.constant(LOWEST, F32))
    total = None
    for value in values:
        part = c(elementwise.Exp(), forms.subtract(c, value, most))
        total = part if total is None else forms.add(c, total, part)
    assert total is not None, "there is at least one value"
    return forms.add(c, c(elementwise.Log(), total), most)


def _ends(c: Conversion, paths: Value, counts: Value) -> tuple[Value, Value]:
    """Compute the log probabilities of ending in the last blank and in the last label.

    `paths` [N, 2 * L + 1] holds the log probability of each state after the last frame; the states
    are blanks and labels in turn. `counts` [N] holds the number of labels of each item.

    Returns two values [N, 1]: for the last blank and for the last label. For an item without labels
    the second is a very low constant, used in place of the logarithm of 0.
    """
    count = forms.unsqueeze(c, counts, [1])
    last = forms.multiply(c, count, c.i64(2))
    label = forms.maximum(c, forms.subtract(c, last, c.i64(1)), c.i64(0))
    blank_end, label_end = (c(GatherElements(1), paths, at) for at in (last, label))
    some = forms.less(c, c.i64(0), count)
    return blank_end, forms.select(c, some, label_end, c.constant(OUT, F32))
