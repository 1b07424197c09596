"""Writes the recurrent sequences that a runtime lacks as loops of gates."""

from __future__ import annotations

from dataclasses import dataclass

from irloop.dialects.openvino import recurrent
from irloop.graph.model import Node
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter
from irloop.passes.recurrent_loops import replace_by_gates
from irloop.passes.stored import is_stored

__all__ = ["SequencesToGates"]

#: Activations that OpenVINO's CPU plugin runs inside a sequence.
EXECUTABLE = frozenset({"sigmoid", "tanh", "relu"})


@dataclass(eq=False)
class SequencesToGates(NodePass):
    """Writes sequences with peepholes, coupled gates or rare activations as loops of gates.

    Given::

        y, h1 = RNNSequence(x [B,T,I], h [B,1,S], lengths, W, R, B)   activation softsign

    Result::

        TensorIterator(x * W' + B, Squeeze(h)):
          p: x[axis 1]   s: h, s' = Softsign(s * R' + p)
          -> last s, joined Unsqueeze(s'), axis 1

    Lengths and directions are written as by `sequence_to_tensor_iterator`. Without
    `computed_weights` sequences whose weights are not constant are written so, too.
    """

    name = "sequences_to_gates"
    dialects = frozenset({"openvino"})
    operations = (*recurrent.SEQUENCES, recurrent.LSTMSequence1)

    computed_weights: bool = True

    def applies(self, node: Node) -> bool:
        op = node.op
        assert isinstance(op, recurrent.Recurrent)
        if isinstance(op, recurrent.LSTMSequence1):
            return True
        if any(name not in EXECUTABLE for name, _, _ in op.functions()):
            return True
        weights = node.inputs[-3:]
        return not (self.computed_weights or all(value and is_stored(value) for value in weights))

    def rewrite(self, node: Node, w: NodeWriter) -> None:
        replace_by_gates(node, w)
