"""Merges two sequences that read the same input in both directions into a bidirectional one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from irloop.dialects.openvino import recurrent, slicing
from irloop.dialects.openvino.shape import RESHAPING, Transpose
from irloop.graph.builder import element_of
from irloop.graph.inference import Inference
from irloop.graph.model import Node, Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.walk import reached, upstream
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.stored import array_of

__all__ = ["MergeDirections"]

#: Operations that may be between a sequence and the concatenation of its results.
SHAPING = (*RESHAPING, Transpose)


class MergeDirections(NodePass):
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
    operations = recurrent.SEQUENCES

    def rewrite(self, node: Node, w: NodeWriter) -> None:
        second = _partner(node, w.rewriter.inference)
        if second is not None and _moved_before(node, second, w.rewriter):
            _merge((node, second) if _direction(node) == "forward" else (second, node), w)


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

    def shaped(value: Value) -> list[Value]:
        return [user.outputs[0] for user, _ in value.uses if isinstance(user.op, SHAPING)]

    users = (user for one in reached([value], shaped) for user, _ in one.uses)
    return {user for user in users if isinstance(user.op, slicing.Concat)}


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
    late: list[Node] = []
    behind = anchor.following
    while behind is not None:
        late.append(behind)
        behind = behind.following
    far = {anchor, *late}

    def followed(node: Node) -> list[Value]:
        return [value for value in node.inputs if value is not None and value.producer in far]

    needed = set(upstream([node], followed))
    if node not in far or anchor in needed:
        return False
    for one in late:
        if one in needed and one is not node:
            rewriter.move_before(one, anchor)
    return True


def _merge(order: tuple[Node, Node], forms: NodeWriter) -> None:
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


def _concatenated(pair: tuple[Value | None, Value | None], axis: int, forms: NodeWriter) -> Value:
    """Concatenate two values; the concatenation of constants is a constant."""
    values = [value for value in pair if value is not None]
    arrays = [array for array in map(array_of, values) if array is not None]
    if len(arrays) < 2:
        return forms.concat(values, axis)
    tensor = ArrayTensor(np.concatenate(arrays, axis), element_of(values[0]))
    name = values[0].producer.name
    return forms.rewriter.insert_constant(tensor, before=forms.before, name=name)
