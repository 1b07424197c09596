"""Recurrent operations: against arithmetic by hand, stored outputs and ONNX Runtime."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

import irloop
from irloop.dialects.onnx import recurrent as onnx_ops
from irloop.dialects.openvino import recurrent as ov_ops
from irloop.errors import InferenceError
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Value
from irloop.graph.op import Op
from irloop.graph.types import DynamicDim, ElementType, Shape, TensorType
from tests.archives import opconf_cases

Array = np.ndarray[Any, np.dtype[Any]]
FAMILIES = ("LSTMCell", "GRUCell", "RNNCell", "LSTMSequence", "GRUSequence", "RNNSequence")


def _stored() -> list[Path]:
    found = [path for name in FAMILIES for path in opconf_cases().glob(f"*_{name}/*")]
    return sorted(found)


@pytest.mark.parametrize("case", _stored(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_stored_outputs(case: Path) -> None:
    meta = json.loads((case / "meta.json").read_text())
    model = irloop.read_model(case / "model.xml")
    with np.load(case / "data.npz") as data:
        inputs = {item["name"]: data[item["name"]] for item in meta["inputs"]}
        wanted = [data[f"out{index}"] for index in range(len(meta["outputs"]))]
    found = irloop.run(model, inputs)
    for left, right in zip(found.values(), wanted, strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_allclose(left, right, **meta["tolerance"])


def _f32(*rows: Any) -> Array:
    return np.array(rows, dtype=np.float32)


def test_rnn_cell_by_hand() -> None:
    # relu(2 * 3 - 1 * 4 + 0.5) = 2.5
    op = ov_ops.RNNCell(hidden_size=1, activations=("relu",))
    found = op.kernel()(_f32([3]), _f32([4]), _f32([2]), _f32([-1]), _f32(0.5))
    np.testing.assert_allclose(found, [[2.5]])


def test_clip_bounds_the_input_of_the_activation() -> None:
    op = ov_ops.RNNCell(hidden_size=1, activations=("relu",), clip=2.0)
    found = op.kernel()(_f32([3]), _f32([4]), _f32([2]), _f32([-1]), _f32(0.5))
    np.testing.assert_allclose(found, [[2.0]])


def test_lstm_cell_by_hand() -> None:
    # With zero weights every gate is sigmoid(bias); the gate order is f i c o.
    bias = _f32(0.0, 1.0, 2.0, -1.0)
    op = ov_ops.LSTMCell(hidden_size=1)
    zero_w, zero_r = np.zeros((4, 1), np.float32), np.zeros((4, 1), np.float32)
    h, c = op.kernel(2)(_f32([7]), _f32([5]), _f32([3]), zero_w, zero_r, bias)
    memory = 0.5 * 3 + 1 / (1 + np.exp(-1.0)) * np.tanh(2.0)
    np.testing.assert_allclose(c, [[memory]], rtol=1e-6)
    np.testing.assert_allclose(h, [[np.tanh(memory) / (1 + np.exp(1.0))]], rtol=1e-6)


def test_gru_cell_with_linear_before_reset_by_hand() -> None:
    # z = 0.5, r = sigmoid(1), h~ = 2 + r * 3 with activation relu, h' = (h~ + h) / 2.
    op = ov_ops.GRUCell(hidden_size=1, activations=("sigmoid", "relu"), linear_before_reset=True)
    zero = np.zeros((3, 1), np.float32)
    found = op.kernel()(_f32([7]), _f32([5]), zero, zero, _f32(0.0, 1.0, 2.0, 3.0))
    candidate = 2 + 3 / (1 + np.exp(-1.0))
    np.testing.assert_allclose(found, [[(candidate + 5) / 2]], rtol=1e-6)


def test_the_output_of_an_item_without_steps_is_zero() -> None:
    op = ov_ops.RNNSequence(hidden_size=1, activations=("relu",))
    x, h = np.ones((2, 3, 1), np.float32), np.full((2, 1, 1), 9, np.float32)
    one = np.ones((1, 1, 1), np.float32)
    lengths = np.array([0, 2], np.int32)
    y, last = op.kernel(2)(x, h, lengths, one, one, np.zeros((1, 1), np.float32))
    np.testing.assert_array_equal(y[:, 0, :, 0], [[0, 0, 0], [10, 11, 0]])
    np.testing.assert_array_equal(last[:, 0, 0], [0, 11])


def test_reverse_stays_within_each_length() -> None:
    op = ov_ops.RNNSequence(hidden_size=1, activations=("relu",), direction="reverse")
    x = _f32([[1], [2], [4]], [[1], [2], [4]])
    one, zero = np.ones((1, 1, 1), np.float32), np.zeros((1, 1), np.float32)
    h, lengths = np.zeros((2, 1, 1), np.float32), np.array([2, 3], np.int64)
    y, last = op.kernel(2)(x, h, lengths, one, one, zero)
    np.testing.assert_array_equal(y[:, 0, :, 0], [[3, 2, 0], [7, 6, 4]])
    np.testing.assert_array_equal(last[:, 0, 0], [3, 7])


def test_opset1_sequence_reads_its_gate_order() -> None:
    rng = np.random.default_rng(5)
    x, h, c = _sequence_inputs(rng)
    w, r, b = (rng.normal(size=size).astype(np.float32) for size in ((1, 8, 4), (1, 8, 2), (1, 8)))
    lengths = np.array([3, 3], np.int32)
    plain = ov_ops.LSTMSequence(hidden_size=2).kernel(3)(x, h, c, lengths, w, r, b)
    # The rows f i c o are written in the order i c o f.
    order = [2, 3, 4, 5, 6, 7, 0, 1]
    op = ov_ops.LSTMSequence1(hidden_size=2, weights_format="icof")
    found = op.kernel(3)(x, h, c, lengths, w[:, order], r[:, order], b[:, order])
    for left, right in zip(found, plain, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-6)


def _sequence_inputs(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    sizes = ((2, 3, 4), (2, 1, 2), (2, 1, 2))
    first, second, third = (rng.normal(size=size).astype(np.float32) for size in sizes)
    return first, second, third


@dataclass(frozen=True)
class Sample:
    """One ONNX node, and the inputs that it has."""

    op: str
    attributes: dict[str, Any] = field(default_factory=dict)
    bias: bool = True
    lengths: tuple[int, ...] = ()
    states: bool = True
    peepholes: bool = False

    def __str__(self) -> str:
        return f"{self.op}-{'-'.join(str(value) for value in self.attributes.values())}"


GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, ITEMS, INPUTS, SIZE = 4, 3, 2, 3
SAMPLES = [
    Sample("LSTM"),
    Sample("LSTM", {"direction": "reverse"}, lengths=(4, 0, 2)),
    Sample("LSTM", {"direction": "bidirectional"}, bias=False, lengths=(1, 4, 3)),
    Sample("LSTM", {"clip": 0.4}, peepholes=True),
    Sample("LSTM", {"input_forget": 1}, peepholes=True, lengths=(4, 1, 2), states=False),
    Sample("LSTM", {"activations": ["HardSigmoid", "Softsign", "Relu"]}),
    Sample(
        "LSTM",
        {
            "direction": "bidirectional",
            "activations": ["Sigmoid", "HardSigmoid", "Tanh", "Elu", "Tanh", "LeakyRelu"],
            "activation_alpha": [0.3, 0.7, 0.2],
            "activation_beta": [0.4],
        },
    ),
    Sample("GRU"),
    Sample("GRU", {"direction": "bidirectional", "linear_before_reset": 1}, lengths=(4, 4, 1)),
    Sample("GRU", {"direction": "reverse", "clip": 0.3}, bias=False),
    Sample("GRU", {"linear_before_reset": 1, "clip": 0.5}, states=False),
    Sample("GRU", {"activations": ["Sigmoid", "Softplus"]}, lengths=(2, 3, 4)),
    Sample("RNN"),
    Sample("RNN", {"direction": "bidirectional", "activations": ["Relu", "Sigmoid"]}),
    Sample(
        "RNN",
        {"activations": ["Affine"], "activation_alpha": [0.5], "activation_beta": [0.1]},
    ),
    Sample(
        "RNN",
        {"activations": ["ScaledTanh"], "activation_alpha": [0.5], "activation_beta": [1.5]},
    ),
    Sample("RNN", {"activations": ["ThresholdedRelu"], "activation_alpha": [0.2]}),
]


def _inputs(sample: Sample) -> list[Array | None]:
    rng = np.random.default_rng(3)
    count = 2 if sample.attributes.get("direction") == "bidirectional" else 1
    gates = GATES[sample.op]

    def normal(*shape: int) -> Array:
        return rng.normal(size=shape).astype(np.float32)

    state = normal(count, ITEMS, SIZE) if sample.states else None
    inputs = [
        normal(STEPS, ITEMS, INPUTS),
        normal(count, gates * SIZE, INPUTS),
        normal(count, gates * SIZE, SIZE),
        normal(count, 2 * gates * SIZE) if sample.bias else None,
        np.array(sample.lengths, np.int32) if sample.lengths else None,
        state,
    ]
    if sample.op == "LSTM":
        inputs += [state, normal(count, 3 * SIZE) if sample.peepholes else None]
    return inputs


def _runtime(sample: Sample, inputs: Sequence[Array | None]) -> list[Array]:
    outputs = ["y", "y_h", "y_c"][: 3 if sample.op == "LSTM" else 2]
    names = [f"in{at}" if item is not None else "" for at, item in enumerate(inputs)]
    node = helper.make_node(sample.op, names, outputs, hidden_size=SIZE, **sample.attributes)
    given = {name: item for name, item in zip(names, inputs, strict=True) if item is not None}
    graph = helper.make_graph(
        [node],
        "sample",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(item.dtype), item.shape
            )
            for name, item in given.items()
        ],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    runtime: Any = onnxruntime
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found: list[Array] = session.run(None, given)
    return found


def _operation(sample: Sample, **more: Any) -> Op:
    attributes = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in (sample.attributes | more).items()
    }
    cls: type[Op] = getattr(onnx_ops, sample.op)
    return cls(hidden_size=SIZE, **attributes)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_onnx_runtime_agrees(sample: Sample) -> None:
    inputs = _inputs(sample)
    wanted = _runtime(sample, inputs)
    found = _operation(sample).kernel(len(wanted))(*inputs)
    for left, right in zip(found, wanted, strict=True):
        assert left.dtype == np.float32
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_layout_1_is_batch_first(op: str) -> None:
    sample = Sample(op, {"direction": "bidirectional"}, lengths=(2, 4, 1))
    inputs = _inputs(sample)
    y, *ends = _runtime(sample, inputs)
    turned = [
        item if item is None or at not in (0, 5, 6) else item.swapaxes(0, 1)
        for at, item in enumerate(inputs)
    ]
    found = _operation(sample, layout=1).kernel(1 + len(ends))(*turned)
    np.testing.assert_allclose(found[0], y.transpose(2, 0, 1, 3), rtol=1e-4, atol=1e-5)
    for left, right in zip(found[1:], ends, strict=True):
        np.testing.assert_allclose(left, right.swapaxes(0, 1), rtol=1e-4, atol=1e-5)


def test_half_precision_keeps_its_type() -> None:
    inputs = _inputs(SAMPLES[0])
    half = [None if item is None else item.astype(np.float16) for item in inputs]
    found = onnx_ops.LSTM(hidden_size=SIZE).kernel(3)(*half)
    for left, right in zip(found, _runtime(SAMPLES[0], inputs), strict=True):
        assert left.dtype == np.float16
        np.testing.assert_allclose(left, right, rtol=1e-2, atol=5e-3)


def _f32_type(*dims: int | None) -> TensorType:
    return TensorType(ElementType.F32, Shape.of(*dims))


def _inferred(op: Op, *shapes: Sequence[int | None] | None) -> list[str]:
    builder = Builder(Graph("test"))
    values: list[Value | None] = []
    for at, shape in enumerate(shapes):
        type = TensorType(ElementType.F32, Shape(None)) if shape is None else _f32_type(*shape)
        values.append(builder.parameter(f"in{at}", type))
    count = op.n_outputs or 2
    return [str(value.type) for value in builder.emit(op, *values, n_outputs=count).outputs]


def test_sequence_shapes() -> None:
    op = ov_ops.GRUSequence(hidden_size=3, direction="bidirectional")
    found = _inferred(op, (5, None, 2), (5, 2, 3), (5,), (2, 9, 2), (2, 9, 3), (2, 9))
    assert found == ["f32[5,2,?,3]", "f32[5,2,3]"]


def test_unknown_ranks_keep_the_sizes_of_the_weights() -> None:
    op = ov_ops.RNNSequence(hidden_size=3)
    assert _inferred(op, None, None, None, (1, 3, 2), (1, 3, 3), None) == [
        "f32[?,1,?,3]",
        "f32[?,1,3]",
    ]


def test_onnx_shapes() -> None:
    assert _inferred(onnx_ops.RNN(hidden_size=3), (7, 5, 2), (1, 3, 2), (1, 3, 3)) == [
        "f32[7,1,5,3]",
        "f32[1,5,3]",
    ]
    assert _inferred(onnx_ops.GRU(hidden_size=3, layout=1), (5, 7, 2), (1, 9, 2), (1, 9, 3)) == [
        "f32[5,7,1,3]",
        "f32[5,1,3]",
    ]


def test_contradictions_are_named() -> None:
    with pytest.raises(InferenceError, match="W has a wrong shape"):
        _inferred(ov_ops.RNNCell(hidden_size=3), (5, 2), (5, 3), (3, 4), (3, 3), (3,))
    with pytest.raises(InferenceError, match="B has a wrong shape"):
        _inferred(
            ov_ops.GRUCell(hidden_size=3, linear_before_reset=True),
            (5, 2),
            (5, 3),
            (9, 2),
            (9, 3),
            (9,),
        )
    with pytest.raises(InferenceError, match="not one of affine"):
        _inferred(
            onnx_ops.RNN(hidden_size=3, activations=("Cosine",)), (7, 5, 2), (1, 3, 2), (1, 3, 3)
        )
    with pytest.raises(InferenceError, match="direction is unknown"):
        _inferred(
            onnx_ops.RNN(hidden_size=3, direction="sideways"), (7, 5, 2), (1, 3, 2), (1, 3, 3)
        )


@pytest.mark.parametrize("op", ["GRU", "LSTM", "RNN"])
def test_states_of_another_batch_are_refused(op: str, tmp_path: Path) -> None:
    """ONNX Runtime also refuses an initial state of one item for a batch of two."""
    text = f"""
