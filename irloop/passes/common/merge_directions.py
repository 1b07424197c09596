"""Merges two sequences that read the same input in both directions into a bidirectional one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from irloop.dialects.openvino import recurrent, slicing
from irloop.dialects.openvino.shape import RESHAPING, Transpose
from irloop.graph.builder import element_of
from irloop.graph.inference import Inference
from irloop.graph.model import Model, Node, Value
from irloop.graph.tensor import ArrayTensor
from irloop.passes.forms import Forms
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.stored import array_of

__all__ = ["MergeDirections"]

#: Operations that may be between a sequence and the concatenation of its results.
SHAPING = (*RESHAPING, Transpose)


class MergeDirections(MatcherPass):
    """Merges a forward and a reverse sequence whose results are concatenated.

    Given::

        y = GRUSequence(x, h, n, W, R, B; forward)    z = GRUSequence(x, g, n, V, S, C; reverse)
        both = Concat(y, z; axis 1)

    Result::

        both = GRUSequence(x, Concat(h, g), n, W and V, R and S, B and C; bidirectional)

    A direction that is read alone, or concatenated in another shape, is sliced from the merged
    result. Sequences that differ in attributes, inputs or lengths are not merged, nor are sequences
    whose first results are never concatenated.
    """

    name = "merge_directions"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(recurrent.SEQUENCES)

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        first = match.root
        second = _partner(first, rewriter.inference)
        if second is None or not _moved_before(first, second, rewriter):
            return False
        order = (first, second) if _direction(first) == "forward" else (second, first)
        forms = Forms(Model(rewriter.graph, "openvino", 10), rewriter, first, first.name)
        _merge(order, forms)
        return True


def _direction(node: Node) -> str:
    return str(getattr(node.op, "direction", "")).lower()


def _partner(node: Node, known: Inference) -> Node | None:
    """Return a sequence operation that can form a bidirectional one with `node`, or None.

    It reads the same input as `node` in the opposite direction. Its other attributes and the
    sequence lengths are equal, and a Concat joins the outputs of the two operations.
    """
    op, x = node.op, node.inputs[0]
    assert isinstance(op, recurrent.SEQUENCES)
    other = {"forward": "reverse", "reverse": "forward"}.get(_direction(node))
    if x is None or other is None:
        return None
    lengths = len(node.outputs)
    for user, position in x.uses:
        if position or type(user.op) is not type(op) or _direction(user) != other:
            continue
        if replace(op, direction="") != replace(user.op, direction=""):
            continue
        mine, theirs = node.inputs[lengths], user.inputs[lengths]
        joins = _concats_of(node.outputs[0]) & _concats_of(user.outputs[0])
        if _equal(mine, theirs, known) and joins:
            return user
    return None


def _equal(one: Value | None, two: Value | None, known: Inference) -> bool:
    if one is None or two is None or one is two:
        return one is two
    left, right = known.constant(one), known.constant(two)
    return left is not None and right is not None and np.array_equal(left, right)


def _concats_of(value: Value) -> set[Node]:
    """The Concats that a value reaches through reshaping operations only."""
    found: set[Node] = set()
    pending = [value]
    while pending:
        for user, _ in pending.pop().uses:
            if isinstance(user.op, slicing.Concat):
                found.add(user)
            elif isinstance(user.op, SHAPING):
                pending.append(user.outputs[0])
    return found


def _joined(one: Node, two: Node, index: int) -> Node | None:
    """Return the Concat that joins output `index` of two sequences along axis 1, or None.

    Axis 1 is the axis of directions. The output of the forward sequence must come first.
    """
    first, second = (one, two) if _direction(one) == "forward" else (two, one)
    for user, _ in first.outputs[index].uses:
        both = (first.outputs[index], second.outputs[index])
        if isinstance(user.op, slicing.Concat) and user.op.axis == 1 and user.inputs == both:
            return user
    return None


def _moved_before(anchor: Node, node: Node, rewriter: MatchRewriter) -> bool:
    """Reorder the graph so that everything `node` depends on precedes `anchor`.

    `node` itself is not moved. Returns False, and moves nothing, if `node` does not come after
    `anchor` or depends on it.
    """
    late: set[Node] = set()
    behind = anchor.following
    while behind is not None:
        late.add(behind)
        behind = behind.following
    if node not in late:
        return False
    moved: list[Node] = []
    pending = [value.producer for value in node.inputs if value is not None]
    while pending:
        one = pending.pop()
        if one is anchor:
            return False
        if one in late and one not in moved:
            moved.append(one)
            pending += [value.producer for value in one.inputs if value is not None]
    for one in [item for item in _in_order(anchor) if item in moved]:
        rewriter.move_before(one, anchor)
    return True


def _in_order(anchor: Node) -> list[Node]:
    found: list[Node] = []
    node = anchor.following
    while node is not None:
        found.append(node)
        node = node.following
    return found


def _merge(order: tuple[Node, Node], forms: Forms) -> None:
    forward, reverse = order
    count = len(forward.outputs)
    pairs = list(zip(forward.inputs, reverse.inputs, strict=True))
    states = [_concatenated(pair, 1, forms) for pair in pairs[1:count]]
    weights = [_concatenated(pair, 0, forms) for pair in pairs[count + 1 :]]
    op = replace(forward.op, direction="bidirectional")  # type: ignore[call-arg]
    made = forms.rewriter.insert(
        op,
        (forward.inputs[0], *states, forward.inputs[count], *weights),
        before=forms.before,
        name=forward.name,
        n_outputs=count,
    )
    for index, value in enumerate(made.outputs):
        join = _joined(forward, reverse, index)
        if join is not None:
            forms.rewriter.replace_node(join, [value])
        for place, node in enumerate(order):
            if node.outputs[index].is_used:
                one = forms.take(value, [place], 1)
                forms.rewriter.replace_value(node.outputs[index], one)
    for node in order:
        forms.rewriter.erase(node)


def _concatenated(pair: tuple[Value | None, Value | None], axis: int, forms: Forms) -> Value:
    """Concatenate two values; the concatenation of constants is a constant."""
    given = [value for value in pair if value is not None]
    arrays = [array for array in map(array_of, given) if array is not None]
    if len(arrays) < 2:
        return forms.concat(given, axis)
    tensor = ArrayTensor(np.concatenate(arrays, axis), element_of(given[0]))
    name = given[0].producer.name
    return forms.rewriter.insert_constant(tensor, before=forms.before, name=name)
