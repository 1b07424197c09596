"""Emits the gates of one step of an LSTM, GRU or RNN in OpenVINO's operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irloop.dialects.openvino import activation, elementwise, matmul, recurrent
from irloop.dialects.recurrent import Activation
from irloop.dialects.writing.openvino_writer import OpenVinoWriter
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.passes.openvino_node_writer import OpenVinoNodeWriter
from irloop.passes.stored import changed, is_stored

__all__ = ["Gates", "cut", "projected"]


def projected(c: OpenVinoWriter, x: Value, w: Value, bias: Value | None) -> Value:
    """Multiply inputs [..., I] by the weights [G*S, I] of all gates, and add the bias [G*S]."""
    product = c(matmul.MatMul(transpose_b=True), x, w)
    return product if bias is None else c.add(product, bias)


def cut(c: OpenVinoNodeWriter, value: Value, lengths: Sequence[int]) -> list[Value]:
    """Split weights into parts of `lengths` along axis 0; a constant into constants."""
    if not is_stored(value):
        return c.variadic_split(value, 0, lengths)
    parts, start = [], 0
    for length in lengths:
        rows = slice(start, start + length)
        part = changed(value, lambda array, rows=rows: array[rows], c.rewriter, c.before)  # type: ignore[misc]
        assert part is not None
        parts.append(part)
        start += length
    return parts


@dataclass(frozen=True, slots=True)
class Gates:
    """Emits the gates of a cell or sequence `op` with `size` hidden units.

    `r` are the recurrent weights [4*S, S] of an LSTM, [S, S] of an RNN or, for a GRU, those of its
    gates [2*S, S] and of its candidate [S, S]. `own` [S] is the recurrent bias of the candidate,
    which only a GRU with linear_before_reset has. `peepholes` are those of the gates i, o and f,
    each [S].
    """

    c: OpenVinoWriter
    op: recurrent.Recurrent
    size: int
    r: Sequence[Value]
    own: Value | None = None
    peepholes: Sequence[Value] = ()

    def step(self, x: Value, states: Sequence[Value]) -> list[Value]:
        """Compute the new states from the projected input [B, G*S] and the states [B, S]."""
        if len(self.r) == 2:
            return [self._gru(x, *states)]
        if len(states) == 2:
            return self._lstm(x, *states)
        # The recurrent product is the first operand, because the CPU plugin adds into the memory of
        # the first operand. A slice as the first operand would be overwritten before a back edge
        # carries it to the next iteration.
        return [self._activated(0, self.c.add(self._product(states[0], self.r[0]), x))]

    def _product(self, h: Value, weights: Value) -> Value:
        return self.c(matmul.MatMul(transpose_b=True), h, weights)

    def _activated(self, index: int, x: Value, *, clips: bool = True) -> Value:
        bound = self.op.clip
        if bound > 0 and clips:
            x = self.c(activation.Clamp(min=-bound, max=bound), x)
        return _activation(self.c, self.op.functions()[index], x)

    def _lstm(self, x: Value, h: Value, memory: Value) -> list[Value]:
        c = self.c
        general = self.op if isinstance(self.op, recurrent.LSTMSequence1) else None
        order = "fico" if general is None else general.weights_format
        total = c.add(x, self._product(h, self.r[0]))
        gates = dict(zip(order, c.variadic_split(total, 1, [self.size] * 4), strict=True))
        peepholes = dict(zip("iof", self.peepholes, strict=False))

        def opened(gate: str, peeped: Value) -> Value:
            value = gates[gate]
            if gate in peepholes:
                value = c.add(value, c.multiply(peeped, peepholes[gate]))
            return self._activated(0, value)

        inward = opened("i", memory)
        if general is not None and general.input_forget:
            kept = c.subtract(c.scalar(1.0, inward), inward)
        else:
            kept = opened("f", memory)
        added = c.multiply(inward, self._activated(1, gates["c"]))
        memory = c.add(c.multiply(kept, memory), added)
        # Clip does not apply to the output of the memory cell.
        shown = self._activated(2, memory, clips=False)
        return [c.multiply(opened("o", memory), shown), memory]

    def _gru(self, x: Value, h: Value) -> Value:
        """Compute the state of a GRU, with a Sigmoid for each gate, as `fuse_gates` expects."""
        c, size = self.c, self.size
        update, reset, candidate = c.variadic_split(x, 1, [size] * 3)
        update_h, reset_h = c.variadic_split(self._product(h, self.r[0]), 1, [size] * 2)
        z = self._activated(0, c.add(update, update_h))
        r = self._activated(0, c.add(reset, reset_h))
        if self.own is None:
            inner = self._product(c.multiply(r, h), self.r[1])
        else:
            inner = c.multiply(r, c.add(self._product(h, self.r[1]), self.own))
        new = self._activated(1, c.add(candidate, inner))
        return c.add(new, c.multiply(z, c.subtract(h, new)))


def _activation(c: OpenVinoWriter, function: Activation, x: Value) -> Value:
    """Emit an activation in operations of opset5 or older."""
    name, alpha, beta = function

    def number(value: float) -> Value:
        return c.scalar(value, x)

    match name:
        case "sigmoid":
            return c(activation.Sigmoid(), x)
        case "tanh":
            return c(elementwise.Tanh(), x)
        case "relu":
            return c(activation.ReLU(), x)
        case "softplus":
            return c(activation.SoftPlus(), x)
        case "elu":
            return c(activation.Elu(alpha=alpha), x)
        case "leakyrelu":
            return c(activation.PReLU(), x, c.constant([alpha], element_of(x)))
        case "hardsigmoid":
            return c(activation.HardSigmoid(), x, number(alpha), number(beta))
        case "softsign":
            size = c.add(c(elementwise.Abs(), x), number(1.0))
            return c.divide(x, size)
        case "affine":
            scaled = c.multiply(x, number(alpha))
            return c.add(scaled, number(beta))
        case "scaledtanh":
            inner = c(elementwise.Tanh(), c.multiply(x, number(beta)))
            return c.multiply(inner, number(alpha))
    below = c.less(x, number(alpha))
    return c.select(below, number(0.0), x)
