"""Recurrent cells and sequences in OpenVINO.

In shapes, N is the batch size, T the number of steps, I the input size, S the state size and D the
number of directions. Inputs: X is the data, H the state, C the cell state of an LSTM, W the weights
of X, R the weights of H, and B the bias. The gate order is f i c o (LSTM) and z r h (GRU).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from irloop import kernels
from irloop.dialects import inference, recurrent
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.dialects.recurrent import Activation
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Lengths
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import Dim, Shape, TensorType, ValueType

if TYPE_CHECKING:
    from irloop.kernels.recurrent import GruCell, LstmCell, RnnCell

__all__ = [
    "SEQUENCES",
    "GRUCell",
    "GRUSequence",
    "LSTMCell",
    "LSTMCell1",
    "LSTMSequence",
    "LSTMSequence1",
    "RNNCell",
    "RNNSequence",
    "Recurrent",
]


class Recurrent(OpenVinoOp):
    """Base of all recurrent operations, with their attributes.

    An empty `activations` selects the defaults of the type. Entry k of `activations_alpha` and
    `activations_beta` belongs to activation k. `clip` bounds the input of an activation; 0 means no
    bound.
    """

    DEFAULTS: ClassVar[tuple[str, ...]] = ()
    GATES: ClassVar[int] = 1

    hidden_size: int
    activations: tuple[str, ...] = ()
    activations_alpha: tuple[float, ...] = ()
    activations_beta: tuple[float, ...] = ()
    clip: float = 0.0

    def functions(self) -> tuple[Activation, ...]:
        """The activations with their parameters.

        Raises:
            ValueError: for an unknown activation.
        """
        names = (*self.activations, *self.DEFAULTS[len(self.activations) :])
        found = recurrent.by_position(names, self.activations_alpha, self.activations_beta)
        return found[: len(self.DEFAULTS)]

    def bias_gates(self) -> int:
        """The length of the bias, as a multiple of the state size."""
        return self.GATES

    def _check_functions(self, args: Arguments) -> None:
        try:
            self.functions()
        except ValueError as error:
            raise args.error(str(error)) from error

    def _cell_types(self, args: Arguments, states: int) -> list[ValueType]:
        self._check_functions(args)
        x = recurrent.dims_of(args, 0, 2, "X")
        initial = [recurrent.dims_of(args, 1 + at, 2, "HC"[at]) for at in range(states)]
        batch = recurrent.first_known(x[0], *(dims[0] for dims in initial))
        size = recurrent.first_known(*(dims[1] for dims in initial))
        size = recurrent.check_weights(
            args, 1 + states, self.GATES, self.bias_gates(), x[1], size, None
        )
        for at, dims in enumerate(initial):
            recurrent.agree(args, "HC"[at], dims, (batch, size))
        element = inference.same_element(args, *range(1 + states))
        return [TensorType(element, Shape((batch, size)))] * states

    def _sequence_types(self, args: Arguments, states: int, direction: str) -> list[ValueType]:
        self._check_functions(args)
        count = recurrent.directions_of(args, direction)
        x = recurrent.dims_of(args, 0, 3, "X")
        initial = [recurrent.dims_of(args, 1 + at, 3, "HC"[at]) for at in range(states)]
        lengths = recurrent.dims_of(args, 1 + states, 1, "sequence_lengths")
        batch = recurrent.first_known(x[0], *(dims[0] for dims in initial), lengths[0])
        size = recurrent.first_known(*(dims[2] for dims in initial))
        size = recurrent.check_weights(
            args, 2 + states, self.GATES, self.bias_gates(), x[2], size, count
        )
        for at, dims in enumerate(initial):
            recurrent.agree(args, "HC"[at], dims, (batch, count, size))
        recurrent.agree(args, "sequence_lengths", lengths, (batch,))
        element = inference.same_element(args, *range(1 + states))
        state: tuple[Dim, ...] = (batch, count, size)
        every = TensorType(element, Shape((batch, count, x[1], size)))
        return [every, *[TensorType(element, Shape(state))] * states]


class _Lstm(Recurrent):
    """An LSTM: four gates, two states."""

    DEFAULTS: ClassVar[tuple[str, ...]] = ("sigmoid", "tanh", "tanh")
    GATES: ClassVar[int] = 4

    def cell(self) -> LstmCell:
        """Return the kernel's LSTM cell, with the activations and clipping of the attributes."""
        return kernels.recurrent.LstmCell(self.functions(), self.clip)


