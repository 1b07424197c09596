"""The roles of the inputs of a recurrent operation, by its type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from irloop.dialects.openvino import FAMILIES, OPENVINO
from irloop.dialects.openvino import recurrent as openvino
from irloop.formats.openvino.attributes import parse_bool, parse_words
from irloop.formats.openvino.document import Layer
from irloop.formats.openvino.net_index import NetIndex
from irloop.formats.openvino.numbers import attribute_integer
from irloop.validation.context import Context

__all__ = ["Recurrent", "activations", "has_joined_weights", "recurrent_layers"]


class Recurrent(NamedTuple):
    """A recurrent layer: a cell or a sequence.

    Its weights consist of `gates` blocks of rows, one for each gate. `states` is the number of its
    states: 2 for an LSTM, otherwise 1.
    """

    net: NetIndex
    layer: Layer
    gates: int
    states: int
    is_sequence: bool

    @property
    def hidden_size(self) -> int | None:
        """The attribute `hidden_size`, or None if it is absent or malformed."""
        return attribute_integer(self.layer.data.get("hidden_size", ""))

    @property
    def first_weight(self) -> int:
        """The position of the input W; R and B follow it."""
        return 1 + self.states + (1 if self.is_sequence else 0)

    @property
    def bias_gates(self) -> int:
        """The length of the bias, as a multiple of the hidden size.

        It is the number of gates, but 4 for a GRU with linear_before_reset.
        """
        more = parse_bool(self.layer.data.get("linear_before_reset", ""))
        return 4 if self.gates == 3 and more else self.gates

    @property
    def directions(self) -> int | None:
        """The number of directions of a sequence; None if the attribute is invalid."""
        text = self.layer.data.get("direction", "forward").lower()
        return {"forward": 1, "reverse": 1, "bidirectional": 2}.get(text)


def has_joined_weights(context: Context, net: NetIndex, layer: Layer) -> bool:
    """Return whether a layer is an LSTMCell with W and R side by side in input 3 and the bias in
    input 4.
    """
    if (layer.type or "").lower() != "lstmcell" or len(net.edges_into(layer)) != 5:
        return False
    return context.operand(net, layer, 4).rank == 1


def recurrent_layers(context: Context) -> Iterator[Recurrent]:
    """Every recurrent cell and sequence of the model, bodies included."""
    for index, layer in context.layers(*FAMILIES["recurrent"].lower().split()):
        operation = OPENVINO.versions(layer.type or "")[-1]
        assert issubclass(operation, openvino.Recurrent)
        assert operation.n_outputs is not None
        is_sequence = issubclass(operation, openvino.SEQUENCES)
        states = operation.n_outputs - is_sequence
        yield Recurrent(index, layer, operation.GATES, states, is_sequence)


def activations(layer: Layer) -> list[str]:
    """The names in `activations`, in lower case."""
    return [name.lower() for name in parse_words(layer.data.get("activations", ""))]
