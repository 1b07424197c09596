"""OVN134: a recurrent sequence of an empty batch."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.dialects.openvino.recurrent import SEQUENCES
from irloop.graph.builder import shape_of
from irloop.graph.model import Node
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.plugin import is_written_as_loop

__all__ = ["SequenceOfAnEmptyBatch"]


class SequenceOfAnEmptyBatch(
    Hazard,
    code="OVN134",
    engine="openvino",
    versions=("2026.4.1",),
    title="A recurrent sequence of an empty batch",
    effect=Effect.CRASH,
    case="openvino_sequence_of_an_empty_batch",
    fix="Write the sequence as a Loop that joins its outputs along axis 0.",
):
    """A recurrent sequence of an empty batch.

    What happens:
        The process ends with SIGFPE, or compilation fails. The plugin writes some sequences as a
        TensorIterator that joins the steps along an axis after the batch axis (OVN132).
    Where:
        An LSTMSequence, GRUSequence or RNNSequence has a batch of 0 items. If the batch
        size is known only at run time, only those sequences are at risk whose weights are
        computed, whose gates are clipped, or whose activations are not the defaults.
    What irloop does:
        Conversion to IR writes such an operation as a loop that joins along axis 0, and folds the
        results of a batch that is known to be empty.
    """

    operations = SEQUENCES

    def find(self, node: Node) -> Iterator[str]:
        data = node.inputs[0] if isinstance(node.op, SEQUENCES) else None
        dims = None if data is None else shape_of(data).dims
        if data is None or (dims is not None and isinstance(dims[0], int) and dims[0] > 0):
            return
        if (dims is not None and dims[0] == 0) or is_written_as_loop(node):
            yield f"the batch of {node.op.type} {node.name!r} may be empty"
