"""Converts LSTM, GRU and RNN sequences to TensorIterators over cells."""

from __future__ import annotations

from dataclasses import dataclass

from irloop.analysis.patterns import is_in_iterator
from irloop.dialects.openvino import control_flow as ov
from irloop.dialects.openvino import recurrent, reorder
from irloop.dialects.openvino.elementwise import Maximum
from irloop.dialects.wire_ends import LAST, STATE, joined_port, slice_port
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Graph, Model, Node, Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.loop_wires import LoopWires
from irloop.passes.match_rewriter import MatchRewriter
from irloop.passes.node_writer import NodeWriter
from irloop.passes.stored import changed
from irloop.passes.writers import writer_at

__all__ = ["SequenceToTensorIterator"]


class SequenceToTensorIterator(NodePass):
    """Converts a recurrent sequence to a TensorIterator over a cell, one for each direction.

    Given::

        y, h1 = GRUSequence(x [B,T,I], h [B,1,S], lengths, W, R, B)

    Result::

        TensorIterator(x, Squeeze(h)):
          p: x[axis 1]   s: h, s' = GRUCell(Squeeze(p), s, W, R, B)
          -> last s, joined Unsqueeze(s'), axis 1

    If the lengths are not all known to reach the end, an item that has ended keeps its state and
    outputs zeros. If the slices are then read backwards, a ReverseSequence reverses them up to the
    length of each item. A sequence in the body of a TensorIterator is not converted, because
    OpenVINO does not allow nested TensorIterators.
    """

    name = "sequence_to_tensor_iterator"
    dialects = frozenset({"openvino"})
    operations = recurrent.SEQUENCES

    def rewrite(self, node: Node, w: NodeWriter) -> list[Value] | None:
        if is_in_iterator(node) or None in node.inputs:
            return None
        sequence = _Sequence.of(node, w)
        return None if sequence is None else sequence.iterated()


def cell_of(op: Op) -> Op:
    """The cell that a sequence runs in each step."""
    assert isinstance(op, recurrent.Recurrent)
    settings = (op.hidden_size, op.activations, op.activations_alpha, op.activations_beta, op.clip)
    if isinstance(op, recurrent.LSTMSequence):
        return recurrent.LSTMCell(*settings)
    if isinstance(op, recurrent.GRUSequence):
        return recurrent.GRUCell(*settings, op.linear_before_reset)
    return recurrent.RNNCell(*settings)


