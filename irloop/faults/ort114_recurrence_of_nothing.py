"""ORT114: an LSTM or GRU of a tensor without elements."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.analysis.patterns import may_be_empty
from irloop.dialects.onnx.recurrent import GRU, GRU1, LSTM, LSTM1
from irloop.faults.case import empty, onnx_text, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Node

__all__ = ["RecurrenceOfNothing"]


class RecurrenceOfNothing(
    Fault,
    code="ORT114",
    engine="onnxruntime",
    title="An LSTM or GRU of a tensor without elements",
    effect=Effect.CRASH,
    fix="Give the batch and the sequence at least one element.",
):
    """An LSTM or GRU of a tensor without elements.

    What happens:
        An LSTM or GRU of a batch of 0 items aborts the process, and so does a GRU of 0 steps. By
        the specification the results have no elements either. RNN has no such fault.
    Where:
        A dimension of the first input is 0 or not known before the model runs.
    What irloop does:
        Nothing: if the batch size is unknown, the operation is right for every batch size except 0.
    """

    concerns_conversion = False
    operations = (LSTM, LSTM1, GRU, GRU1)

    def find(self, node: Node) -> Iterator[str]:
        data = node.inputs[0] if isinstance(node.op, LSTM | LSTM1 | GRU | GRU1) else None
        if data is not None and may_be_empty(shape_of(data)):
            yield f"{data.name!r}, the input of {node.op.type} {node.name!r}, may be empty"


@RecurrenceOfNothing.case(
    "gru_of_an_empty_batch",
    "ONNX: empty tensors, omitted inputs",
    "ONNX GRU-14",
    (
        "X: the input sequences packed into one tensor of shape [seq_length, batch_size, "
        "input_size]."
    ),
    run([empty(2, 0, 1), [[[1], [1], [1]]], [[[1], [1], [1]]]], [empty(2, 1, 0, 1)]),
)
def smallest() -> str:
    return onnx_text("""
g (float[2, n, 1] x, float[1, 3, 1] w, float[1, 3, 1] r) => (float[2, 1, n, 1] y) {
  y = GRU <hidden_size = 1> (x, w, r)
}""")
