"""OVN134: a recurrent sequence of an empty batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.plugin import is_written_as_loop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.gather import Gather8
from irloop.dialects.openvino.recurrent import SEQUENCES, RNNSequence
from irloop.dialects.openvino.shape import Broadcast3, ShapeOf3
from irloop.faults.case import empty, run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType
from irloop.passes.recurrent_loops import replace_by_gates

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["SequenceOfAnEmptyBatch"]


class SequenceOfAnEmptyBatch(
    Fault,
    code="OVN134",
    engine="openvino",
    title="A recurrent sequence of an empty batch",
    effect=Effect.CRASH,
    repairs_always=True,
    fix="Write the sequence as a Loop that joins its outputs along axis 0: irloop transform.",
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
        Conversion to IR and ``irloop transform`` write such a sequence as a loop of its gates that
        joins along axis 0. Conversion folds the results of a batch that is known to be empty.
    """

    operations = SEQUENCES

    def find(self, node: Node) -> Iterator[str]:
        data = node.inputs[0] if isinstance(node.op, SEQUENCES) else None
        dims = None if data is None else shape_of(data).dims
        if data is None or (dims is not None and isinstance(dims[0], int) and dims[0] > 0):
            return
        if (dims is not None and dims[0] == 0) or is_written_as_loop(node):
            yield f"the batch of {node.op.type} {node.name!r} may be empty"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Replace the sequence by a loop of gates, as the pass `sequences_to_gates` does."""
        replace_by_gates(node, w)


@SequenceOfAnEmptyBatch.case(
    "openvino_sequence_of_an_empty_batch",
    "IR: rare forms",
    "OpenVINO RNNSequence-5",
    "X has the shape [batch_size, seq_length, input_size]; a batch may have no items.",
    # h1 = 3 + 1, h2 = 4 + 2.
    run([[[[1], [2]]], [[[3]]], [[[1]]]], [[[[[4], [6]]]], [[[6]]]]),
    run([empty(0, 2, 1), empty(0, 1, 1), [[[1]]]], [empty(0, 1, 2, 1), empty(0, 1, 1)]),
)
def smallest() -> Model:
    m = IrModel()
    x, h, weight = m.input("x", None, 2, 1), m.input("h", None, 1, 1), m.input("w", 1, 1, 1)
    items = m(
        Gather8(),
        m(ShapeOf3(ElementType.I64), x),
        m.constant([0], ElementType.I64),
        m.constant(0, ElementType.I64),
    )
    lengths = m(Broadcast3(), m.constant(2, ElementType.I64), items)
    bias = m.constant([[0]])
    op = RNNSequence(hidden_size=1, activations=("relu",))
    node = m.builder.emit(op, x, h, lengths, weight, weight, bias, n_outputs=2)
    return m.done(*node.outputs)
