"""Converts OpenVINO's recurrent sequences and cells to ONNX.

A sequence becomes LSTM, GRU or RNN. A cell, which is usually in the body of a loop, becomes its
gates (two Gemm and the activations), because these are cheaper than a recurrent operation over one
step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from irloop.analysis.lengths import reach_the_end
from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.conversion.recurrent import recurrent_parts as parts
from irloop.dialects.onnx import matmul
from irloop.dialects.onnx import recurrent as onnx
from irloop.dialects.openvino import recurrent as ov
from irloop.dialects.recurrent import Activation
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType
from irloop.passes.stored import array_of

__all__: list[str] = []

#: The positions of ONNX's gates i o f c in OpenVINO's order f i c o.
ONNX_ORDER = "iofc"


def _size(c: Export, weights: Value, hidden_size: int) -> int:
    """Return the hidden size: the last dimension of R if it is known, else the attribute."""
    dims = shape_of(weights).dims
    return dims[-1] if dims is not None and isinstance(dims[-1], int) else hidden_size


def _attributes(
    op: ov.Recurrent, functions: Sequence[Activation], direction: str, size: int
) -> dict[str, Any]:
    """Return the attributes that ONNX's LSTM, GRU and RNN have in common.

    `functions` are the activations of one direction, `size` is the hidden size. LSTM and GRU omit
    the activations if they are the defaults. RNN always lists them: its schema has two default
    activations, but a single direction has only one, and ONNX Runtime requires the exact number.
    """
    listed = [*functions, *functions] if direction == "bidirectional" else list(functions)
    attributes: dict[str, Any] = {"direction": direction, "hidden_size": size}
    plain = tuple(name for name, _, _ in functions) == op.DEFAULTS
    if not plain or len(op.DEFAULTS) == 1:
        alphas, betas = parts.in_order(listed)
        attributes["activations"] = tuple(parts.ONNX_NAMES[name] for name, _, _ in listed)
        attributes["activation_alpha"] = alphas
        attributes["activation_beta"] = betas
    if op.clip > 0:
        attributes["clip"] = op.clip
    return attributes


def _lengths(c: Export, lengths: Value) -> Value | None:
    """Return the lengths as i32, for the input sequence_lens of the ONNX operation.

    The result is None if no item is shorter than the time axis; the input may then be omitted.
    """
    data, source = c.node.inputs[0], c.node.inputs[len(c.node.outputs)]
    assert data is not None
    assert source is not None
    if reach_the_end(source, data, c.converter.source.constant):
        return None
    return c.convert(lengths, ElementType.I32)


def _zeros(c: Export, shape: Sequence[int], like: Value) -> Value:
    import numpy as np

    return c.constant(np.zeros(tuple(shape)), element_of(like))


def _joined_bias(c: Export, bias: Value, width: int) -> Value:
    """Extend the bias [D, width] to ONNX's [D, 2 * width], with zeros as the recurrent half."""
    import numpy as np

    known = array_of(bias)
    if known is not None:
        whole = np.concatenate((known, np.zeros_like(known)), axis=1)
        return parts.constant(c, whole, bias, f"{c.prefix}/B")
    directions = parts.static_dim(c, bias, 0, "number of directions")
    return c.concat([bias, _zeros(c, (directions, width), bias)], 1)


def _linear_bias(c: Export, bias: Value, size: int) -> Value:
    """Convert the four-part bias [D, 4*S] of a GRU to the bias [D, 6*S] of ONNX.

    ONNX's parts are z r h for the input, and 0 0 h for the recurrence.
    """
    import numpy as np

    known = array_of(bias)
    if known is not None:
        zeros = np.zeros_like(known[:, : 2 * size])
        whole = np.concatenate((known[:, : 3 * size], zeros, known[:, 3 * size :]), axis=1)
        return parts.constant(c, whole, bias, f"{c.prefix}/B")
    directions = parts.static_dim(c, bias, 0, "number of directions")
    of_input, own = c.split(bias, 1, [3 * size, size])
    return c.concat([of_input, _zeros(c, (directions, 2 * size), bias), own], 1)


def _emit(
    c: Export, op: onnx.Recurrent, inputs: Sequence[Value | None], states: int
) -> list[Value]:
    """Emit an ONNX recurrent node and transpose its results to OpenVINO's layout.

    ONNX has the time axis first, OpenVINO the batch axis. `states` is the number of final states
    that the node returns: 2 for LSTM, otherwise 1. Before opset 22, bf16 is computed in f32.
    Returns Y and the final states.
    """
    element = element_of(inputs[0]) if inputs[0] is not None else ElementType.DYNAMIC
    narrow = element is ElementType.BF16 and c.opset < 22
    wide = [
        c.convert(item, ElementType.F32) if narrow and item is not None and at != 4 else item
        for at, item in enumerate(inputs)
    ]
    node = c.emit(op, *wide, n_outputs=1 + states)
    y, *ends = node.outputs
    results = [c.transpose(y, [2, 1, 0, 3])]
    results += [c.transpose(end, [1, 0, 2]) for end in ends]
    return [c.convert(item, element) for item in results] if narrow else results


