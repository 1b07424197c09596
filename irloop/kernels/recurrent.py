"""LSTM, GRU and RNN: cells and whole sequences.

The inputs of all time steps are projected by one matrix product; only the recurrent product and the
gates remain in the loop over steps. Narrow floats are computed in f32. Shapes: T steps, B items, I
inputs, S state elements, G gates, D directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from irloop import budget
from irloop.kernels.matmul import widened
from irloop.kernels.recurrent_activations import activation, clipped
from irloop.kernels.work import FEW, spend_each, spend_products

__all__ = [
    "Array",
    "Function",
    "GruCell",
    "LstmCell",
    "RnnCell",
    "cell",
    "onnx_sequence",
    "openvino_sequence",
]

Array = np.ndarray[Any, np.dtype[Any]]
Function = Callable[..., Any]
#: The name of an activation in lower case, its alpha and its beta.
ActivationSpec = tuple[str, float, float]
#: Maps (projected input [B, G*S], h [B, S], c or None) to the new (h, c).
Step = Callable[[Array, Array, Array | None], tuple[Array, Array | None]]


#: The nanoseconds that an element of a gate takes.
A_GATE = 20

#: From this number of steps on, a transposed copy of the weights pays for itself.
LASTING_STEPS = 8


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of one direction of a recurrent operation with G gates and S hidden units.

    `w` [G*S, I] multiplies the input, `r` [G*S, S] the hidden state. `bias` is added to the product
    of the input and `w`. `recurrent_bias` [S] is the separate bias of the candidate state in a GRU
    with linear_before_reset. `peepholes` [3*S] are in the order input, output, forget.
    """

    w: Array
    r: Array
    bias: Array | None = None
    recurrent_bias: Array | None = None
    peepholes: Array | None = None
    #: True if a transposed copy of the recurrent weights pays off, because several items take many
    #: steps.
    lasting: bool = False

    def transposed(self, first: int = 0, end: int | None = None) -> Array:
        """Return the rows `first` to `end` of the recurrent weights, transposed: [S, rows].

        The hidden state [N, S], where S is its size, can be multiplied by this matrix from the
        right. Row `end` itself is excluded; without `end`, all rows from `first` on are taken.
        """
        turned = self.r[first:end].T
        return np.ascontiguousarray(turned) if self.lasting else turned


@dataclass(frozen=True, slots=True)
class LstmCell:
    """A long short-term memory cell.

    `order` is the order of the gates in the weights, e.g. ``fico``.
    """

    activations: tuple[ActivationSpec, ...]
    clip: float = 0.0
    order: str = "fico"
    input_forget: bool = False

    gates = 4

    def step(self, weights: Weights) -> Step:
        """Return the function that computes one step."""
        if weights.peepholes is not None or self.input_forget:
            return self._general(weights)
        gate, candidate, output = self._functions()
        recurrent = weights.transposed()
        size = weights.r.shape[-1]
        order = self.order
        if order in ("fioc", "ifoc", "iofc", "oifc", "foic", "ofic"):
            # Gates that share an activation are adjacent.
            at_f, at_i, at_o = (order.index(name) * size for name in "fio")

            def joined(x: Array, h: Array, c: Array | None) -> tuple[Array, Array | None]:
                assert c is not None, "an LSTM has a cell state"
                z = x + h @ recurrent
                gates = gate(z[:, : 3 * size])
                c = gates[:, at_f : at_f + size] * c
                c = c + gates[:, at_i : at_i + size] * candidate(z[:, 3 * size :])
                return gates[:, at_o : at_o + size] * output(c), c

            return joined
        at_f, at_i, at_c, at_o = (order.index(name) * size for name in "fico")

        def apart(x: Array, h: Array, c: Array | None) -> tuple[Array, Array | None]:
            assert c is not None, "an LSTM has a cell state"
            z = x + h @ recurrent
            c = gate(z[:, at_f : at_f + size]) * c
            c = c + gate(z[:, at_i : at_i + size]) * candidate(z[:, at_c : at_c + size])
            return gate(z[:, at_o : at_o + size]) * output(c), c

        return apart

    def _functions(self) -> tuple[Function, Function, Function]:
        gate, candidate, output = (activation(*spec) for spec in self.activations)
        # The clip bound does not apply to the cell state on its way to the output.
        return clipped(gate, self.clip), clipped(candidate, self.clip), output

    def _general(self, weights: Weights) -> Step:
        """Return the step function of a cell with peepholes or coupled gates."""
        gate, candidate, output = self._functions()
        recurrent = weights.transposed()
        size = weights.r.shape[-1]
        at_f, at_i, at_c, at_o = (
            slice(self.order.index(name) * size, (self.order.index(name) + 1) * size)
            for name in "fico"
        )
        peeps: Array = np.zeros((3, 1), weights.r.dtype)
        if weights.peepholes is not None:
            peeps = weights.peepholes.reshape(3, size)
        peep_i, peep_o, peep_f = peeps
        coupled = self.input_forget

        def step(x: Array, h: Array, c: Array | None) -> tuple[Array, Array | None]:
            assert c is not None, "an LSTM has a cell state"
            z = x + h @ recurrent
            i = gate(z[:, at_i] + peep_i * c)
            f = 1 - i if coupled else gate(z[:, at_f] + peep_f * c)
            c = f * c + i * candidate(z[:, at_c])
            o = gate(z[:, at_o] + peep_o * c)
            return o * output(c), c

        return step


