"""The LSTM of ONNX Runtime that quantizes its input and its state while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from irloop.dialects import recurrent
from irloop.dialects.contrib.base import ContribOp
from irloop.dialects.contrib.terms import CannotDecomposeError, Steps, Term
from irloop.dialects.recurrent import Activation
from irloop.graph.types import ElementType

__all__ = ["DynamicQuantizeLSTM"]

DEFAULTS = ("Sigmoid", "Tanh", "Tanh")


def product(s: Steps, x: Term, weights: Term, scale: Term, zero: Term) -> Term:
    """Multiply x by quantized weights with MatMulInteger; return the product in f32.

    Beforehand, x is quantized to u8 with the scale and zero point that fit its range.
    """
    codes, x_scale, x_zero = s.ops("DynamicQuantizeLinear", x, n_outputs=3)
    found = s.op("MatMulInteger", codes, weights, x_zero, zero)
    return s.convert(found, ElementType.F32) * (scale * x_scale)


def applied(s: Steps, x: Term, function: Activation, limit: float | None) -> Term:
    """Apply an activation to x, after x is limited to -limit..limit."""
    name, alpha, beta = function
    if limit:
        x = s.clip(x, -limit, limit)
    match name:
        case "sigmoid":
            return s.op("Sigmoid", x)
        case "tanh":
            return s.op("Tanh", x)
        case "relu":
            return s.op("Relu", x)
        case "softsign":
            return s.op("Softsign", x)
        case "softplus":
            return s.op("Softplus", x)
        case "affine":
            return x * alpha + beta
        case "leakyrelu":
            return s.op("LeakyRelu", x, alpha=alpha)
        case "thresholdedrelu":
            return s.op("ThresholdedRelu", x, alpha=alpha)
        case "elu":
            return s.op("Elu", x, alpha=alpha)
        case "hardsigmoid":
            return s.op("HardSigmoid", x, alpha=alpha, beta=beta)
        case "scaledtanh":
            return s.op("Tanh", x * beta) * alpha
    raise CannotDecomposeError(f"its activation {name!r} is not known")


class DynamicQuantizeLSTM(ContribOp, type="DynamicQuantizeLSTM", inputs=(12, 12), outputs=None):
    """LSTM with quantized weights that also quantizes its input and its state.

    X is quantized once as a whole, the hidden state again in each step. Scale and zero point follow
    from the range of the values.

    Differences from LSTM: W is [directions, input size, 4 * size], R [directions, size, 4 * size];
    scales and zero points are [directions] or [directions, 4 * size].
    """

    operands = (
        "x: f32, w: Q, r: Q, b?: f32, sequence_lens?: i32, initial_h?: f32, initial_c?: f32, p?:"
        " f32, w_scale: f32, w_zero_point: Q, r_scale: f32, r_zero_point: Q -> f32, y_h?: f32,"
        " y_c?: f32 where Q: i8 | u8"
    )
    cost = "linear"
    omissible: ClassVar[frozenset[int]] = frozenset({3, 4, 5, 6, 7})

    activation_alpha: tuple[float, ...] = ()
    activation_beta: tuple[float, ...] = ()
    activations: tuple[str, ...] = ()
    clip: float | None = None
    direction: str = "forward"
    hidden_size: int | None = None
    input_forget: int = 0

    def decompose(
        self, s: Steps, x: Term, w: Term, r: Term, *inputs: Term | None
    ) -> Sequence[Term]:
        bias, lengths, h, c, peepholes, *scales = inputs
        size = self.hidden_size or r.dim(1, "the size of the state")
        reverse = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
        directions = reverse.get(self.direction)
        if directions is None:
            raise CannotDecomposeError(f"its direction {self.direction!r} is not known")
        names = self.activations or DEFAULTS * len(directions)
        functions = recurrent.in_order(names, self.activation_alpha, self.activation_beta)
        batch = s.size(x, 1)
        if lengths is not None:
            # ONNX Runtime does not read the rows after the end of the longest item.
            most = s.reduce("ReduceMax", s.convert(lengths, ElementType.I64), [0])
            rows = s.unsqueeze(s.range(0, s.size(x, 0)), 1, 2)
            x = s.select(rows < most, x, 0.0)
        scans = []
        for number, is_reverse in enumerate(directions):
            of = partial(self._part, s, direction=number)
            w_scale, w_zero, r_scale, r_zero = (of(item) for item in scales)
            initial = [
                s.expand(s.like(0.0, x), [batch, size]) if item is None else of(item)
                for item in (h, c)
            ]
            gates = product(s, x, of(w), w_scale, w_zero)
            if bias is not None:
                own, other = s.split(of(bias), 0, [4 * size, 4 * size])
                gates = gates + (own + other)
            weights = [] if peepholes is None else s.split(of(peepholes), 0, [size] * 3)
            elements = [gates]
            if lengths is not None:
                elements.append(s.range(0, s.size(x, 0)))
                weights.append(s.convert(lengths, ElementType.I64))
            body = partial(
                self._step,
                size,
                functions[3 * number : 3 * number + 3],
                peepholes is not None,
                lengths is not None,
            )
            fixed = [of(r), r_scale, r_zero, *weights]
            scans.append(s.scan(body, initial, elements, fixed, reverse=is_reverse))
        every = s.concat(1, *(s.unsqueeze(output, 1) for _, output in scans))
        last = [
            s.concat(0, *(s.unsqueeze(ends[number], 0) for ends, _ in scans)) for number in (0, 1)
        ]
        return [every, *last]

    def _part(self, s: Steps, x: Term | None, *, direction: int) -> Term:
        """Return the part of input `x` for `direction`, without the axis of the directions."""
        assert x is not None
        return s.op("Gather", x, s.i64(direction), axis=0)

    def _step(
        self,
        size: int,
        functions: Sequence[Activation],
        peeps: bool,
        limited: bool,
        s: Steps,
        states: Sequence[Term],
        elements: Sequence[Term],
        fixed: Sequence[Term],
    ) -> tuple[Sequence[Term], Term]:
        (h, c), (gates, *place), (r, r_scale, r_zero, *rest) = states, elements, fixed
        total = gates + product(s, h, r, r_scale, r_zero)
        into, out, forget, cell = s.split(total, 1, [size] * 4)
        if peeps:
            into, forget = into + rest[0] * c, forget + rest[2] * c
        first, second, third = functions
        opened = applied(s, into, first, self.clip)
        kept = 1.0 - opened if self.input_forget else applied(s, forget, first, self.clip)
        inner = kept * c + opened * applied(s, cell, second, self.clip)
        if peeps:
            out = out + rest[1] * inner
        state = applied(s, out, first, self.clip) * applied(s, inner, third, None)
        if not limited:
            return (state, inner), state
        runs = s.unsqueeze(place[0] < rest[-1], 1)
        return (s.select(runs, state, h), s.select(runs, inner, c)), s.select(runs, state, 0.0)
