"""Converts LSTM, GRU and RNN of ONNX to sequences of OpenVINO.

A bidirectional operation with different activations per direction is split in two. What no runtime
computes in a sequence, such as peepholes, is written so at first: `SequencesToGates` replaces it by
a loop of gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import imports
from irloop.conversion.recurrent import recurrent_parts as parts
from irloop.dialects.onnx import recurrent as onnx
from irloop.dialects.openvino import recurrent as ov
from irloop.dialects.recurrent import Activation
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import Dim, ElementType
from irloop.passes.stored import array_of

__all__: list[str] = []

#: Tensors of one value that have more elements are made by an operation, to keep the file small.
_STORED = 1 << 16

#: The positions of OpenVINO's gates f i c o in ONNX's order i o f c.
OPENVINO_ORDER = ("iofc".index("f"), "iofc".index("i"), "iofc".index("c"), "iofc".index("o"))


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


def _layer(c: Import, op: onnx.Recurrent, inputs: tuple[Value | None, ...]) -> Layer:
    operands = (*inputs, *(None,) * (8 - len(inputs)))
    x, w, r = operands[:3]
    assert x is not None
    assert w is not None
    assert r is not None
    size = op.hidden_size or parts.static_dim(c, r, 2, "state size")
    data = x if op.batch_first() else c.transpose(x, [1, 0, 2])
    batch = {shape_of(v).dim(0 if op.batch_first() else 1) for v in operands[5:7] if v is not None}
    data = _in_batches_of(c, data, [dim for dim in batch if isinstance(dim, int)])
    directions, width = len(op.functions()), op.GATES * size
    w = _sized(c, w, directions, width, shape_of(x).dim(2))
    r = _sized(c, r, directions, width, size)
    bias = None if operands[3] is None else _sized(c, operands[3], directions, 2 * width)
    states = []
    for initial in operands[5 : 5 + op.STATES]:
        if initial is None:
            states.append(_zero_state(c, data, len(op.functions()), size))
        elif op.batch_first():
            states.append(initial)
        else:
            states.append(c.transpose(initial, [1, 0, 2]))
    peepholes = operands[7] if isinstance(op, onnx.LSTM | onnx.LSTM1) else None
    known = None if peepholes is None else array_of(peepholes)
    if known is not None and not known.any():
        peepholes = None
    return Layer(op, data, w, r, bias, operands[4], tuple(states), peepholes, size, directions)


def _in_batches_of(c: Import, data: Value, sizes: list[int]) -> Value:
    """Give data [batch, time, size] of any batch that of the initial states, if it is known.

    OpenVINO's CPU plugin compiles no sequence of an unknown batch with states of a known one.
    """
    if not sizes or isinstance(shape_of(data).dim(0), int):
        return data
    rest = c.sizes_of(data, [1, 2])
    return c.reshape_to(data, c.concat([c.i64(sizes[:1]), rest], 0), special_zero=False)


def _sized(c: Import, weights: Value, *dims: Dim) -> Value:
    """Give weights of unknown sizes the shape `dims`; OpenVINO's CPU plugin needs their sizes."""
    if shape_of(weights).is_static:
        return weights
    unknown = [not isinstance(dim, int) for dim in dims]
    if sum(unknown) > 1:
        return weights
    return c.reshape(weights, [dim if isinstance(dim, int) else -1 for dim in dims])


def _zero_state(c: Import, x: Value, directions: int, size: int) -> Value:
    import numpy as np

    dims = shape_of(x).dims
    if dims is not None and isinstance(dims[0], int) and dims[0] * directions * size <= _STORED:
        return c.constant(np.zeros((dims[0], directions, size)), element_of(x))
    shape = c.concat([c.sizes_of(x, [0]), c.i64([directions, size])], 0)
    return c.broadcast(c.constant(0, element_of(x)), shape)


def _all_steps(c: Import, x: Value) -> Value:
    """Emit the default of sequence_lens: every sequence in the batch has all time steps.

    `x` is [batch, time, ...]. The result is an i32 vector that holds the size of the time axis once
    for each batch item.
    """
    dims = shape_of(x).dims
    batch, time = (None, None) if dims is None else dims[:2]
    if isinstance(batch, int) and isinstance(time, int) and batch <= _STORED:
        return c.constant([time] * batch, ElementType.I32)
    lengths = c.broadcast(c.sizes_of(x, [1]), c.sizes_of(x, [0]))
    return c.convert_always(lengths, ElementType.I32)


def _in_source_layout(c: Import, op: onnx.Recurrent, results: list[Value]) -> list[Value]:
    """Transpose Y [B, D, T, S] and the states [B, D, S] to the layout of the ONNX operation.

    This is Y [T, D, B, S] and states [D, B, S] or, if the batch axis comes first, Y [B, T, D, S]
    and states [B, D, S].
    """
    y, *ends = results
    if op.batch_first():
        return [c.transpose(y, [0, 2, 1, 3]), *ends]
    return [
        c.transpose(y, [2, 1, 0, 3]),
        *(c.transpose(end, [1, 0, 2]) for end in ends),
    ]