@dataclass(frozen=True, slots=True)
class GruCell:
    """A gated recurrent unit with the gate order z r h."""

    activations: tuple[ActivationSpec, ...]
    clip: float = 0.0
    linear_before_reset: bool = False

    gates = 3

    def step(self, weights: Weights) -> Step:
        """Return the function that computes one step."""
        gate, candidate = (clipped(activation(*spec), self.clip) for spec in self.activations)
        size = weights.r.shape[-1]
        for_gates, for_candidate = weights.transposed(0, 2 * size), weights.transposed(2 * size)
        linear, own_bias = self.linear_before_reset, weights.recurrent_bias

        def step(x: Array, h: Array, c: Array | None) -> tuple[Array, Array | None]:
            gates = gate(x[:, : 2 * size] + h @ for_gates)
            z, r = gates[:, :size], gates[:, size:]
            if linear:
                inner = h @ for_candidate
                inner = r * (inner if own_bias is None else inner + own_bias)
            else:
                inner = (r * h) @ for_candidate
            new = candidate(x[:, 2 * size :] + inner)
            return (1 - z) * new + z * h, c

        return step


@dataclass(frozen=True, slots=True)
class RnnCell:
    """A plain recurrent unit."""

    activations: tuple[ActivationSpec, ...]
    clip: float = 0.0

    gates = 1

    def step(self, weights: Weights) -> Step:
        """Return the function that computes one step."""
        (spec,) = self.activations
        function = clipped(activation(*spec), self.clip)
        recurrent = weights.transposed()

        def step(x: Array, h: Array, c: Array | None) -> tuple[Array, Array | None]:
            return function(x + h @ recurrent), c

        return step


Cell = LstmCell | GruCell | RnnCell


def _spend_steps(weights: Weights, steps: int, items: int) -> None:
    """Charge the budget for the products and the gates of all items in all time steps."""
    what = "a recurrent operation"
    count = steps * items
    products = count * (weights.w.size + weights.r.size)
    # A matrix that is too large for the cache is read again in each step.
    read = steps * weights.r.size if weights.r.size > FEW else 0
    spend_products(products, weights.w.dtype, what, read=read, is_vector=items == 1)
    spend_each(count * weights.r.shape[-2], A_GATE, what)


def _projected(x: Array, weights: Weights) -> Array:
    # One matrix product over all steps instead of one per step.
    flat = x.reshape(-1, x.shape[-1]) @ weights.w.T
    if weights.bias is not None:
        flat += weights.bias
    result: Array = flat.reshape(*x.shape[:-1], flat.shape[-1])
    return result


def _summed_bias(kind: Cell, bias: Array | None, size: int) -> tuple[Array | None, Array | None]:
    """Split an OpenVINO bias into a part for all gates and one for the candidate gate alone.

    There is a second part only for a GRU with `linear_before_reset`; otherwise it is None.
    """
    if bias is None or not (isinstance(kind, GruCell) and kind.linear_before_reset):
        return bias, None
    return bias[..., : 3 * size], bias[..., 3 * size :]


def cell(kind: Cell, n_outputs: int) -> Function:
    """Make a kernel that computes one step of an OpenVINO cell.

    The kernel takes X [B, I], H [B, S] and, for an LSTM, C [B, S]; then W [G*S, I], R [G*S,
    S] and B [G*S], which is [4*S] for a GRU with linear_before_reset. It returns H and, for
    an LSTM, C.
    """
    has_state = isinstance(kind, LstmCell)

    def apply(x: Array, h: Array, *rest: Array | None) -> Any:
        given = [None if item is None else widened(item) for item in rest]
        c = given.pop(0) if has_state else None
        w, r, bias, *_ = [*given, None]
        assert w is not None
        assert r is not None
        added, own = _summed_bias(kind, bias, h.shape[-1])
        weights = Weights(w, r, added, own)
        _spend_steps(weights, 1, len(x))
        with np.errstate(all="ignore"):
            new_h, new_c = kind.step(weights)(_projected(widened(x), weights), widened(h), c)
        if not has_state:
            return new_h.astype(x.dtype, copy=False)
        assert new_c is not None
        return (new_h.astype(x.dtype, copy=False), new_c.astype(x.dtype, copy=False))[:n_outputs]

    return apply


