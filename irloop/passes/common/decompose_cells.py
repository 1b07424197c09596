"""Decomposes recurrent cells into their gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irloop.dialects.openvino import activation as ov_activation
from irloop.dialects.openvino import elementwise, matmul, recurrent, slicing
from irloop.dialects.recurrent import Activation
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Op
from irloop.passes.graph_rewrite import NodePass
from irloop.passes.node_writer import NodeWriter
from irloop.passes.stored import changed, is_stored

__all__ = ["DecomposeCells"]


class DecomposeCells(NodePass):
    """Decomposes LSTM, GRU and RNN cells into products, additions and activations.

    Given::

        h1 = GRUCell(x, h, W, R, B)

    Result::

        z_x, r_x, n_x = Split(x * W' + B)    z_h, r_h = Split(h * R_zr')
        z = Sigmoid(z_x + z_h)    r = Sigmoid(r_x + r_h)
        n = Tanh(n_x + (r * h) * R_n')
        h1 = n - z * n + z * h

    Clipping becomes a Clamp before each activation. A cell is not decomposed if its state size is
    unknown, or if it has an activation that OpenVINO's cells do not support.
    """

    name = "decompose_cells"
    dialects = frozenset({"openvino"})
    operations = (
        recurrent.LSTMCell,
        recurrent.LSTMCell1,
        recurrent.GRUCell,
        recurrent.RNNCell,
    )

    def rewrite(self, node: Node, w: NodeWriter) -> list[Value] | None:
        cell = _Cell.of(node, w)
        return None if cell is None else cell.run()


@dataclass(slots=True)
class _Cell:
    """A cell with its inputs by name, and the emitter for its gates."""

    node: Node
    op: recurrent.Recurrent
    emitter: NodeWriter
    x: Value
    states: list[Value]
    w: Value
    r: Value
    bias: Value | None
    size: int
    functions: tuple[Activation, ...]

    @classmethod
    def of(cls, node: Node, emitter: NodeWriter) -> _Cell | None:
        """Collect the inputs and attributes of a recurrent cell.

        Returns None if an input is missing, or if the state size or an activation is not known.
        """
        op = node.op
        assert isinstance(op, recurrent.Recurrent)
        count = len(node.outputs)
        x, *states = node.inputs[: 1 + count]
        w, r, bias = (*node.inputs[1 + count : 4 + count], None)[:3]
        held = [value for value in states if value is not None]
        if x is None or w is None or r is None or len(held) != count:
            return None
        size = shape_of(r).dims
        functions = op.functions()
        if size is None or not isinstance(size[1], int):
            return None
        if any(name not in recurrent.ACTIVATIONS for name, _, _ in functions):
            return None
        return cls(node, op, emitter, x, held, w, r, bias, size[1], functions)

    def run(self) -> list[Value]:
        """Emit the cell and return its new states."""
        if isinstance(self.op, recurrent.GRUCell):
            return [self._gru(self.op.linear_before_reset)]
        total = self._add(self._projected(), self._product(self.states[0], self.r))
        if isinstance(self.op, recurrent.RNNCell):
            return [self._activated(0, total)]
        return self._lstm(total)

    def _lstm(self, total: Value) -> list[Value]:
        forget, inward, new, out = self._split(total, 1, [self.size] * 4)
        kept = self._multiply(self._activated(0, forget), self.states[1])
        added = self._multiply(self._activated(0, inward), self._activated(1, new))
        cell = self._add(kept, added)
        # The specification clips the inputs of the gates, but not the new cell state.
        shown = self._activated(2, cell, clip=False)
        return [self._multiply(self._activated(0, out), shown), cell]

    def _gru(self, linear: bool) -> Value:
        size, h = self.size, self.states[0]
        bias, own = self.bias, None
        if linear and bias is not None:
            bias, own = self._split(bias, 0, [3 * size, size])
        update, reset, new = self._split(self._projected(bias), 1, [size] * 3)
        gates, candidate = self._split(self.r, 0, [2 * size, size])
        update_h, reset_h = self._split(self._product(h, gates), 1, [size] * 2)
        z = self._activated(0, self._add(update, update_h))
        r = self._activated(0, self._add(reset, reset_h))
        if linear:
            product = self._product(h, candidate)
            inner = self._multiply(r, product if own is None else self._add(product, own))
        else:
            inner = self._product(self._multiply(r, h), candidate)
        n = self._activated(1, self._add(new, inner))
        left = self._emit(elementwise.Subtract(), n, self._multiply(z, n))
        return self._add(left, self._multiply(z, h))

    def _projected(self, bias: Value | None = None) -> Value:
        bias = self.bias if bias is None else bias
        product = self._product(self.x, self.w)
        return product if bias is None else self._add(product, bias)

    def _product(self, left: Value, weights: Value) -> Value:
        return self._emit(matmul.MatMul(transpose_b=True), left, weights)

    def _add(self, left: Value, right: Value) -> Value:
        return self._emit(elementwise.Add(), left, right)

    def _multiply(self, left: Value, right: Value) -> Value:
        return self._emit(elementwise.Multiply(), left, right)

    def _split(self, value: Value, axis: int, lengths: Sequence[int]) -> list[Value]:
        """Split `value` into parts of `lengths` along `axis`; a constant into constants."""
        emitter = self.emitter
        if is_stored(value):
            return self._parts(value, axis, lengths)
        made = emitter.rewriter.insert(
            slicing.VariadicSplit(),
            (value, emitter.constant(axis), emitter.constant(list(lengths))),
            before=self.node,
            name=f"{self.node.name}/gates",
            n_outputs=len(lengths),
        )
        return list(made.outputs)

    def _parts(self, value: Value, axis: int, lengths: Sequence[int]) -> list[Value]:
        """The parts of a constant of `lengths` along `axis`, as constants."""
        parts, start = [], 0
        for length in lengths:
            places = range(start, start + length)
            part = changed(
                value,
                lambda array, places=places: array.take(places, axis),  # type: ignore[misc]
                self.emitter.rewriter,
                self.node,
            )
            assert part is not None
            parts.append(part)
            start += length
        return parts

    def _activated(self, index: int, x: Value, *, clip: bool = True) -> Value:
        name, alpha, beta = self.functions[index]
        bound = self.op.clip
        if bound > 0 and clip:
            x = self._emit(ov_activation.Clamp(-bound, bound), x)
        if name == "hardsigmoid":
            numbers = [self.emitter.constant(number, element_of(x)) for number in (alpha, beta)]
            return self._emit(ov_activation.HardSigmoid(), x, *numbers)
        plain = {
            "sigmoid": ov_activation.Sigmoid,
            "tanh": elementwise.Tanh,
            "relu": ov_activation.ReLU,
        }
        return self._emit(plain[name](), x)

    def _emit(self, op: Op, *inputs: Value) -> Value:
        return self.emitter(op, *inputs)