@imports(onnx.LSTM, onnx.LSTM1, onnx.GRU, onnx.GRU1, onnx.RNN, onnx.RNN1)
def import_recurrent(c: Import, op: onnx.Recurrent, *inputs: Value | None) -> list[Value]:
    """Write LSTM, GRU or RNN as the sequence operation of the same kind.

    Two directions with different activations are converted one by one.
    """
    layer = _layer(c, op, inputs)
    first, *others = op.functions()
    if all(function == first for function in others):
        return _in_source_layout(c, op, _sequence(c, layer, op.direction.lower(), first))
    made = [
        _sequence(c, _one_direction(c, layer, at), direction, function)
        for at, (direction, function) in enumerate(
            zip(("forward", "reverse"), (first, *others), strict=True)
        )
    ]
    joined = [c.concat(list(pair), 1) for pair in zip(*made, strict=True)]
    return _in_source_layout(c, op, joined)


def _one_direction(c: Import, layer: Layer, at: int) -> Layer:
    """Make the recurrent layer of one direction, number `at`, from a bidirectional layer.

    The weights, the bias, the initial states and the peepholes are cut to this direction.
    """

    def own(value: Value, axis: int, name: str) -> Value:
        return parts.taken(c, value, [at], axis, f"{name}_{at}")

    return Layer(
        layer.op,
        layer.x,
        own(layer.w, 0, "W"),
        own(layer.r, 0, "R"),
        None if layer.bias is None else own(layer.bias, 0, "B"),
        layer.lengths,
        tuple(own(state, 1, "initial") for state in layer.states),
        None if layer.peepholes is None else own(layer.peepholes, 0, "P"),
        layer.size,
        1,
    )


def _summed_bias(c: Import, layer: Layer) -> Value:
    """Emit the bias of a recurrent layer in OpenVINO's form: the sum of both ONNX biases.

    The shape is [D, G*S] with D directions, G gates and hidden size S. For a GRU with
    linear_before_reset it is [D, 4*S], because the two biases of its third gate stay apart. The
    bias is all zeros if the layer has none.
    """
    import numpy as np

    width, gates = layer.op.GATES * layer.size, 2 * layer.size
    linear = isinstance(layer.op, onnx.GRU | onnx.GRU1) and layer.op.linear_before_reset != 0
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


def _sequence(
    c: Import, layer: Layer, direction: str, functions: tuple[Activation, ...]
) -> list[Value]:
    op = layer.op
    lengths = _all_steps(c, layer.x) if layer.lengths is None else layer.lengths
    alphas, betas = parts.by_position(functions)
    shared: dict[str, Any] = {
        "hidden_size": layer.size,
        "activations": tuple(name for name, _, _ in functions),
        "activations_alpha": alphas,
        "activations_beta": betas,
        "clip": op.clip or 0.0,
        "direction": direction,
    }
    weights = [layer.w, layer.r, _summed_bias(c, layer)]
    if isinstance(op, onnx.LSTM | onnx.LSTM1):
        if layer.peepholes is not None or op.input_forget:
            shared |= {"weights_format": "iofc", "input_forget": op.input_forget != 0}
            sequence: ov.Recurrent = ov.LSTMSequence1(**shared)
            weights += [] if layer.peepholes is None else [layer.peepholes]
        else:
            rows = parts.gate_rows(OPENVINO_ORDER, layer.size)
            named = zip(weights, "WRB", strict=True)
            weights = [parts.taken(c, value, rows, 1, name) for value, name in named]
            sequence = ov.LSTMSequence(**shared)
    elif isinstance(op, onnx.GRU | onnx.GRU1):
        sequence = ov.GRUSequence(**shared, linear_before_reset=op.linear_before_reset != 0)
    else:
        sequence = ov.RNNSequence(**shared)
    outputs = c.emit(sequence, layer.x, *layer.states, lengths, *weights).outputs
    return [outputs[0], *_zero_without_steps(c, layer, outputs[1:])]


def _zero_without_steps(c: Import, layer: Layer, states: Sequence[Value]) -> list[Value]:
    """Set the last states to 0 if the input has no steps: this is what they are in ONNX Runtime.

    Neither specification says what they are without a last step, and OpenVINO 2026.4 returns
    uninitialised memory, so the sequence alone does not mean the same. Nothing is added if the
    number of steps is known, or if nothing reads the states.
    """
    read = any(value.is_used for value in c.node.outputs[1:])
    if isinstance(shape_of(layer.x).dim(1), int) or not read:
        return list(states)
    runs = c.greater(c.size_of(layer.x, 1), c.i64(0))
    zero = c.constant(0, element_of(layer.x))
    return [c.select(runs, value, zero) for value in states]