@dataclass(slots=True)
class _Sequence:
    """A sequence operation and its inputs by name."""

    node: Node
    rewriter: MatchRewriter
    forms: NodeWriter
    x: Value
    states: list[Value]
    #: The lengths [B, 1], or None if every item reaches the end.
    lengths: Value | None
    weights: list[Value]

    @classmethod
    def of(cls, node: Node, forms: NodeWriter) -> _Sequence | None:
        """The sequence operation `node` and its inputs.

        None if X or a state is not known to have rank 3.
        """
        operands = [value for value in node.inputs if value is not None]
        count = len(node.outputs) - 1
        x, states, lengths = operands[0], operands[1 : 1 + count], operands[1 + count]
        if any(shape_of(value).rank != 3 for value in (x, *states)):
            return None
        made = cls(node, forms.rewriter, forms, x, states, None, operands[2 + count :])
        steps = shape_of(x).dim(1)
        known = forms.rewriter.inference.constant(lengths)
        if known is None or not isinstance(steps, int) or bool((known < steps).any()):
            # A length beyond the end means the end.
            whole = forms.convert(lengths, ElementType.I32)
            most = forms.convert(forms.size_of(x, 1), ElementType.I32)
            made.lengths = forms.unsqueeze(forms.minimum(whole, most), [1])
        return made

    def iterated(self) -> list[Value]:
        """Emit the loops and return one value for each output of the sequence."""
        direction = str(getattr(self.node.op, "direction", "forward")).lower()
        backwards = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
        made = [
            self._one_direction(place, reverse)
            for place, reverse in enumerate(backwards[direction])
        ]
        return [
            self.forms.concat([self.forms.unsqueeze(value, [1]) for value in values], 1)
            for values in zip(*made, strict=True)
        ]

    def _one_direction(self, place: int, reverse: bool) -> list[Value]:
        """Emit a loop for one direction; return Y [B, T, S] and the last states [B, S].

        `place` is the index of the direction on the direction axis of states and weights. With
        `reverse`, the loop runs from the last element of each sequence to the first.
        """
        forms, node, x = self.forms, self.node, self.x
        states = [forms.take(state, place, 1) for state in self.states]
        turned = reverse and self.lengths is not None
        if self.lengths is not None:
            zero = forms.constant([[0]], ElementType.I32)
            runs = forms.less(zero, self.lengths)
            states = [forms.select(runs, state, _zero(forms, state)) for state in states]
        if turned:
            x = self._reversed(x)
        wires = LoopWires(node, Graph(f"{node.name}/body"))
        inner = self.rewriter_of(wires.graph)
        body = writer_at(Model(wires.graph, "openvino", 10), inner, None, node.name)
        how = (-1, 0, -1) if reverse and not turned else (0, -1, 1)
        names = self.rewriter.names
        shape = shape_of(x).with_dim(1, 1)
        piece = wires.enter(
            x,
            names.fresh(f"{node.name}/step"),
            slice_port(1, *how),
            TensorType(element_of(x), shape),
        ).parameter
        held = [self._state(wires, state) for state in states]
        weights = [self._weight(wires, body, value, place) for value in self.weights]
        cell = inner.insert(
            cell_of(node.op),
            (body.squeeze(piece, [1]), *held, *weights),
            before=None,
            name=f"{node.name}/cell",
            n_outputs=len(held),
        )
        new, shown = list(cell.outputs), cell.outputs[0]
        if self.lengths is not None:
            new, shown = self._masked(wires, body, self.lengths, new, held)
        for item, value in zip(wires.states, new, strict=True):
            item.result = value
        joined = body.unsqueeze(shown, [1])
        wires.leave(joined, joined_port(1, *how))
        for value in new[: len(states)]:
            wires.leave(value, LAST)
        loop, _ = wires.insert(ov.TensorIterator(), self.rewriter, before=node)
        y, *lasts = loop.outputs
        return [self._reversed(y) if turned else y, *lasts]

    def rewriter_of(self, graph: Graph) -> MatchRewriter:
        """Return a rewriter for the new body `graph`.

        It uses the type inference and the names of the outer rewriter, so that names stay unique.
        """
        return MatchRewriter(graph, self.rewriter.inference, self.rewriter.names)

    def _state(self, wires: LoopWires, initial: Value) -> Value:
        assert isinstance(initial.type, TensorType)
        name = self.rewriter.names.fresh(f"{self.node.name}/state")
        return wires.enter(initial, name, STATE, initial.type).parameter

    def _weight(self, wires: LoopWires, body: NodeWriter, value: Value, place: int) -> Value:
        made = changed(value, lambda array: array[place], body.rewriter, None)
        if made is not None:
            return made
        name = self.rewriter.names.fresh(value.producer.name)
        return wires.capture(self.forms.take(value, place, 0), name)

    def _reversed(self, value: Value) -> Value:
        """Reverse the steps of each item of `value` [B, T, ...], up to the item's length."""
        forms = self.forms
        assert self.lengths is not None
        lengths = forms.squeeze(self.lengths, [1])
        # A length of 0 becomes 1, because not every runtime accepts 0 and reversing one step has no
        # effect either.
        bounded = forms(Maximum(), lengths, forms.constant([1], ElementType.I32))
        return forms(reorder.ReverseSequence(0, 1), value, bounded)

    def _masked(
        self,
        wires: LoopWires,
        body: NodeWriter,
        lengths: Value,
        new: list[Value],
        held: list[Value],
    ) -> tuple[list[Value], Value]:
        """Freeze the states of items that have ended, and set their outputs to 0.

        `lengths` [B, 1] holds the number of steps of each item. `held` are the states before this
        step, and `new` the states that the cell computes. To find the items that have ended, an
        additional state counts the steps. Returns the states after this step, including the count,
        and the output.
        """
        names = self.rewriter.names
        zero = self.forms.constant([0], ElementType.I32)
        type = TensorType(ElementType.I32, Shape.of(1))
        name = names.fresh(f"{self.node.name}/count")
        count = wires.enter(zero, name, STATE, type).parameter
        limit = wires.capture(lengths, names.fresh(f"{self.node.name}/lengths"))
        runs = body.less(count, limit)
        kept = [body.select(runs, one, old) for one, old in zip(new, held, strict=True)]
        shown = body.select(runs, new[0], _zero(body, new[0]))
        following = body.add(count, body.constant([1], ElementType.I32))
        return [*kept, following], shown


def _zero(forms: NodeWriter, like: Value) -> Value:
    return forms.constant(0, element_of(like))
