"""Converts LSTM, GRU and RNN sequences to TensorIterators over cells."""

from __future__ import annotations

from irloop.analysis.patterns import is_in_iterator
from irloop.dialects.openvino import recurrent
from irloop.graph.model import Node, Value
from irloop.graph.op import Op
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter
from irloop.passes.openvino_node_writer import OpenVinoNodeWriter
from irloop.passes.recurrent_loops import SequenceSteps

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
        sequence = None if is_in_iterator(node) else _SequenceOfCells.of(node, w)
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


class _SequenceOfCells(SequenceSteps):
    """A sequence whose steps are cells."""

    def prepared(self, x: Value, weights: list[Value]) -> tuple[Value, list[Value]]:
        return x, weights

    def step(
        self, c: OpenVinoNodeWriter, x: Value, states: list[Value], weights: list[Value]
    ) -> list[Value]:
        return list(c.emit(cell_of(self.op), x, *states, *weights).outputs)
