"""Gives the iteration number of a Loop the shape in which its body reads it."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import number_of
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino.gather import GATHERS
from irloop.dialects.openvino.shape import Reshape, Unsqueeze
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.types import Shape, TensorType
from irloop.graph.walk import reached
from irloop.passes.loop_pass import LoopPass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.writers import writer_at

__all__ = ["ListedIteration"]

#: The shape of a list of one number.
ONE = Shape.of(1)


class ListedIteration(LoopPass):
    """Makes the iteration number a list if all that the body computes from it ends in lists.

    Given::

        Loop(3, true, x [3,2]), iteration i []:
          y = Unsqueeze(Gather(x, i, 0), 0)    z = Slice(x, Unsqueeze(i, 0), Unsqueeze(i + 2, 0))

    Result::

        Loop(3, true, x [3,2]), iteration i [1]:
          y = Gather(x, i, 0)                  z = Slice(x, i, i + 2)

    OpenVINO accepts an iteration number of either shape.
    """

    name = "listed_iteration"
    dialects = frozenset({"openvino"})
    loops = (ov.Loop,)

    def change(self, node: Node, wires: LoopWires, rewriter: MatchRewriter) -> None:
        number = wires.iteration
        if number is None or shape_of(number).rank != 0 or not _ends_in_lists(number):
            return
        inner = self.session.rewriter(wires.graph)
        writer = writer_at(self.model, inner, None, node.name)
        name, type = number.producer.name, TensorType(element_of(number), ONE)
        wires.iteration = wires.graph.add_parameter(
            rewriter.names.fresh(name), type, location=wires.location
        )
        _read_list(number, wires.iteration, writer)
        inner.erase_parameter(number.producer)
        inner.rename(wires.iteration.producer, name)
        wires.replace(ov.Loop(), rewriter)


def _ends_in_lists(number: Value) -> bool:
    """Return whether all that is computed from a scalar becomes a list, or keeps an axis, there."""

    def onward(value: Value) -> Iterator[Value]:
        yield from (user.output for user, _ in value.uses if _is_arithmetic(user))

    return all(
        value.is_used and all(_may_read_a_list(user, position) for user, position in value.uses)
        for value in reached([number], onward)
    )


def _may_read_a_list(user: Node, position: int) -> bool:
    return _makes_a_list(user) or (position == 1 and _keeps_its_axis(user)) or _is_arithmetic(user)


def _makes_a_list(node: Node) -> bool:
    return isinstance(node.op, Reshape | Unsqueeze) and shape_of(node.output) == ONE


def _keeps_its_axis(node: Node) -> bool:
    """Return whether the axis of a Gather returns, with size 1, in all that reads it."""
    data = node.inputs[0] if isinstance(node.op, GATHERS) else None
    rank = None if data is None else shape_of(data).rank
    axis = number_of(node.inputs[2]) if rank is not None else None
    batches: int = getattr(node.op, "batch_dims", 0)
    if rank is None or axis is None or batches or not node.output.is_used:
        return False
    return all(_adds_axis(user, axis % rank) for user, _ in node.output.uses)


def _adds_axis(node: Node, axis: int) -> bool:
    added = number_of(node.inputs[1]) if isinstance(node.op, Unsqueeze) else None
    rank = shape_of(node.outputs[0]).rank if node.outputs else None
    return added is not None and rank is not None and added % rank == axis


def _is_arithmetic(node: Node) -> bool:
    """Return whether a node computes with a number and constants that are scalars."""
    if not node.op.elementwise or len(node.outputs) != 1 or len(node.inputs) != 2:
        return False
    shapes = [shape_of(value).rank for value in node.inputs if value is not None]
    return shapes == [0, 0] and any(number_of(value) is not None for value in node.inputs)


def _read_list(number: Value, listed: Value, last: NodeWriter) -> None:
    """Let what reads the scalar `number` read the list `listed`; see `_ends_in_lists`."""
    pending, arithmetic = [(number, listed)], []
    while pending:
        old, new = pending.pop()
        for user, _ in old.uses:
            if user.graph is None:
                continue
            if _makes_a_list(user):
                last.rewriter.replace_value(user.output, new, keep_names=False)
                last.rewriter.erase(user)
                continue
            made = last.at(user)(
                user.op, *(new if value is old else value for value in user.inputs)
            )
            if not isinstance(user.op, GATHERS):
                pending.append((user.output, made))
                arithmetic.append((user, made))
                continue
            for reader, _ in user.output.uses:
                last.rewriter.replace_node(reader, (made,))
            last.rewriter.erase(user)
    for user, made in reversed(arithmetic):
        last.rewriter.replace_node(user, (made,))
