"""Writes a recurrent sequence of OpenVINO as loops over its steps, one for each direction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self

from irloop.analysis.lengths import reach_the_end
from irloop.analysis.patterns import is_in_iterator
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino import recurrent, reorder
from irloop.dialects.wire_ends import LAST, STATE, joined_port, slice_port
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Graph, Node, Value
from irloop.graph.types import ElementType, TensorType
from irloop.passes.loop_bounds import cut_if_idle
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.openvino_node_writer import OpenVinoNodeWriter
from irloop.passes.recurrent_gates import Gates, cut, projected
from irloop.passes.stored import changed

__all__ = ["SequenceSteps", "replace_by_gates"]


@dataclass(slots=True)
class SequenceSteps(ABC):
    """A sequence operation and its inputs, and how a loop computes one of its steps."""

    node: Node
    op: recurrent.Recurrent
    c: OpenVinoNodeWriter
    x: Value
    states: list[Value]
    #: The lengths [B, 1], or None if every item reaches the end.
    lengths: Value | None
    #: W, R, the bias and perhaps the peepholes.
    weights: list[Value]

    @classmethod
    def of(cls, node: Node, w: NodeWriter) -> Self | None:
        """The sequence operation `node` and its inputs.

        None if an input is missing, or if X or a state is not known to have rank 3.
        """
        op, operands = node.op, [value for value in node.inputs if value is not None]
        assert isinstance(op, recurrent.Recurrent)
        count = len(node.outputs) - 1
        x, states, lengths = operands[0], operands[1 : 1 + count], operands[1 + count]
        known = all(shape_of(value).rank == 3 for value in (x, *states))
        if len(operands) < len(node.inputs) or not known:
            return None
        c = OpenVinoNodeWriter(w.rewriter, node, node.name)
        made = cls(node, op, c, x, states, None, operands[2 + count :])
        if not reach_the_end(lengths, x, c.constant_of):
            # A length beyond the end means the end.
            whole = c.convert(lengths, ElementType.I32)
            most = c.convert(c.size_of(x, 1), ElementType.I32)
            made.lengths = c.unsqueeze(c.minimum(whole, most), [1])
        return made

    @abstractmethod
    def prepared(self, x: Value, weights: list[Value]) -> tuple[Value, list[Value]]:
        """Return what the loop slices [B, T, ...], and the values that its body reads.

        `x` and `weights` are those of one direction.
        """

    @abstractmethod
    def step(
        self, c: OpenVinoNodeWriter, x: Value, states: list[Value], weights: list[Value]
    ) -> list[Value]:
        """Emit the new states [B, S] into the body, from the slice without its axis of steps.

        `weights` are the body's values of those that `prepared` returned.
        """

    def iterated(self) -> list[Value]:
        """Emit the loops and return one value for each output of the sequence."""
        direction = str(getattr(self.op, "direction", "forward")).lower()
        backwards = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
        made = [
            self._one_direction(place, reverse)
            for place, reverse in enumerate(backwards[direction])
        ]
        return [
            self.c.concat([self.c.unsqueeze(value, [1]) for value in values], 1)
            for values in zip(*made, strict=True)
        ]

    def _one_direction(self, place: int, reverse: bool) -> list[Value]:
        """Emit a loop for one direction; return Y [B, T, S] and the last states [B, S].

        `place` is the index of the direction on the direction axis of states and weights. With
        `reverse`, the loop runs from the last element of each sequence to the first.
        """
        c, node, x, lengths = self.c, self.node, self.x, self.lengths
        states = [self._of_direction(state, place, 1) for state in self.states]
        if lengths is not None:
            runs = c.less(c.constant([[0]], ElementType.I32), lengths)
            states = [c.select(runs, state, c.scalar(0.0, state)) for state in states]
            if reverse:
                x = self._reversed(x)
        weights = [self._of_direction(value, place, 0) for value in self.weights]
        x, weights = self.prepared(x, weights)
        # OpenVINO allows no TensorIterator in a TensorIterator, and its Loops run forwards.
        as_loop = is_in_iterator(node)
        backwards = reverse and lengths is None
        if backwards and as_loop:
            x = c.reverse(x, 1)
        wires = LoopWires(node, Graph(f"{node.name}/body"))
        body = OpenVinoNodeWriter(MatchRewriter(wires.graph, c.inference, c.names), None, node.name)
        how = (-1, 0, -1) if backwards and not as_loop else (0, -1, 1)
        type = TensorType(element_of(x), shape_of(x).with_dim(1, 1))
        name = c.names.fresh(f"{node.name}/step")
        piece = wires.enter(x, name, slice_port(1, *how), type).parameter
        held = [self._state(wires, state) for state in states]
        inner = [self._entered(wires, body, value) for value in weights]
        new = self.step(body, body.squeeze(piece, [1]), held, inner)
        shown = new[0]
        if lengths is not None:
            new, shown = self._masked(wires, body, lengths, new, held)
        for item, value in zip(wires.states, new, strict=True):
            item.result = value
        # OpenVINO divides by the number of items if it joins along a later axis (OVN132).
        batch = shape_of(x).dim(0)
        axis = 1 if isinstance(batch, int) and batch > 0 else 0
        wires.leave(body.unsqueeze(shown, [axis]), joined_port(axis, *how))
        for value in new[: len(states)]:
            wires.leave(value, LAST)
        y, *lasts = self._loop(wires, body, axis, x) if as_loop else self._iterator(wires)
        if axis == 0:
            y = c.transpose(y, [1, 0, 2])
        if backwards and as_loop:
            y = c.reverse(y, 1)
        return [self._reversed(y) if reverse and lengths is not None else y, *lasts]

    def _iterator(self, wires: LoopWires) -> tuple[Value, ...]:
        return wires.insert(ov.TensorIterator(), self.c.rewriter, before=self.node)[0].outputs

    def _loop(
        self, wires: LoopWires, body: OpenVinoNodeWriter, axis: int, x: Value
    ) -> tuple[Value, ...]:
        c = self.c
        trip, starts = c.size_of(x, 1), c.constant(True, ElementType.BOOLEAN)
        wires.trip, wires.starts = trip, starts
        wires.goes_on = body.constant(True, ElementType.BOOLEAN)
        made, _ = wires.insert(ov.Loop(), c.rewriter, before=self.node)
        y, *lasts = made.outputs
        if c.constant_of(trip) is None:
            y = cut_if_idle(c, y, axis, trip, starts)
        return (y, *lasts)

    def _of_direction(self, value: Value, place: int, axis: int) -> Value:
        """Take the index `place` of the axis of directions, which goes."""
        c = self.c
        made = changed(value, lambda array: array.take(place, axis), c.rewriter, self.node)
        if made is not None:
            return made
        return (
            c.squeeze(value, [axis])
            if shape_of(value).dim(axis) == 1
            else c.take(value, place, axis)
        )

    def _state(self, wires: LoopWires, initial: Value) -> Value:
        assert isinstance(initial.type, TensorType)
        name = self.c.names.fresh(f"{self.node.name}/state")
        return wires.enter(initial, name, STATE, initial.type).parameter

    def _entered(self, wires: LoopWires, body: OpenVinoNodeWriter, value: Value) -> Value:
        """The body's value of an outer one; a constant is stored in the body."""
        made = changed(value, lambda array: array, body.rewriter, None)
        return made or wires.capture(value, self.c.names.fresh(value.producer.name))

    def _reversed(self, value: Value) -> Value:
        """Reverse the steps of each item of `value` [B, T, ...], up to the item's length."""
        c = self.c
        assert self.lengths is not None
        lengths = c.squeeze(self.lengths, [1])
        # A length of 0 becomes 1, because not every runtime accepts 0 and reversing one step has no
        # effect either.
        bounded = c.maximum(lengths, c.constant([1], ElementType.I32))
        return c(reorder.ReverseSequence(0, 1), value, bounded)

    def _masked(
        self,
        wires: LoopWires,
        body: OpenVinoNodeWriter,
        lengths: Value,
        new: list[Value],
        held: list[Value],
    ) -> tuple[list[Value], Value]:
        """Freeze the states of items that have ended, and set their outputs to 0.

        `lengths` [B, 1] holds the number of steps of each item. `held` are the states before this
        step, and `new` the states that it computes. To find the items that have ended, an
        additional state counts the steps. Returns the states after this step, including the count,
        and the output.
        """
        names = self.c.names
        zero = self.c.constant([0], ElementType.I32)
        name = names.fresh(f"{self.node.name}/count")
        count = wires.enter(zero, name, STATE, zero.type).parameter
        limit = wires.capture(lengths, names.fresh(f"{self.node.name}/lengths"))
        runs = body.less(count, limit)
        kept = [body.select(runs, one, old) for one, old in zip(new, held, strict=True)]
        shown = body.select(runs, new[0], body.scalar(0.0, new[0]))
        following = body.add(count, body.constant([1], ElementType.I32))
        return [*kept, following], shown


