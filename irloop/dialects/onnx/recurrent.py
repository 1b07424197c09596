"""LSTM, GRU and RNN in ONNX.

In shapes, T is the number of steps, B the batch size, I the input size, S the state size and D the
number of directions; G is the number of gates. Inputs are X [T,B,I], W [D,G*S,I], R [D,G*S,S], the
bias [D,2*G*S] (for the input, then for the recurrence), sequence_lens [B], initial states [D,B,S];
outputs are Y [T,D,B,S] and the last states [D,B,S]. The gate order is i o f c (LSTM) and z r h
(GRU). With `layout` 1 the batch axis comes first in X, Y and the states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from irloop import kernels
from irloop.dialects import inference, recurrent
from irloop.dialects.onnx.base import OnnxOp
from irloop.dialects.recurrent import Activation
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Lengths
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import Dim, Shape, TensorType, ValueType

if TYPE_CHECKING:
    from irloop.kernels.recurrent import Cell

__all__ = ["GRU", "GRU1", "LSTM", "LSTM1", "RNN", "RNN1", "Recurrent"]


class Recurrent(OnnxOp):
    """Base of all recurrent operations, with their attributes.

    Only activations that take a parameter consume an entry of `activation_alpha` and
    `activation_beta`, in order. `clip` bounds the input of an activation.
    """

    DEFAULTS: ClassVar[tuple[str, ...]] = ()
    GATES: ClassVar[int] = 1
    STATES: ClassVar[int] = 1

    activation_alpha: tuple[float, ...] = ()
    activation_beta: tuple[float, ...] = ()
    activations: tuple[str, ...] = ()
    clip: float | None = None
    direction: str = "forward"
    hidden_size: int | None = attribute(default=None, least=1)

    def functions(self) -> list[tuple[Activation, ...]]:
        """The activations of each direction with their parameters.

        Raises:
            ValueError: for an unknown activation, or a wrong number of them.
        """
        single = len(self.DEFAULTS)
        count = 2 if self.direction.lower() == "bidirectional" else 1
        names = self.activations or self.DEFAULTS
        if len(names) == single and count == 2:
            names = names * 2
        if len(names) < single * count:
            raise ValueError(f"{single * count} activations are needed, {len(names)} are given")
        found = recurrent.in_order(names, self.activation_alpha, self.activation_beta)
        return [found[at * single : (at + 1) * single] for at in range(count)]

    def batch_first(self) -> bool:
        """Return whether axis 0 of the inputs, outputs and states is the batch axis.

        If not, axis 0 of the input and output sequences is the time, and axis 0 of the states is
        the direction.
        """
        return False

    def cells(self) -> list[Cell]:
        """Return the kernel's cell for each direction, with the settings from the attributes."""
        raise NotImplementedError(self.label)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.recurrent.onnx_sequence(
            self.cells(), self.direction.lower(), int(self.batch_first()), n_outputs
        )

    def infer(self, args: Arguments) -> list[ValueType]:
        try:
            self.functions()
        except ValueError as error:
            raise args.error(str(error)) from error
        # The standard gives no default. ONNX Runtime and OpenVINO refuse a model without the size.
        if self.hidden_size is None:
            raise args.error("hidden_size is missing", "the size of the state", "no attribute")
        if self.GATES > 1 and self.clip is not None and not self.clip > 0:
            raise args.error("clip is out of range", "more than 0", str(self.clip), kind="range")
        count = recurrent.directions_of(args, self.direction)
        x = recurrent.dims_of(args, 0, 3, "X")
        steps, batch = (x[1], x[0]) if self.batch_first() else (x[0], x[1])
        lengths = recurrent.dims_of(args, 4, 1, "sequence_lens")
        initial = [
            recurrent.dims_of(args, 5 + at, 3, f"initial_{'hc'[at]}") for at in range(self.STATES)
        ]
        batch_at = 0 if self.batch_first() else 1
        batch = recurrent.first_known(batch, lengths[0], *(dims[batch_at] for dims in initial))
        size = recurrent.check_weights(
            args, 1, self.GATES, 2 * self.GATES, x[2], self.hidden_size, count
        )
        state = (batch, count, size) if self.batch_first() else (count, batch, size)
        for at, dims in enumerate(initial):
            recurrent.agree(args, f"initial_{'hc'[at]}", dims, state)
        recurrent.agree(args, "sequence_lens", lengths, (batch,))
        inference.require_within(args, 4, 0, steps, "a length")
        if self.STATES > 1:
            peepholes = recurrent.dims_of(args, 7, 2, "P")
            recurrent.agree(args, "P", peepholes, (count, recurrent.times(3, size)))
        element = inference.same_element(args, 0, 1, 2)
        every: tuple[Dim, ...] = (steps, count, batch, size)
        if self.batch_first():
            every = (batch, steps, count, size)
        last = TensorType(element, Shape(state))
        types: list[ValueType] = [TensorType(element, Shape(every)), *[last] * self.STATES]
        return types[: args.n_outputs]


