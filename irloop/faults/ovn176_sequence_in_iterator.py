"""OVN176: a recurrent sequence in the body of a TensorIterator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.patterns import is_in_iterator
from irloop.analysis.plugin import is_written_as_loop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.recurrent import SEQUENCES, RNNSequence
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.model import Model, Node
from irloop.graph.types import ElementType
from irloop.passes.recurrent_loops import replace_by_gates

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["SequenceInIterator"]


class SequenceInIterator(
    Fault,
    code="OVN176",
    engine="openvino",
    title="A recurrent sequence in the body of a TensorIterator",
    effect=Effect.REFUSAL,
    repairs_always=True,
    fix="Write the sequence as a Loop, as irloop transform does.",
):
    """A recurrent sequence in the body of a TensorIterator.

    What happens:
        The model is not compiled. The plugin writes some sequences as a TensorIterator, and allows
        none in another (OVN111).
    Where:
        The body of a TensorIterator contains a sequence whose weights are computed, whose gates are
        clipped, whose activations are not the defaults, or whose lengths may end before its data,
        if the shape of these is known.
    What irloop does:
        Conversion to IR and ``irloop transform`` write the sequence as a Loop of its gates.
    """

    operations = SEQUENCES

    def find(self, node: Node) -> Iterator[str]:
        if is_in_iterator(node) and is_written_as_loop(node):
            yield f"the plugin writes {node.op.type} {node.name!r} as a TensorIterator in another"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Replace the sequence by a Loop of gates, as the pass `sequences_to_gates` does."""
        replace_by_gates(node, w)


@SequenceInIterator.case(
    "openvino_sequence_in_iterator",
    "IR: rare forms",
    "OpenVINO TensorIterator-1",
    "The body is a graph of any operations.",
    # h1 = 1 + 3, h2 = 2 + 4 and h1 = 3 + 6, h2 = 4 + 9.
    run([[[[1], [2]], [[3], [4]]], [[[3]]], [[[1]]]], [[[[[4], [6]]], [[[9], [13]]]]]),
)
def smallest() -> Model:
    m = IrModel()
    x, h, weight = m.input("x", 2, 2, 1), m.input("h", 1, 1, 1), m.input("w", 1, 1, 1)
    loop = m.tensor_iterator()
    inner = m.inside(loop)
    element, state, same = loop.slice(x, 0), loop.state(h), loop.invariant(weight)
    lengths, bias = inner.constant([2], ElementType.I64), inner.constant([[0]])
    op = RNNSequence(hidden_size=1, activations=("relu",))
    node = inner.builder.emit(op, element, state, lengths, same, same, bias, n_outputs=2)
    y, last = node.outputs
    loop.carry(state, last)
    loop.joined(y, 0)
    return m.done(*loop.done())