def _run(
    kind: Cell,
    weights: Weights,
    x: Array,
    lengths: Array | None,
    h: Array,
    c: Array | None,
    *,
    reverse: bool,
) -> tuple[Array, Array, Array | None]:
    """Run all time steps of one direction of a recurrent layer.

    `x` is X [T, B, I]. Returns Y [T, B, S], and h and c after the last step of each item.
    With `lengths`, each item stops after its own number of steps, and the outputs of later
    steps are 0.
    The final states of an item without steps are 0, too.
    """
    steps, items = x.shape[:2]
    size = weights.r.shape[-1]
    if lengths is None and reverse:
        x = x[::-1]
    order = None
    if lengths is not None and reverse:
        at_step = np.arange(steps)[:, None]
        bound = np.minimum(lengths, steps)
        # Position of step t of each item when its valid part is read backwards: [T, B].
        order = np.where(at_step < bound, bound - 1 - at_step, at_step)
        x = x[order, np.arange(items)]
    budget.spend(4 * steps, "a recurrent operation")
    _spend_steps(weights, steps, items)
    projected = _projected(x, weights)
    lasting = items > 1 and steps >= LASTING_STEPS
    step = kind.step(replace(weights, lasting=lasting))
    y = np.zeros((steps, items, size), dtype=projected.dtype)
    if lengths is None:
        for t in range(steps):
            h, c = step(projected[t], h, c)
            y[t] = h
        return (y[::-1] if reverse else y), h, c
    started = (lengths > 0)[:, None]
    h, c = np.where(started, h, 0), None if c is None else np.where(started, c, 0)
    for t in range(min(int(lengths.max(initial=0)), steps)):
        runs = (t < lengths)[:, None]
        new_h, new_c = step(projected[t], h, c)
        y[t] = np.where(runs, new_h, 0)
        h = np.where(runs, new_h, h)
        c = None if new_c is None or c is None else np.where(runs, new_c, c)
    return (y if order is None else y[order, np.arange(items)]), h, c


def _partial(lengths: Array | None, steps: int) -> Array | None:
    """Return the sequence lengths as i64 [batch], or None if no sequence ends early.

    `steps` is the length of the sequence axis. If `steps` is 0 and there are no `lengths`, the
    result is an array with a single 0.
    """
    if lengths is None:
        return None if steps else np.zeros(1, dtype=np.int64)
    whole = lengths.reshape(-1).astype(np.int64)
    return None if steps and (whole >= steps).all() else whole


def _sequence(
    cells: Sequence[Cell],
    direction: str,
    x: Array,
    lengths: Array | None,
    h: Array | None,
    c: Array | None,
    weights: Sequence[Weights],
) -> tuple[Array, Array, Array]:
    """Run all directions of a recurrent layer.

    X [T, B, I] and states [D, B, S] result in Y [T, D, B, S] and final states [D, B, S].

    Raises:
        ValueError: when a state has another batch size or hidden size than X and the weights, or
            when the number of lengths is not the batch size.
    """
    steps, items = x.shape[:2]
    size = weights[0].r.shape[-1]
    for word, state in (("hidden", h), ("cell", c)):
        if state is not None and state.shape[1:] != (items, size):
            raise ValueError(
                f"the initial {word} state has {state.shape[1]} items of {state.shape[2]} "
                f"elements, but X and the weights need {items} of {size}"
            )
    if lengths is not None and lengths.size != items:
        raise ValueError(f"{lengths.size} sequence lengths are given for {items} items")
    lengths = _partial(lengths, steps)
    zeros = np.zeros((items, size), dtype=x.dtype)
    outputs, ends, memories = [], [], []
    reversals = {"forward": (False,), "reverse": (True,)}.get(direction, (False, True))
    for number, (kind, reverse) in enumerate(zip(cells, reversals, strict=True)):
        first_h = zeros if h is None else h[number]
        first_c = None
        if isinstance(kind, LstmCell):
            first_c = zeros if c is None else c[number]
        y, end, memory = _run(kind, weights[number], x, lengths, first_h, first_c, reverse=reverse)
        outputs.append(y)
        ends.append(end)
        memories.append(end if memory is None else memory)
    return np.stack(outputs, axis=1), np.stack(ends), np.stack(memories)