def _turned(c: Export, value: Value) -> Value:
    return c.transpose(value, [1, 0, 2])


def _reordered(c: Export, value: Value, order: str, size: int, name: str) -> Value:
    """Emit the weights of an LSTM with the gates reordered to ONNX's order.

    `value` has the shape [D, 4*S, ...]. `order` names its gates in their present order, and each
    gate has `size` rows on axis 1. If the weights are constant, the reordered constant is named
    after `name`, such as "W".
    """
    rows = parts.gate_rows([order.index(gate) for gate in ONNX_ORDER], size)
    return parts.taken(c, value, rows, 1, name)


def _export_lstm(
    c: Export,
    op: ov.LSTMSequence | ov.LSTMSequence1,
    inputs: Sequence[Value],
    order: str,
    *,
    input_forget: bool = False,
    peepholes: Value | None = None,
) -> list[Value]:
    x, h, memory, lengths, w, r, bias = inputs
    size = _size(c, r, op.hidden_size)
    attributes = _attributes(op, op.functions(), op.direction.lower(), size)
    operands = [
        _turned(c, x),
        _reordered(c, w, order, size, "W"),
        _reordered(c, r, order, size, "R"),
        _joined_bias(c, _reordered(c, bias, order, size, "B"), 4 * size),
        _lengths(c, lengths),
        _turned(c, h),
        _turned(c, memory),
        peepholes,
    ]
    return _emit(c, onnx.LSTM(**attributes, input_forget=int(input_forget)), operands, 2)


@exports(ov.LSTMSequence)
def export_lstm(c: Export, op: ov.LSTMSequence, *inputs: Value) -> list[Value]:
    """LSTMSequence -> LSTM."""
    return _export_lstm(c, op, inputs, "fico")


@exports(ov.LSTMSequence1)
def export_lstm1(c: Export, op: ov.LSTMSequence1, *inputs: Value | None) -> list[Value]:
    """Write LSTMSequence of opset1, which may have peepholes, as LSTM."""
    operands = [value for value in inputs[:7] if value is not None]
    peepholes = inputs[7] if len(inputs) > 7 else None
    return _export_lstm(
        c,
        op,
        operands,
        op.weights_format,
        input_forget=op.input_forget,
        peepholes=peepholes,
    )


@exports(ov.GRUSequence)
def export_gru(
    c: Export,
    op: ov.GRUSequence,
    x: Value,
    h: Value,
    lengths: Value,
    w: Value,
    r: Value,
    bias: Value,
) -> list[Value]:
    """GRUSequence -> GRU."""
    size = _size(c, r, op.hidden_size)
    attributes = _attributes(op, op.functions(), op.direction.lower(), size)
    linear = op.linear_before_reset
    both = _linear_bias(c, bias, size) if linear else _joined_bias(c, bias, 3 * size)
    given = [_turned(c, x), w, r, both, _lengths(c, lengths), _turned(c, h)]
    return _emit(c, onnx.GRU(**attributes, linear_before_reset=int(linear)), given, 1)


@exports(ov.RNNSequence)
def export_rnn(
    c: Export,
    op: ov.RNNSequence,
    x: Value,
    h: Value,
    lengths: Value,
    w: Value,
    r: Value,
    bias: Value,
) -> list[Value]:
    """RNNSequence -> RNN."""
    size = _size(c, r, op.hidden_size)
    attributes = _attributes(op, op.functions(), op.direction.lower(), size)
    both = _joined_bias(c, bias, size)
    given = [_turned(c, x), w, r, both, _lengths(c, lengths), _turned(c, h)]
    return _emit(c, onnx.RNN(**attributes), given, 1)


@dataclass(frozen=True, slots=True)
class _Gates:
    """Emits the gates of one step of a recurrent cell, and clips them if `clip` is positive.

    Element types that Gemm does not have are computed in a wider type.
    """

    c: Export
    clip: float

    def projected(self, x: Value, weights: Value, added: Value | None) -> Value:
        """x @ weights^T + added."""
        if added is None and self.c.opset < 11:
            added = self.c.constant(0, element_of(x))
        given = (x, weights) if added is None else (x, weights, added)
        return self.c.numeric(matmul.Gemm(trans_b=1), *given)

    def activated(self, function: Activation, x: Value) -> Value:
        """Apply an activation to `x` after clipping it."""
        if self.clip > 0:
            x = self.c.clip(x, -self.clip, self.clip)
        return parts.onnx_activation(self.c, function, x)

    def mixed(self, gate: Value, left: Value, right: Value) -> Value:
        """(1 - gate) * left + gate * right."""
        c = self.c
        return c.add(left, c.multiply(gate, c.subtract(right, left)))