class _Lstm(Recurrent):
    """An LSTM: four gates, two states."""

    DEFAULTS: ClassVar[tuple[str, ...]] = ("Sigmoid", "Tanh", "Tanh")
    GATES: ClassVar[int] = 4
    STATES: ClassVar[int] = 2

    input_forget: int = 0

    def cells(self) -> list[Cell]:
        return [
            kernels.recurrent.LstmCell(item, self.clip or 0.0, "iofc", bool(self.input_forget))
            for item in self.functions()
        ]


class LSTM1(_Lstm, type="LSTM", since=1, inputs=(3, 8), outputs=None):
    """An LSTM over a sequence, with the inputs and outputs of LSTM-7 (LSTM-1).

    If the attribute `output_sequence` is 0, the output Y may be omitted. The results do not depend
    on it.
    """

    meanings = (Lengths(4, data=0, axis=0),)

    output_sequence: int = 0


class LSTM(_Lstm, type="LSTM", since=7, inputs=(3, 8), outputs=None):
    """A long short-term memory (LSTM-7, 14, 22).

    Input 6 is the initial cell state, and input 7 holds the peepholes [D,3S] in the order input,
    output, forget. With `input_forget` the forget gate is 1 - the input gate.
    """

    meanings = (Lengths(4, data=0, axis=0),)

    layout: int = attribute(default=0, least=0, most=1)

    def batch_first(self) -> bool:
        return self.layout == 1


class _Gru(Recurrent):
    """A GRU: three gates, one state."""

    DEFAULTS: ClassVar[tuple[str, ...]] = ("Sigmoid", "Tanh")
    GATES: ClassVar[int] = 3

    linear_before_reset: int = 0

    def cells(self) -> list[Cell]:
        return [
            kernels.recurrent.GruCell(item, self.clip or 0.0, bool(self.linear_before_reset))
            for item in self.functions()
        ]


class GRU1(_Gru, type="GRU", since=1, inputs=(3, 6), outputs=None):
    """A GRU over a sequence, with the inputs and outputs of GRU-7 (GRU-1, 3).

    If the attribute `output_sequence` is 0, the output Y may be omitted. The results do not depend
    on it.
    """

    meanings = (Lengths(4, data=0, axis=0),)

    output_sequence: int = 0


class GRU(_Gru, type="GRU", since=7, inputs=(3, 6), outputs=None):
    """A gated recurrent unit (GRU-7, 14, 22).

    With `linear_before_reset` the reset gate scales the product of the state and R plus its bias,
    otherwise the state before it is multiplied by R.
    """

    meanings = (Lengths(4, data=0, axis=0),)

    layout: int = attribute(default=0, least=0, most=1)

    def batch_first(self) -> bool:
        return self.layout == 1


class _Rnn(Recurrent):
    DEFAULTS: ClassVar[tuple[str, ...]] = ("Tanh",)

    def cells(self) -> list[Cell]:
        return [kernels.recurrent.RnnCell(item, self.clip or 0.0) for item in self.functions()]


class RNN1(_Rnn, type="RNN", since=1, inputs=(3, 6), outputs=None):
    """A plain RNN over a sequence, with the inputs and outputs of RNN-7 (RNN-1).

    If the attribute `output_sequence` is 0, the output Y may be omitted. The results do not depend
    on it.
    """

    meanings = (Lengths(4, data=0, axis=0),)

    output_sequence: int = 0


class RNN(_Rnn, type="RNN", since=7, inputs=(3, 6), outputs=None):
    """A plain RNN (RNN-7, 14, 22)."""

    meanings = (Lengths(4, data=0, axis=0),)

    layout: int = attribute(default=0, least=0, most=1)

    def batch_first(self) -> bool:
        return self.layout == 1
