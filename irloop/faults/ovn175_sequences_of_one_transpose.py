"""OVN175: two recurrent sequences that read one transposed input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.control_flow import TensorIterator
from irloop.dialects.openvino.recurrent import (
    SEQUENCES,
    GRUSequence,
    LSTMSequence,
    LSTMSequence1,
    RNNSequence,
)
from irloop.dialects.openvino.shape import Transpose
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import shape_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.passes.common.tensor_iterator_to_sequence import Recurrence
from irloop.passes.loop_wires import LoopWires

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["SequencesOfOneTranspose"]

#: How the data of a sequence are transposed if their first axis is that of the steps, and how its
#: results are transposed back.
THERE, BACK = (1, 0, 2), (2, 1, 0, 3)

#: An input with more readers is taken to have a second sequence among them.
MOST = 64


class SequencesOfOneTranspose(
    Fault,
    code="OVN175",
    engine="openvino",
    title="Two recurrent sequences of one transposed input",
    effect=Effect.WRONG,
    fix="Transpose the results without the axis of directions: Unsqueeze(Transpose(Squeeze(y, 1), "
    "[1, 0, 2]), 1). For a TensorIterator: irloop transform --pass tensor_iterator_to_sequence.",
):
    """Two recurrent sequences of one transposed input.

    What happens:
        The CPU plugin leaves out the Transposes around a sequence. Where two sequences share the
        first Transpose, the results of one are in another order.
    Where:
        Two sequences of one direction each read the same value, whose first axis is that of the
        steps, through Transposes [1, 0, 2], their results are transposed by [2, 1, 0, 3], and the
        batch has several items. The plugin also writes this form for a TensorIterator that takes
        its steps from axis 0 and contains only one recurrent cell.
    What irloop does:
        Conversion to IR transposes the results without the axis of directions, and writes such a
        TensorIterator as a sequence.
    """

    operations = (Transpose, TensorIterator)

    def find(self, node: Node) -> Iterator[str]:
        sequence = node if isinstance(node.op, TensorIterator) else _sequence_of(node)
        data = None if sequence is None else _source_of(sequence)
        if sequence is None or data is None:
            return
        dims = shape_of(data).dims
        if dims is not None and len(dims) == 3 and dims[1] == 1:
            return
        if sequence is node and (dims is None or not any(isinstance(d, int) for d in dims[:2])):
            # The plugin leaves this TensorIterator as it is.
            return
        count = len(data.uses)
        if count > MOST:
            yield f"{sequence.name!r} and perhaps others of {count} readers transpose one input"
            return
        other = next((reader for reader in _readers_of(data) if reader is not sequence), None)
        if other is not None:
            yield f"{sequence.name!r} and {other.name!r} read one transposed input"

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Transpose the results of a sequence without the axis of its only direction.

        Given::

            y = Transpose(s, [2, 1, 0, 3])

        Result::

            y = Unsqueeze(Transpose(Squeeze(s, 1), [1, 0, 2]), 1)

        A TensorIterator is replaced as by `tensor_iterator_to_sequence`.
        """
        recurrence = _recurrence_of(node)
        if recurrence is not None:
            recurrence.replace(w)
            return
        value = node.inputs[0]
        assert value is not None
        turned = w.transpose(w.squeeze(value, [1]), list(THERE))
        w.rewriter.replace_node(node, [w.unsqueeze(turned, [1])])


def _recurrence_of(node: Node) -> Recurrence | None:
    """The one cell of a TensorIterator that takes its steps from axis 0."""
    wires = LoopWires.of(node) if isinstance(node.op, TensorIterator) else None
    recurrence = None if wires is None else Recurrence.of(wires)
    return recurrence if recurrence is not None and recurrence.axis == 0 else None


def _sequence_of(node: Node) -> Node | None:
    """The sequence of one direction whose results are transposed by `node`."""
    value = node.inputs[0] if _turns(node, BACK) else None
    if value is None:
        return None
    op = value.producer.op
    if not isinstance(op, LSTMSequence | LSTMSequence1 | GRUSequence | RNNSequence):
        return None
    if value is not value.producer.outputs[0] or op.direction.lower() == "bidirectional":
        return None
    return value.producer


def _source_of(sequence: Node) -> Value | None:
    """What a sequence reads through a Transpose of its data, or a TensorIterator by its slices."""
    if isinstance(sequence.op, TensorIterator):
        recurrence = _recurrence_of(sequence)
        return None if recurrence is None else recurrence.scanned.outer
    data = sequence.inputs[0]
    if data is None or not _turns(data.producer, THERE):
        return None
    return data.producer.inputs[0]


def _readers_of(data: Value) -> Iterator[Node]:
    """Yield each sequence that reads `data` through a Transpose, and each such TensorIterator."""
    for reader, _ in data.uses:
        if isinstance(reader.op, TensorIterator) and _source_of(reader) is data:
            yield reader
        if not _turns(reader, THERE):
            continue
        for user, at in reader.outputs[0].uses:
            if at == 0 and isinstance(user.op, SEQUENCES):
                yield user


def _turns(node: Node, order: tuple[int, ...]) -> bool:
    """Return whether a node transposes by this order."""
    if not isinstance(node.op, Transpose) or len(node.inputs) < 2 or node.inputs[1] is None:
        return False
    op = node.inputs[1].producer.op
    return isinstance(op, Constant) and tuple(op.tensor.numpy().reshape(-1).tolist()) == order


@SequencesOfOneTranspose.case(
    "sequences_of_one_transpose",
    "IR: rare forms",
    "OpenVINO RNNSequence-5",
    "Y: 3D tensor, the concatenation of all the intermediate output values of the hidden.",
    # Each result is tanh(20 x), which is x for 1 and -1; the second sequence has the weight -20.
    run(
        [[[[1], [-1]], [[1], [1]], [[-1], [1]]]],
        [
            [[[[1], [-1]]], [[[1], [1]]], [[[-1], [1]]]],
            [[[[-1], [1]]], [[[-1], [-1]]], [[[1], [-1]]]],
        ],
    ),
)
def smallest() -> Model:
    m = IrModel()
    x = m.input("x", 3, 2, 1)
    there = m(Transpose(), x, m.constant(list(THERE), ElementType.I64))
    results = []
    for weight in (20, -20):
        state, lengths = m.constant([[[0]], [[0]]]), m.constant([3, 3], ElementType.I64)
        weights = m.constant([[[weight]]]), m.constant([[[0]]]), m.constant([[0]])
        node = m.builder.emit(RNNSequence(hidden_size=1), there, state, lengths, *weights)
        back = m.constant(list(BACK), ElementType.I64)
        results.append(m(Transpose(), node.outputs[0], back))
    return m.done(*results)
