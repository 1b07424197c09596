"""ORT124: an LSTM, GRU or RNN whose batch axis comes first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from irloop.dialects.onnx.recurrent import GRU, LSTM, RNN
from irloop.faults.case import onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Node, Value

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["BatchFirstRecurrence"]

#: The positions of the inputs that have a batch axis, besides the lengths: X and the states.
BATCHED = (0, 5, 6)


class BatchFirstRecurrence(
    Fault,
    code="ORT124",
    engine="onnxruntime",
    title="An LSTM, GRU or RNN whose batch axis comes first",
    effect=Effect.REFUSAL,
    fix="Transpose the input, the states and the outputs, or run irloop transform --pass simplify.",
    repairs_always=True,
):
    """An LSTM, GRU or RNN whose batch axis comes first.

    What happens:
        The model is not loaded: "Batchwise recurrent operations (layout == 1) are not supported".
    Where:
        The attribute layout is 1, which opset 14 introduced.
    What irloop does:
        Conversion to ONNX never writes layout 1, and `transform` exchanges the axes of the input,
        the states and the outputs.
    """

    operations = (LSTM, GRU, RNN)

    def find(self, node: Node) -> Iterator[str]:
        if isinstance(node.op, LSTM | GRU | RNN) and node.op.layout == 1:
            yield f"{node.op.type} {node.name!r} has layout 1"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Exchange the axes outside of the operation.

        Given::

            Y [B, T, D, S], Y_h [B, D, S] = GRU <layout = 1> (X [B, T, I], W, R, , , H [B, D, S])

        Result::

            X' = Transpose(X), H' = Transpose(H)
            Y', Y_h' = GRU(X' [T, B, I], W, R, , , H' [D, B, S])
            Y = Transpose(Y' [T, D, B, S]), Y_h = Transpose(Y_h')
        """
        assert isinstance(node.op, LSTM | GRU | RNN)
        inputs = tuple(
            w.transpose(value, (1, 0, 2)) if at in BATCHED and value is not None else value
            for at, value in enumerate(node.inputs)
        )
        made = w.rewriter.insert(
            replace(node.op, layout=0),
            inputs,
            before=node,
            name=node.name,
            n_outputs=len(node.outputs),
        )
        y, *states = made.outputs
        results: list[Value] = [w.transpose(y, (2, 0, 1, 3))]
        w.rewriter.replace_node(node, results + [w.transpose(h, (1, 0, 2)) for h in states])


@BatchFirstRecurrence.case(
    "rnn_whose_batch_comes_first",
    "ONNX: recurrent operations",
    "ONNX RNN-14",
    "If 1, [...] X.shape = [batch_size, seq_length, input_size].",
    # h = max(0, x + h): 1, 1 + 2 for the first item of the batch, 5, 5 + 6 for the second.
    run([[[[1], [2]], [[5], [6]]], [[[1]]]], [[[[[1]], [[3]]], [[[5]], [[11]]]], [[[3]], [[11]]]]),
)
def smallest() -> str:
    return onnx_text("""
g (float[2, 2, 1] x, float[1, 1, 1] w) => (float[2, 2, 1, 1] y, float[2, 1, 1] h) {
  y, h = RNN <activations = ["Relu"], hidden_size = 1, layout = 1> (x, w, w)
}""")