@dataclass(slots=True)
class _SequenceOfGates(SequenceSteps):
    """A sequence whose steps are gates; the inputs of all steps are projected before the loop."""

    def prepared(self, x: Value, weights: list[Value]) -> tuple[Value, list[Value]]:
        c, size = self.c, self.op.hidden_size
        w, r, bias, *peepholes = weights
        parts = [r]
        if isinstance(self.op, recurrent.GRUSequence):
            parts = cut(c, r, [2 * size, size])
            if self.op.linear_before_reset:
                bias, own = cut(c, bias, [3 * size, size])
                parts.append(own)
        for value in peepholes:
            parts += cut(c, value, [size] * 3)
        return projected(c, x, w, bias), parts

    def step(
        self, c: OpenVinoNodeWriter, x: Value, states: list[Value], weights: list[Value]
    ) -> list[Value]:
        size = self.op.hidden_size
        if isinstance(self.op, recurrent.GRUSequence):
            own = weights[2] if self.op.linear_before_reset else None
            return Gates(c, self.op, size, weights[:2], own).step(x, states)
        return Gates(c, self.op, size, weights[:1], peepholes=weights[1:]).step(x, states)


def replace_by_gates(node: Node, w: NodeWriter) -> None:
    """Replace a sequence by loops of gates, unless it is not known enough (`SequenceSteps.of`)."""
    sequence = _SequenceOfGates.of(node, w)
    if sequence is not None:
        w.rewriter.replace_node(node, sequence.iterated())