class _Gru(Recurrent):
    """A GRU: three gates, one state."""

    DEFAULTS: ClassVar[tuple[str, ...]] = ("sigmoid", "tanh")
    GATES: ClassVar[int] = 3

    linear_before_reset: bool = False

    def bias_gates(self) -> int:
        return 4 if self.linear_before_reset else 3

    def cell(self) -> GruCell:
        """Return the kernel's GRU cell, with the attributes of this operation."""
        return kernels.recurrent.GruCell(self.functions(), self.clip, self.linear_before_reset)


class _Rnn(Recurrent):
    DEFAULTS: ClassVar[tuple[str, ...]] = ("tanh",)

    def cell(self) -> RnnCell:
        """Return the kernel's RNN cell, with the attributes of this operation."""
        return kernels.recurrent.RnnCell(self.functions(), self.clip)


class _LstmCell(_Lstm):
    def infer(self, args: Arguments) -> list[ValueType]:
        return self._cell_types(args, 2)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.recurrent.cell(self.cell(), n_outputs)


class LSTMCell1(_LstmCell, type="LSTMCell", since=1, inputs=(5, 7), outputs=2):
    """One step of an LSTM (LSTMCell-1): X [N,I], H, C [N,S], W [4S,I], R [4S,S], B [4S].

    The specification defines `input_forget`, `weights_format` and input 6 (peepholes), but no
    runtime uses them, and neither does irloop.
    """

    operands = "X: T, H: T, C: T, W: T, R: T, B?: T, peepholes?: T -> H: T, C: T where T: float"

    activations: tuple[str, ...] = attribute(default=(), entries=(3, None))
    input_forget: bool = False
    weights_format: str = attribute(default="fico", words=("fico", "icof", "ifco", "ifoc", "iofc"))


class LSTMCell(_LstmCell, type="LSTMCell", since=4, inputs=6, outputs=2):
    """One step of an LSTM (LSTMCell-4): X [N,I], H, C [N,S], W [4S,I], R [4S,S], B [4S]."""

    operands = "X: T, H: T, C: T, W: T, R: T, B: T -> H: T, C: T where T: float"

    activations: tuple[str, ...] = attribute(default=(), entries=(3, None))


class GRUCell(_Gru, type="GRUCell", since=3, inputs=5):
    """One step of a GRU (GRUCell-3): X [N,I], H [N,S], W [3S,I], R [3S,S], B [3S] or [4S].

    B holds the biases of the gates z, r and h. With `linear_before_reset` a second bias of h
    follows: the first one is added to the product of X and W, the second to that of H and R.
    """

    operands = "X: T, H: T, W: T, R: T, B: T -> H: T where T: float"

    activations: tuple[str, ...] = attribute(default=(), entries=(2, None))
    once_experimental: ClassVar[bool] = True

    def infer(self, args: Arguments) -> list[ValueType]:
        return self._cell_types(args, 1)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.recurrent.cell(self.cell(), n_outputs)


class RNNCell(_Rnn, type="RNNCell", since=1, inputs=(4, 5)):
    """One step of a plain RNN (RNNCell-1): X [N,I], H [N,S], W [S,I], R [S,S], B [S]."""

    operands = "X: T, H: T, W: T, R: T, B?: T -> H: T where T: float"

    activations: tuple[str, ...] = attribute(default=(), entries=(1, None))
    not_in: ClassVar[frozenset[int]] = frozenset({2})
    once_experimental: ClassVar[bool] = True

    def infer(self, args: Arguments) -> list[ValueType]:
        return self._cell_types(args, 1)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.recurrent.cell(self.cell(), n_outputs)


