"""Recurrent cells and sequences of versions 2 to 7.

The weights of input and state are one matrix [gates * H, D + H], the part of the input first. The
gates are in the order of today: f, i, c, o of an LSTM, z, r, h of a GRU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from irloop.dialects.openvino import recurrent as today
from irloop.formats.openvino.legacy.base import Dims, Dims2, LayerFault, LegacyLayer
from irloop.formats.openvino.legacy.steps import F32, I32, Steps
from irloop.graph.model import Value
from irloop.graph.op import Op, attribute

_FUNCTIONS = ("sigmoid", "tanh", "relu")


class Recurring(LegacyLayer):
    """The base of cells and sequences."""

    hidden_size: int = attribute(least=1, most=1 << 24)
    clip: float = 0.0
    activations: tuple[str, ...] = ()
    activations_alpha: tuple[float, ...] = ()
    activations_beta: tuple[float, ...] = ()
    gates: ClassVar[int] = 1
    #: The number of inputs that are states, after the data.
    states: ClassVar[int] = 1
    needed: ClassVar[tuple[str, ...]] = ("weights",)

    def weights(self, inputs: Dims2, outputs: Dims2) -> Mapping[str, Dims]:
        size, rows = self.hidden_size, self.gates * self.hidden_size
        if not inputs[0]:
            raise LayerFault("needs an input with features", found="a scalar")
        return {"weights": (rows, inputs[0][-1] + size), "biases": (self._bias_rows(),)}

    def _bias_rows(self) -> int:
        return self.gates * self.hidden_size

    def _matrices(self, s: Steps, *, directions: bool) -> list[Value]:
        """W, R and the biases, with an axis of one direction in front if `directions`."""
        size, width = self.hidden_size, s.shapes["weights"][1]
        parts = s.variadic_split(s.weights(), 1, [width - size, size])
        rows = self._bias_rows()
        parts.append(s.weights("biases") if s.has("biases") else s.constant([0.0] * rows, F32))
        return [s.shaped(part, (1, *s.dims(part))) for part in parts] if directions else parts

    def _settings(self) -> dict[str, Any]:
        names = tuple(name.lower() for name in self.activations)
        unknown = [name for name in names if name not in _FUNCTIONS]
        if unknown:
            raise LayerFault(
                "has an unknown activation",
                code="IRL405",
                expected=", ".join(_FUNCTIONS),
                found=unknown[0],
            )
        return {
            "hidden_size": self.hidden_size,
            "activations": names,
            "activations_alpha": self.activations_alpha,
            "activations_beta": self.activations_beta,
            "clip": self.clip,
        }


class Cell(Recurring):
    """The base of the cells."""

    today: ClassVar[type[Op]]

    def build(self, s: Steps, x: Value, *states: Value) -> tuple[Value, ...]:
        op = self.today(**self._settings())
        return s.emit(op, x, *states, *self._matrices(s, directions=False)).outputs


class RNNCell(Cell, type="RNNCell", inputs=2):
    """tanh(W x + R h + b)."""

    today = today.RNNCell


class LSTMCell(Cell, type="LSTMCell", inputs=3, outputs=2):
    """A long short-term memory: the outputs are H and C."""

    gates = 4
    states = 2
    today = today.LSTMCell


class _Gru(Recurring):
    """The base of the gated recurrent units."""

    linear_before_reset: bool = False
    gates: ClassVar[int] = 3

    def _bias_rows(self) -> int:
        return (4 if self.linear_before_reset else 3) * self.hidden_size

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "linear_before_reset": self.linear_before_reset}


class GRUCell(_Gru, Cell, type="GRUCell", inputs=2):
    """A gated recurrent unit; with `linear_before_reset` it has a fourth bias."""

    today = today.GRUCell


class Sequence(Recurring):
    """The base of the sequences: all H, and the last states. The first states may be left out."""

    axis: int = attribute(default=1, least=0, most=1)
    direction: str = "Forward"
    today: ClassVar[type[Op]]

    def build(self, s: Steps, x: Value, *states: Value) -> tuple[Value, ...]:
        direction = self.direction.lower()
        if direction not in ("forward", "backward"):
            raise LayerFault(
                "runs in both directions, which the engine of 2020 accepted and silently ran "
                "forward only"
                if direction == "bidirectional"
                else "has an unknown direction",
                code="IRL121",
                expected="Forward or Backward",
                found=self.direction,
                fix='write direction="Forward" to get the results of the engine of 2020'
                if direction == "bidirectional"
                else "write Forward or Backward",
            )
        if s.rank(x) != 3:
            raise LayerFault("needs an input of 3 dimensions", found=str(list(s.dims(x))))
        turned = [1, 0, 2] if self.axis == 0 else [0, 1, 2]
        x = s.transpose(x, turned)
        batch, steps = s.dims(x)[:2]
        size = self.hidden_size
        if not states:
            states = (s.spread(s.number(0.0), (batch, size)),) * self.states
        if len(states) != self.states:
            raise LayerFault(
                "has some of its first states, but not all",
                expected=f"{self.states}, or none for zeros",
                found=str(len(states)),
            )
        initial = [s.shaped(state, (batch, 1, size)) for state in states]
        lengths = s.spread(s.constant(steps, I32), (batch,))
        reverse = "reverse" if direction == "backward" else "forward"
        op = self.today(**self._settings(), direction=reverse)
        made = s.emit(op, x, *initial, lengths, *self._matrices(s, directions=True)).outputs
        stacked = s.transpose(s.shaped(made[0], (batch, steps, size)), turned)
        return (stacked, *(s.shaped(state, (batch, size)) for state in made[1:]))


class RNNSequence(Sequence, type="RNNSequence", inputs=(1, 2), outputs=2):
    """RNNCell for each step."""

    today = today.RNNSequence


class LSTMSequence(Sequence, type="LSTMSequence", inputs=(1, 3), outputs=3):
    """LSTMCell for each step."""

    gates = 4
    states = 2
    today = today.LSTMSequence


class GRUSequence(_Gru, Sequence, type="GRUSequence", inputs=(1, 2), outputs=2):
    """GRUCell for each step."""

    today = today.GRUSequence
