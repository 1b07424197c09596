"""Writes a recurrent ONNX operation as an OpenVINO loop whose body holds the gates.

This covers the features that no OpenVINO runtime computes in a Sequence: peepholes, coupled gates
and further activations. The inputs of all steps are projected before the loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from irloop.conversion.framework.directions import Import
from irloop.conversion.loops.openvino_loop_builder import OpenVinoLoopBuilder
from irloop.conversion.recurrent import recurrent_parts as parts
from irloop.dialects.onnx import recurrent as onnx
from irloop.dialects.openvino import activation, matmul, reorder
from irloop.dialects.recurrent import Activation
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType
from irloop.passes.stored import array_of

__all__ = ["Layer", "is_coupled", "is_linear", "iterated", "summed_bias"]


@dataclass(frozen=True, slots=True)
class Layer:
    """An ONNX recurrent operation with its inputs in batch-first layout.

    x [B, T, I], weights in ONNX's layout, bias [D, 2*G*S] or None, lengths [B] or None, states
    [B, D, S], peepholes [D, 3*S] or None.
    """

    op: onnx.Recurrent
    x: Value
    w: Value
    r: Value
    bias: Value | None
    lengths: Value | None
    states: tuple[Value, ...]
    peepholes: Value | None
    size: int
    directions: int


def is_linear(op: onnx.Recurrent) -> bool:
    """Return whether `op` is a GRU whose reset gate scales the recurrent product
    (linear_before_reset).
    """
    return isinstance(op, onnx.GRU | onnx.GRU1) and op.linear_before_reset != 0


def is_coupled(op: onnx.Recurrent) -> bool:
    """Return whether `op` is an LSTM whose forget gate is 1 - input gate."""
    return isinstance(op, onnx.LSTM | onnx.LSTM1) and op.input_forget != 0


def summed_bias(c: Import, layer: Layer) -> Value:
    """Emit the bias of a recurrent layer in OpenVINO's form: the sum of both ONNX biases.

    The shape is [D, G*S] with D directions, G gates and hidden size S. For a GRU with
    linear_before_reset it is [D, 4*S], because the two biases of its third gate stay apart. The
    bias is all zeros if the layer has none.
    """
    import numpy as np

    width, gates = layer.op.GATES * layer.size, 2 * layer.size
    linear = is_linear(layer.op)
    if layer.bias is None:
        zeros = np.zeros((layer.directions, 2 * gates if linear else width))
        return c.constant(zeros, element_of(layer.x))
    known = array_of(layer.bias)
    if known is not None:
        first, second = known[:, :width], known[:, width:]
        summed = first + second
        if linear:
            summed = np.concatenate((summed[:, :gates], first[:, gates:], second[:, gates:]), 1)
        return parts.constant(c, summed, layer.bias, f"{c.prefix}/B")
    if not linear:
        left, right = c.variadic_split(layer.bias, 1, [width, width])
        return c.add(left, right)
    sizes = [gates, layer.size, gates, layer.size]
    of_input, own_input, of_state, own_state = c.variadic_split(layer.bias, 1, sizes)
    return c.concat([c.add(of_input, of_state), own_input, own_state], 1)


def iterated(
    c: Import, layer: Layer, functions: tuple[Activation, ...], *, reverse: bool
) -> list[Value]:
    """Write one direction as a loop over the steps; return Y and the last states.

    Y is [B, 1, T, S], and each state is [B, 1, S].
    """
    projected, own_bias = _projected(c, layer)
    lengths = None
    states = [c.squeeze(state, [1]) for state in layer.states]
    if layer.lengths is not None:
        lengths = c.unsqueeze(c.convert(layer.lengths, ElementType.I32), [1])
        states = [_started(c, lengths, state) for state in states]
        if reverse:
            projected = _reversed(c, projected, layer.lengths)
    loop = OpenVinoLoopBuilder(c)
    as_loop = c.in_tensor_iterator
    loop.inner.in_tensor_iterator = not as_loop
    wires = [loop.state(state, state.type, name) for state, name in zip(states, "hc", strict=False)]
    held = [wire.parameter for wire in wires]
    backwards = reverse and lengths is None
    piece = loop.sliced(projected, 1, backwards, "step")
    step = _Step(loop, layer, functions, own_bias)
    new = step.run(loop.inner.squeeze(piece, [1]), held)
    shown = new[0]
    if lengths is not None:
        shown, new = _masked(loop, c, lengths, new, held)
    for wire, value in zip(wires, new, strict=True):
        wire.result = value
    joined = loop.joined(loop.inner.unsqueeze(shown, [1]), 1, backwards)
    if as_loop:
        # OpenVINO allows no TensorIterator in a TensorIterator.
        trip = c.gather(c.shape_of(projected), c.i64(1), 0)
        starts = c.constant(True, ElementType.BOOLEAN)
        goes_on = loop.inner.constant(True, ElementType.BOOLEAN)
        made = loop.loop(trip, starts, goes_on)
    else:
        made = loop.tensor_iterator()
    y = made[joined]
    if layer.lengths is not None and reverse:
        y = _reversed(c, y, layer.lengths)
    return [c.unsqueeze(value, [1]) for value in (y, *(made[wire] for wire in wires))]


def _projected(c: Import, layer: Layer) -> tuple[Value, Value | None]:
    """Multiply the inputs by the weights W of all gates and add the bias: [B, T, G*S].

    For a GRU with linear_before_reset, the second result is the recurrent bias [S] of the
    candidate, which is not added yet. Otherwise, it is None.
    """
    bias = c.squeeze(summed_bias(c, layer), [0])
    own = None
    if is_linear(layer.op):
        bias, own = c.variadic_split(bias, 0, [3 * layer.size, layer.size])
    weights = c.squeeze(layer.w, [0])
    product = c(matmul.MatMul(transpose_b=True), layer.x, weights)
    return c.add(product, bias), own


def _started(c: Import, lengths: Value, state: Value) -> Value:
    """Return the initial state, with 0 for each batch item whose sequence length is 0."""
    runs = c.less(c.constant([[0]], ElementType.I32), lengths)
    return c.select(runs, state, c.scalar(0.0, state))


def _reversed(c: Import, value: Value, lengths: Value) -> Value:
    """Reverse the order of the valid steps of each item in a value [B, T, ...]."""
    whole = c.convert(lengths, ElementType.I32)
    # A single step needs no reversal, and not every runtime accepts a length of 0.
    bounded = c.maximum(whole, c.constant([1], ElementType.I32))
    return c(reorder.ReverseSequence(batch_axis=0, seq_axis=1), value, bounded)


def _masked(
    loop: OpenVinoLoopBuilder, c: Import, lengths: Value, new: list[Value], held: list[Value]
) -> tuple[Value, list[Value]]:
    """Return the output and the states of a step, masked for sequences of different lengths.

    `new` holds the states that the step computed, the output being the first of them; `held` holds
    the states before the step. In a sequence that is already over, the output is 0 and the states
    stay as they were. `lengths` holds the length of each sequence.

    An additional state counts the steps.
    """
    inner = loop.inner
    zero = c.constant([0], ElementType.I32)
    steps = loop.state(zero, zero.type, "count")
    runs = inner.less(steps.parameter, loop.invariant(lengths))
    kept = [inner.select(runs, value, old) for value, old in zip(new, held, strict=True)]
    shown = inner.select(runs, new[0], inner.scalar(0.0, new[0]))
    steps.result = inner.add(steps.parameter, inner.constant([1], ElementType.I32))
    return shown, kept


@dataclass(frozen=True, slots=True)
class _Step:
    """Emits the gates of one step into the body of a loop."""

    loop: OpenVinoLoopBuilder
    layer: Layer
    functions: tuple[Activation, ...]
    own_bias: Value | None

    def run(self, x: Value, states: list[Value]) -> list[Value]:
        """Compute the new states from the projected input [B, G*S] and the states [B, S]."""
        op = self.layer.op
        if isinstance(op, onnx.LSTM | onnx.LSTM1):
            return self._lstm(x, *states)
        if isinstance(op, onnx.GRU | onnx.GRU1):
            return [self._gru(x, *states)]
        # The recurrent product is the first operand, because the CPU plugin adds into the memory of
        # the first operand. A slice as the first operand would be overwritten before a back edge
        # carries it to the next iteration.
        total = self._c.add(self._recurrent(states[0], self._weights("R")), x)
        return [self._activated(0, total)]

    @property
    def _c(self) -> Import:
        return self.loop.inner

    def _weights(self, name: str, rows: range | None = None) -> Value:
        """The recurrent weights [G*S, S], or some of their rows, as an invariant of the body."""
        outer = self.loop.c
        weights = outer.squeeze(self.layer.r, [0])
        if rows is not None:
            weights = parts.taken(outer, weights, rows, 0, name)
        return self.loop.invariant(weights)

    def _recurrent(self, h: Value, weights: Value) -> Value:
        return self._c(matmul.MatMul(transpose_b=True), h, weights)

    def _activated(self, index: int, x: Value) -> Value:
        bound = self.layer.op.clip or 0.0
        if bound > 0:
            x = self._c(activation.Clamp(min=-bound, max=bound), x)
        return parts.openvino_activation(self._c, self.functions[index], x)

    def _peeking(self, x: Value, memory: Value, weights: Value | None) -> Value:
        if weights is None:
            return x
        c = self._c
        return c.add(x, c.multiply(memory, self.loop.invariant(weights)))

    def _lstm(self, x: Value, h: Value, memory: Value) -> list[Value]:
        c, size = self._c, self.layer.size
        total = c.add(x, self._recurrent(h, self._weights("R")))
        i, o, f, candidate = c.variadic_split(total, 1, [size] * 4)
        peep_i, peep_o, peep_f = self._peepholes()
        opened = self._activated(0, self._peeking(i, memory, peep_i))
        if is_coupled(self.layer.op):
            kept = c.subtract(c.scalar(1.0, opened), opened)
        else:
            kept = self._activated(0, self._peeking(f, memory, peep_f))
        added = c.multiply(opened, self._activated(1, candidate))
        memory = c.add(c.multiply(kept, memory), added)
        shown = self._activated(0, self._peeking(o, memory, peep_o))
        # Clip does not apply to the output of the memory cell.
        output = parts.openvino_activation(c, self.functions[2], memory)
        return [c.multiply(shown, output), memory]

    def _peepholes(self) -> list[Value | None]:
        if self.layer.peepholes is None:
            return [None, None, None]
        c, size = self.loop.c, self.layer.size
        return list(c.variadic_split(self.layer.peepholes, 1, [size] * 3))

    def _gru(self, x: Value, h: Value) -> Value:
        c, size = self._c, self.layer.size
        of_gates, of_candidate = c.variadic_split(x, 1, [2 * size, size])
        gates = self._recurrent(h, self._weights("R_zr", range(2 * size)))
        both = self._activated(0, c.add(of_gates, gates))
        z, reset = c.variadic_split(both, 1, [size, size])
        weights = self._weights("R_h", range(2 * size, 3 * size))
        if self.own_bias is None:
            inner = self._recurrent(c.multiply(reset, h), weights)
        else:
            own = self.loop.invariant(self.own_bias)
            inner = c.multiply(reset, c.add(self._recurrent(h, weights), own))
        new = self._activated(1, c.add(of_candidate, inner))
        return c.add(new, c.multiply(z, c.subtract(h, new)))