def _check_ignored(c: Export, op: ov.LSTMCell1, inputs: Sequence[Value | None]) -> None:
    ignored = [
        text
        for text, used in (
            ("input_forget", op.input_forget),
            ("weights_format", op.weights_format.lower() != "fico"),
            ("the peepholes", len(inputs) > 6 and inputs[6] is not None),
        )
        if used
    ]
    if ignored:
        c.warn(
            "CNV802",
            f"LSTMCell-1: {', '.join(ignored)} has no effect, as in OpenVINO's runtimes",
            "write the cell in basic operations if the specification's meaning is wanted",
        )


@exports(ov.LSTMCell, ov.LSTMCell1)
def export_lstm_cell(
    c: Export, op: ov.LSTMCell | ov.LSTMCell1, *inputs: Value | None
) -> list[Value]:
    """Write LSTMCell as two Gemms, a Split into the four gates, and their activations."""
    if isinstance(op, ov.LSTMCell1):
        _check_ignored(c, op, inputs)
    x, h, memory, w, r, bias = (*inputs[:6], None)[:6]
    assert x is not None
    assert h is not None
    assert memory is not None
    assert w is not None
    assert r is not None
    size = _size(c, r, op.hidden_size)
    gates = _Gates(c, op.clip)
    at_gate, at_candidate, at_output = op.functions()
    total = gates.projected(h, r, gates.projected(x, w, bias))
    if op.clip > 0:
        # A single Clip of all gates is the same as one Clip for each of the four.
        total = c.clip(total, -op.clip, op.clip)
    gates = _Gates(c, 0.0)
    f, i, candidate, o = c.split(total, 1, [size] * 4)
    kept = c.multiply(gates.activated(at_gate, f), memory)
    added = c.multiply(gates.activated(at_gate, i), gates.activated(at_candidate, candidate))
    new_memory = c.add(kept, added)
    shown = parts.onnx_activation(c, at_output, new_memory)
    return [c.multiply(gates.activated(at_gate, o), shown), new_memory]


@exports(ov.GRUCell)
def export_gru_cell(
    c: Export, op: ov.GRUCell, x: Value, h: Value, w: Value, r: Value, bias: Value
) -> Value:
    """Write GRUCell as Gemms that compute the gates and the candidate, and their activations."""
    size = _size(c, r, op.hidden_size)
    gates = _Gates(c, op.clip)
    at_gate, at_candidate = op.functions()
    if op.linear_before_reset:
        return _linear_gru_cell(gates, (at_gate, at_candidate), size, x, h, w, r, bias)
    from_input = gates.projected(x, w, bias)
    of_gates, of_candidate = c.split(from_input, 1, [2 * size, size])
    r_gates = parts.taken(c, r, range(2 * size), 0, "R_zr")
    r_candidate = parts.taken(c, r, range(2 * size, 3 * size), 0, "R_h")
    both = gates.activated(at_gate, gates.projected(h, r_gates, of_gates))
    z, reset = c.split(both, 1, [size, size])
    inner = gates.projected(c.multiply(reset, h), r_candidate, of_candidate)
    return gates.mixed(z, gates.activated(at_candidate, inner), h)


def _linear_gru_cell(
    gates: _Gates,
    functions: tuple[Activation, Activation],
    size: int,
    x: Value,
    h: Value,
    w: Value,
    r: Value,
    bias: Value,
) -> Value:
    c = gates.c
    of_input = parts.taken(c, bias, range(3 * size), 0, "B")
    own = parts.taken(c, bias, range(3 * size, 4 * size), 0, "B_h")
    from_input = gates.projected(x, w, of_input)
    r_gates = parts.taken(c, r, range(2 * size), 0, "R_zr")
    r_candidate = parts.taken(c, r, range(2 * size, 3 * size), 0, "R_h")
    of_gates, of_candidate = c.split(from_input, 1, [2 * size, size])
    both = gates.activated(functions[0], gates.projected(h, r_gates, of_gates))
    z, reset = c.split(both, 1, [size, size])
    inner = c.multiply(reset, gates.projected(h, r_candidate, own))
    new = gates.activated(functions[1], c.add(of_candidate, inner))
    return gates.mixed(z, new, h)


@exports(ov.RNNCell)
def export_rnn_cell(
    c: Export,
    op: ov.RNNCell,
    x: Value,
    h: Value,
    w: Value,
    r: Value,
    bias: Value | None = None,
) -> Value:
    """Write RNNCell as two Gemms and the activation."""
    gates = _Gates(c, op.clip)
    (function,) = op.functions()
    return gates.activated(function, gates.projected(h, r, gates.projected(x, w, bias)))