<ir_version: 8, opset_import: ["" : 17]>
g (float[t, b, 2] x, float[1, h, 3] state) => (float[t, 1, b, 3] y) {{
  y, last = {op} <hidden_size = 3> (x, w, r, "", "", state)
}}
"""
    gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[op]
    model = onnx.parser.parse_model(text)
    for name, columns in (("w", 2), ("r", 3)):
        weights = np.full((1, gates * 3, columns), 0.5, np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(weights, name))
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    session = onnxruntime.InferenceSession(path)
    for items, accepted in ((2, True), (1, False)):
        inputs = {"x": np.ones((4, 2, 2), np.float32), "state": np.ones((1, items, 3), np.float32)}
        if accepted:
            found = irloop.run(path, inputs)["y"]
            np.testing.assert_allclose(found, session.run(["y"], inputs)[0], 1e-5)
            continue
        with pytest.raises(Exception, match="initial_h"):
            session.run(None, inputs)
        with pytest.raises(irloop.IrloopError, match="initial_h has a wrong shape"):
            irloop.run(path, inputs)


def test_the_name_of_a_batch_axis_stays() -> None:
    """Loops compare the sizes of their states by these names."""
    named, b = DynamicDim(symbol="n"), Builder(Graph())
    shapes = (
        Shape.of(3, named, 2),
        Shape.of(1, 4 * SIZE, 2),
        Shape.of(1, 4 * SIZE, SIZE),
        Shape.of(1, None, SIZE),
    )
    x, w, r, h = (
        b.parameter(f"in{at}", TensorType(ElementType.F32, shape))
        for at, shape in enumerate(shapes)
    )
    node = b.emit(onnx_ops.LSTM(hidden_size=SIZE), x, w, r, None, None, h, n_outputs=3)
    assert [str(value.type) for value in node.outputs] == [
        f"f32[3,1,n,{SIZE}]",
        f"f32[1,n,{SIZE}]",
        f"f32[1,n,{SIZE}]",
    ]
