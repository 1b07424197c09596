"""OVN154: a recurrent sequence with lengths, whose data has an unknown size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.lengths import reach_the_end
from irloop.analysis.plugin import is_written_as_loop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.recurrent import SEQUENCES, RNNSequence
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType
from irloop.passes.recurrent_loops import replace_by_gates

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["LengthsOfAnUnknownShape"]


class LengthsOfAnUnknownShape(
    Fault,
    code="OVN154",
    engine="openvino",
    title="A recurrent sequence with lengths, whose data has an unknown size",
    effect=Effect.WRONG,
    passes=("sequence_to_tensor_iterator",),
    repairs_always=True,
):
    """A recurrent sequence with lengths, whose data has an unknown size.

    What happens:
        The plugin ignores `sequence_lengths` and computes every step of every item: Y is not 0
        beyond the length of an item, and the last states are those after the last step.
    Where:
        A dimension of X of an LSTMSequence, GRUSequence or RNNSequence is known only at run time,
        the batch and the input size included. The weights are constant, no gate is clipped, and
        the activations are the defaults: the plugin writes any other sequence as a TensorIterator,
        which reads the lengths. Lengths that are known to equal the number of steps are not
        reported: the results are correct.
    What irloop does:
        Conversion to IR and ``irloop transform`` write such a sequence as a loop of its gates. The
        pass sequence_to_tensor_iterator writes it as a loop of cells.
    """

    operations = SEQUENCES

    def find(self, node: Node) -> Iterator[str]:
        if _has_lengths(node) and not is_written_as_loop(node):
            yield f"{node.op.type} {node.name!r} has lengths, and data of an unknown size"

    def is_repaired(self, node: Node) -> bool:
        # What the plugin writes as a TensorIterator is right, but takes twice as long as the gates.
        return _has_lengths(node)

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Replace the sequence by a loop of gates, as the pass `sequences_to_gates` does."""
        replace_by_gates(node, w)


def _has_lengths(node: Node) -> bool:
    """Return whether a sequence has lengths that may matter, and data of an unknown size."""
    if not isinstance(node.op, SEQUENCES):
        return False
    data, lengths = node.inputs[0], node.inputs[-4]
    if data is None or lengths is None or shape_of(data).static() is not None:
        return False
    return not reach_the_end(lengths, data)


@LengthsOfAnUnknownShape.case(
    "openvino_lengths_of_an_unknown_shape",
    "IR: rare forms",
    "OpenVINO RNNSequence-5",
    "sequence_lengths: the length of each item of X; the steps beyond it are not computed.",
    # h1 = 3 + 1, h2 = 4 + 2.
    run([[[[1], [2]]], [[[3]]], [1]], [[[[[4], [0]]]], [[[4]]]]),
    run([[[[1], [2]]], [[[3]]], [2]], [[[[[4], [6]]]], [[[6]]]]),
)
def smallest() -> Model:
    m = IrModel()
    x, h = m.input("x", 1, None, 1), m.input("h", 1, 1, 1)
    lengths = m.input("lengths", 1, element=ElementType.I64)
    weight, bias = m.constant([[[1]]]), m.constant([[0]])
    op = RNNSequence(hidden_size=1, activations=("relu",))
    node = m.builder.emit(op, x, h, lengths, weight, weight, bias, n_outputs=2)
    return m.done(*node.outputs)