class LSTMSequence1(_Lstm, type="LSTMSequence", since=1, inputs=(7, 8), outputs=3):
    """An LSTM over a sequence (LSTMSequence-1); inputs as in LSTMSequence-5, then peepholes [D,3S].

    `weights_format` names the order of the gates in W, R and B; peepholes are in the order input,
    output, forget. With `input_forget` the forget gate is 1 - the input gate.
    """

    operands = (
        "X: T, H: T, C: T, sequence lengths: number, W: T, R: T, B: T, peepholes?: T "
        "-> Y: T, H: T, C: T where T: float"
    )
    meanings = (Lengths(3, data=0, axis=1),)

    not_in: ClassVar[frozenset[int]] = frozenset({1, 2, 3, 4})
    direction: str = "forward"
    input_forget: bool = False
    weights_format: str = "fico"

    def infer(self, args: Arguments) -> list[ValueType]:
        if sorted(self.weights_format) != sorted("fico"):
            raise args.error(
                "weights_format is unknown", "an order of fico", self.weights_format, kind="range"
            )
        return self._sequence_types(args, 2, self.direction)

    def cell(self) -> LstmCell:
        return kernels.recurrent.LstmCell(
            self.functions(), self.clip, self.weights_format, self.input_forget
        )

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.recurrent.openvino_sequence(self.cell(), self.direction.lower(), n_outputs)


class LSTMSequence(_Lstm, type="LSTMSequence", since=5, inputs=7, outputs=3):
    """An LSTM over a sequence (LSTMSequence-5).

    Inputs: X [N,T,I], H, C [N,D,S], sequence_lengths [N], W [D,4S,I], R [D,4S,S], B [D,4S].
    Outputs: Y [N,D,T,S], H and C [N,D,S]. Y is 0 beyond the length of an item. For an item of
    length 0, H and C are 0, too.
    """

    operands = (
        "X: T, H: T, C: T, sequence lengths: number, W: T, R: T, B: T "
        "-> Y: T, H: T, C: T where T: float"
    )
    meanings = (Lengths(3, data=0, axis=1),)

    activations: tuple[str, ...] = attribute(default=(), written=_Lstm.DEFAULTS)
    direction: str = "forward"

    def infer(self, args: Arguments) -> list[ValueType]:
        return self._sequence_types(args, 2, self.direction)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.recurrent.openvino_sequence(self.cell(), self.direction.lower(), n_outputs)


class GRUSequence(_Gru, type="GRUSequence", since=5, inputs=6, outputs=2):
    """A GRU over a sequence (GRUSequence-5).

    The inputs are those of LSTMSequence-5 without C. W and R have 3S rows instead of 4S; B is
    [D,3S], or [D,4S] with `linear_before_reset`.
    """

    operands = "X: T, H: T, sequence lengths: number, W: T, R: T, B: T -> Y: T, H: T where T: float"
    meanings = (Lengths(2, data=0, axis=1),)

    activations: tuple[str, ...] = attribute(default=(), written=_Gru.DEFAULTS)
    direction: str = "forward"

    def infer(self, args: Arguments) -> list[ValueType]:
        return self._sequence_types(args, 1, self.direction)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.recurrent.openvino_sequence(self.cell(), self.direction.lower(), n_outputs)


class RNNSequence(_Rnn, type="RNNSequence", since=5, inputs=6, outputs=2):
    """A plain RNN over a sequence (RNNSequence-5).

    The inputs are those of LSTMSequence-5 without C. There is only one gate, so W and R have S rows
    instead of 4S, and B is [D,S].
    """

    operands = "X: T, H: T, sequence lengths: number, W: T, R: T, B: T -> Y: T, H: T where T: float"
    meanings = (Lengths(2, data=0, axis=1),)

    activations: tuple[str, ...] = attribute(default=(), written=_Rnn.DEFAULTS)
    direction: str = "forward"

    def infer(self, args: Arguments) -> list[ValueType]:
        return self._sequence_types(args, 1, self.direction)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.recurrent.openvino_sequence(self.cell(), self.direction.lower(), n_outputs)


#: The activations that OpenVINO's recurrent operations support.
ACTIVATIONS = ("sigmoid", "tanh", "relu", "hardsigmoid")
#: The sequences that every runtime can run; no runtime reads LSTMSequence-1.
SEQUENCES = (LSTMSequence, GRUSequence, RNNSequence)