def openvino_sequence(kind: Cell, direction: str, n_outputs: int) -> Function:
    """Return a kernel for a whole recurrent sequence of OpenVINO: LSTM, GRU or RNN.

    The kernel takes, in this order:

    - X [B, T, I] and the initial H [B, D, S]; for an LSTM also the initial C [B, D, S]
    - the sequence lengths [B]
    - the weights W [D, G*S, I] and R [D, G*S, S]
    - the bias [D, G*S]; [D, 4*S] for a GRU with linear_before_reset
    - the peepholes [D, 3*S]

    It returns the first `n_outputs` of Y [B, D, T, S], the final H and, for an LSTM, the final C. B
    is the batch, D the number of directions, T the time, I the input size, S the state size and G
    the number of gates.
    """
    has_state = isinstance(kind, LstmCell)

    def apply(x: Array, h: Array, *rest: Array | None) -> Any:
        given = list(rest)
        c = given.pop(0) if has_state else None
        lengths, w, r, bias, peepholes, *_ = [*given, None, None]
        assert w is not None
        assert r is not None
        dtype = x.dtype
        w, r = widened(w), widened(r)
        added, own = _summed_bias(kind, None if bias is None else widened(bias), r.shape[-1])
        weights = [
            Weights(
                w[at],
                r[at],
                None if added is None else added[at],
                None if own is None else own[at],
                None if peepholes is None else widened(peepholes)[at],
            )
            for at in range(w.shape[0])
        ]
        with np.errstate(all="ignore"):
            y, end, memory = _sequence(
                [kind] * len(weights),
                direction,
                widened(x).swapaxes(0, 1),
                lengths,
                widened(h).swapaxes(0, 1),
                None if c is None else widened(c).swapaxes(0, 1),
                weights,
            )
        results = [y.transpose(2, 1, 0, 3), end.swapaxes(0, 1), memory.swapaxes(0, 1)]
        kept = [np.ascontiguousarray(item, dtype=dtype) for item in results[: 2 + has_state]]
        return tuple(kept[:n_outputs])

    return apply


def _onnx_weights(
    kind: Cell, w: Array, r: Array, bias: Array | None, peep: Array | None
) -> Weights:
    if bias is None:
        return Weights(w, r, peepholes=peep)
    middle = bias.shape[-1] // 2
    for_input, recurrent = bias[:middle], bias[middle:]
    if not (isinstance(kind, GruCell) and kind.linear_before_reset):
        return Weights(w, r, for_input + recurrent, peepholes=peep)
    size = r.shape[-1]
    added = np.array(for_input)
    added[: 2 * size] += recurrent[: 2 * size]
    return Weights(w, r, added, recurrent[2 * size :])


def onnx_sequence(cells: Sequence[Cell], direction: str, layout: int, n_outputs: int) -> Function:
    """Return a kernel for ONNX's LSTM, GRU or RNN; `cells` holds one cell per direction.

    In the shapes, T is the number of steps, N the batch size, I the input size, S the state size, D
    the number of directions and G the number of gates. The kernel takes X [T, N, I], W [D, G*S, I],
    R [D, G*S, S], B [D, 2*G*S], lengths [N], H [D, N, S], C [D, N, S] and peepholes [D, 3*S]. It
    returns the first `n_outputs` of Y [T, D, N, S], H and, for an LSTM, C. If `layout` is 1, the
    batch axis comes first in X, Y, H and C.
    """
    has_state = isinstance(cells[0], LstmCell)

    def wide(item: Array | None) -> Array | None:
        return None if item is None else widened(item)

    def states(item: Array | None) -> Array | None:
        return item if item is None or layout == 0 else item.swapaxes(0, 1)

    def apply(
        x: Array,
        w: Array,
        r: Array,
        bias: Array | None = None,
        lengths: Array | None = None,
        h: Array | None = None,
        c: Array | None = None,
        peepholes: Array | None = None,
    ) -> Any:
        dtype = x.dtype
        biases, peeps = wide(bias), wide(peepholes)
        weights = [
            _onnx_weights(
                kind,
                widened(w)[at],
                widened(r)[at],
                None if biases is None else biases[at],
                None if peeps is None else peeps[at],
            )
            for at, kind in enumerate(cells)
        ]
        data = widened(x)
        with np.errstate(all="ignore"):
            y, end, memory = _sequence(
                cells,
                direction,
                data.swapaxes(0, 1) if layout else data,
                lengths,
                states(wide(h)),
                states(wide(c)),
                weights,
            )
        if layout:
            y, end, memory = y.transpose(2, 0, 1, 3), end.swapaxes(0, 1), memory.swapaxes(0, 1)
        kept = [
            np.ascontiguousarray(item, dtype=dtype) for item in (y, end, memory)[: 2 + has_state]
        ]
        return kept[0] if n_outputs == 1 else tuple(kept[:n_outputs])

    return apply
