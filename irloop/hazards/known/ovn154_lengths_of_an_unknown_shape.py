"""OVN154: a recurrent sequence with lengths, whose data has an unknown size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irloop.dialects.openvino.recurrent import SEQUENCES
from irloop.dialects.openvino.shape import ShapeOf, ShapeOf3
from irloop.graph.builder import shape_of
from irloop.graph.model import Node, Value
from irloop.hazards.hazard import Effect, Hazard
from irloop.hazards.plugin import is_written_as_loop
from irloop.hazards.sources import is_computed_from_inputs, sources

__all__ = ["LengthsOfAnUnknownShape"]


class LengthsOfAnUnknownShape(
    Hazard,
    code="OVN154",
    engine="openvino",
    versions=("2026.4.1",),
    title="A recurrent sequence with lengths, whose data has an unknown size",
    effect=Effect.WRONG,
    case="openvino_lengths_of_an_unknown_shape",
    passes=("sequence_to_tensor_iterator",),
):
    """A recurrent sequence with lengths, whose data has an unknown size.

    What happens:
        The plugin ignores `sequence_lengths` and computes every step of every item: Y is not 0
        beyond the length of an item, and the last states are those after the last step.
    Where:
        A dimension of X of an LSTMSequence, GRUSequence or RNNSequence is known only at run time,
        the batch and the input size included. The weights are constant, no gate is clipped, and
        the activations are the defaults: the plugin writes any other sequence as a TensorIterator,
        which reads the lengths. Lengths that are computed from sizes are not reported: irloop
        assumes that they equal the number of steps, and then the results are correct.
    What irloop does:
        Conversion to IR writes such an operation as a loop. The pass sequence_to_tensor_iterator
        rewrites the sequences of an IR.
    """

    operations = SEQUENCES

    def find(self, node: Node) -> Iterator[str]:
        if not isinstance(node.op, SEQUENCES) or is_written_as_loop(node):
            return
        data, lengths = node.inputs[0], node.inputs[-4]
        if data is None or lengths is None or shape_of(data).static() is not None:
            return
        if not _are_sizes(lengths):
            yield f"{node.op.type} {node.name!r} has lengths, and data of an unknown size"


def _are_sizes(lengths: Value) -> bool:
    """True if the lengths are computed from sizes and constants, and from at least one size."""
    node = lengths.producer
    if is_computed_from_inputs(node, _inputs_unless_a_size) is not False:
        return False
    return any(_is_size(item) for item in sources([node], _inputs_unless_a_size))


def _is_size(node: Node) -> bool:
    return isinstance(node.op, ShapeOf | ShapeOf3)


def _inputs_unless_a_size(node: Node) -> Sequence[Value | None]:
    return () if _is_size(node) else node.inputs
