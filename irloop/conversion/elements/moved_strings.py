"""Rewrites operations that move strings, because OpenVINO's CPU plugin cannot run them.

The plugin can run a Gather of strings, so Gather moves the strings instead.
"""

from __future__ import annotations

from irloop.dialects.openvino.elementwise import Add
from irloop.dialects.openvino.gather import Gather
from irloop.dialects.openvino.generate import Range
from irloop.dialects.openvino.shape import Reshape, ShapeOf3, Squeeze
from irloop.dialects.openvino.slicing import Concat
from irloop.graph.model import Value
from irloop.graph.types import ElementType
from irloop.hazards.strings import MOVING, moved_strings
from irloop.passes.forms import Emitter
from irloop.passes.graph_rewrite import MatcherPass
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.pattern import Match, Pattern, wrap_type
from irloop.passes.predicates import producer_is

__all__ = ["MoveStringsByNumbers"]


class MoveStringsByNumbers(MatcherPass):
    """Moves the positions of strings instead of the strings, and then gathers the strings.

    Given::

        y = Slice(x [?,2] of strings, ...)

    Result::

        numbers [?,2] = 0, 1, 2, ...    moved = Slice(numbers, ...)    y = Gather(list of x, moved)

    The list of x holds all strings of x on one axis, and the number of a string is its position in
    the list. If two inputs have strings, one list holds the strings of both. Every other operation
    that only moves elements is changed in the same way: Tile, Select, ScatterUpdate and so on.
    Hazard OVN153 is the reason.
    """

    name = "move_strings_by_numbers"
    dialects = frozenset({"openvino"})

    def pattern(self) -> Pattern:
        return wrap_type(MOVING, where=producer_is(lambda node: bool(moved_strings(node))))

    def rewrite(self, match: Match, rewriter: MatchRewriter) -> bool:
        node = match.root
        emitter = Emitter(rewriter, node, node.name)
        inputs, lists = list(node.inputs), list[Value]()
        start = emitter.constant(0)
        for at in moved_strings(node):
            data = node.inputs[at]
            assert data is not None
            lists.append(emitter.emit(Reshape(), data, emitter.constant([-1])))
            stop = _stop(emitter, start, lists[-1])
            numbers = emitter.emit(Range(), start, stop, emitter.constant(1))
            shape = emitter.emit(ShapeOf3(ElementType.I64), data)
            inputs[at] = emitter.emit(Reshape(), numbers, shape)
            start = stop
        strings = lists[0] if len(lists) == 1 else emitter.emit(Concat(0), *lists)
        moved = rewriter.insert(
            node.op,
            tuple(inputs),
            before=node,
            name=f"{node.name}/numbers",
            n_outputs=len(node.outputs),
        )
        axis = emitter.constant(0)
        rewriter.replace_node(
            node, [emitter.emit(Gather(), strings, places, axis) for places in moved.outputs]
        )
        return True


def _stop(emitter: Emitter, start: Value, strings: Value) -> Value:
    """Return `start` plus the number of elements in `strings`.

    The caller numbers the strings start, start + 1, and so on. The result is the number after that
    of the last string.
    """
    size = emitter.emit(Squeeze(), emitter.emit(ShapeOf3(ElementType.I64), strings))
    return emitter.emit(Add(), start, size)
