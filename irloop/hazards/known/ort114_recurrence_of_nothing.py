"""ORT114: an LSTM or GRU of a tensor without elements."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.onnx.recurrent import GRU, GRU1, LSTM, LSTM1
from irloop.graph.builder import shape_of
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.patterns import may_be_empty

__all__ = ["RecurrenceOfNothing"]


class RecurrenceOfNothing(
    Hazard,
    code="ORT114",
    engine="onnxruntime",
    versions=("1.31.1", "1.32.0"),
    title="An LSTM or GRU of a tensor without elements",
    effect=Effect.CRASH,
    case="gru_of_an_empty_batch",
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
