"""Conversion of recurrent operations, compared with stored outputs and ONNX Runtime; the chosen
form.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import irloop
from irloop.conversion import pipelines
from irloop.dialects.openvino import control_flow
from irloop.dialects.openvino import recurrent as ov
from irloop.formats.onnx.reader import from_proto
from irloop.formats.onnx.writer import to_proto_model
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.op import Constant
from irloop.graph.types import ElementType, Shape, TensorType
from irloop.graph.walk import all_nodes
from tests.archives import opconf_cases

Array = np.ndarray[Any, np.dtype[Any]]
FAMILIES = ("LSTMCell", "GRUCell", "RNNCell", "LSTMSequence", "GRUSequence", "RNNSequence")
STEPS, ITEMS, INPUTS, SIZE = 4, 3, 2, 3
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def _stored() -> list[Path]:
    return sorted(path for name in FAMILIES for path in opconf_cases().glob(f"*_{name}/*"))


def _run_onnx(model: onnx.ModelProto, inputs: dict[str, Array]) -> list[Array]:
    runtime: Any = onnxruntime
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    found: list[Array] = session.run(None, inputs)
    return found


@pytest.mark.parametrize("opset", [11, 17, 22])
@pytest.mark.parametrize("case", _stored(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_stored_outputs_in_onnx(case: Path, opset: int) -> None:
    meta = json.loads((case / "meta.json").read_text())
    model = irloop.read_model(case / "model.xml")
    converted, _ = pipelines.to_onnx(model, opset=opset)
    with np.load(case / "data.npz") as data:
        inputs = {item["name"]: data[item["name"]] for item in meta["inputs"]}
        wanted = [data[f"out{index}"] for index in range(len(meta["outputs"]))]
    found = _run_onnx(to_proto_model(converted), inputs)
    for left, right in zip(found, wanted, strict=True):
        np.testing.assert_allclose(left, right, **meta["tolerance"])


@dataclass(frozen=True)
class Sample:
    """One ONNX node: its inputs and attributes, and whether its weights and shapes are known."""

    op: str
    attributes: dict[str, Any] = field(default_factory=dict)
    bias: bool = True
    lengths: tuple[int, ...] = ()
    states: bool = True
    peepholes: bool = False
    runtime_weights: bool = False
    dynamic: bool = False
    becomes: str = ""

    def __str__(self) -> str:
        words = [self.op, *map(str, self.attributes.values())]
        words += [word for word in ("bias", "states", "dynamic") if getattr(self, word)]
        return "-".join(words + ["lengths"] * bool(self.lengths))


BOTH = {"direction": "bidirectional"}
SAMPLES = [
    Sample("LSTM", becomes="LSTMSequence"),
    Sample("LSTM", BOTH, lengths=(4, 0, 2), becomes="LSTMSequence"),
    Sample("LSTM", BOTH, bias=False, states=False, runtime_weights=True, becomes="LSTMSequence"),
    Sample("LSTM", {"direction": "reverse"}, dynamic=True, states=False, becomes="LSTMSequence"),
    Sample("LSTM", BOTH, lengths=(3, 4, 1), dynamic=True, becomes="TensorIterator"),
    Sample("LSTM", peepholes=True, becomes="TensorIterator"),
    Sample("LSTM", BOTH, peepholes=True, lengths=(4, 0, 2), becomes="TensorIterator"),
    Sample("LSTM", {"input_forget": 1, "clip": 0.7}, states=False, becomes="TensorIterator"),
    Sample("GRU", becomes="GRUSequence"),
    Sample("GRU", BOTH | {"linear_before_reset": 1}, lengths=(4, 1, 2), becomes="GRUSequence"),
    Sample("GRU", {"linear_before_reset": 1}, bias=False, becomes="GRUSequence"),
    Sample(
        "GRU", {"linear_before_reset": 1, "clip": 0.6}, runtime_weights=True, becomes="GRUSequence"
    ),
    Sample(
        "GRU",
        BOTH | {"linear_before_reset": 1, "activations": ["Sigmoid", "Softsign"] * 2},
        lengths=(2, 4, 1),
        becomes="TensorIterator",
    ),
    Sample(
        "GRU",
        {"activations": ["HardSigmoid", "Elu"], "activation_alpha": [0.3, 0.5]},
        runtime_weights=True,
        becomes="TensorIterator",
    ),
    Sample("RNN", becomes="RNNSequence"),
    Sample("RNN", BOTH | {"activations": ["Relu", "Tanh"]}, becomes="RNNSequence"),
    Sample("RNN", BOTH | {"activations": ["Relu", "Softplus"]}, becomes="TensorIterator"),
    Sample("RNN", {"activations": ["LeakyRelu"], "direction": "reverse"}, becomes="TensorIterator"),
    Sample(
        "RNN",
        BOTH
        | {
            "activations": ["Affine", "ScaledTanh"],
            "activation_alpha": [0.3, 0.5],
            "activation_beta": [0.1, 1.5],
        },
        lengths=(4, 2, 0),
        becomes="TensorIterator",
    ),
]


def _model(sample: Sample) -> tuple[onnx.ModelProto, dict[str, Array]]:
    rng = np.random.default_rng(11)
    count = 2 if sample.attributes.get("direction") == "bidirectional" else 1
    gates = GATES[sample.op]

    def normal(*shape: int) -> Array:
        return rng.normal(size=shape).astype(np.float32)

    inputs: dict[str, Array] = {
        "x": normal(STEPS, ITEMS, INPUTS),
        "w": normal(count, gates * SIZE, INPUTS),
        "r": normal(count, gates * SIZE, SIZE),
    }
    if sample.bias:
        inputs["b"] = normal(count, 2 * gates * SIZE)
    if sample.lengths:
        inputs["lengths"] = np.array(sample.lengths, np.int32)
    if sample.states:
        inputs["h"] = normal(count, ITEMS, SIZE)
    if sample.op == "LSTM" and sample.states:
        inputs["c"] = normal(count, ITEMS, SIZE)
    if sample.peepholes:
        inputs["p"] = normal(count, 3 * SIZE)
    weights = () if sample.runtime_weights else ("w", "r", "b", "p")
    order = ("x", "w", "r", "b", "lengths", "h", "c", "p")[: 8 if sample.op == "LSTM" else 6]
    names = [name if name in inputs else "" for name in order]
    outputs = ["y", "y_h", "y_c"][: 3 if sample.op == "LSTM" else 2]
    node = helper.make_node(sample.op, names, outputs, hidden_size=SIZE, **sample.attributes)
    graph = helper.make_graph(
        [node],
        "sample",
        [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(item.dtype),
                [f"{name}{axis}" for axis in range(item.ndim)] if sample.dynamic else item.shape,
            )
            for name, item in inputs.items()
            if name not in weights
        ],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(item, name) for name, item in inputs.items() if name in weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    return model, {name: item for name, item in inputs.items() if name not in weights}


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_onnx_runtime_agrees_with_the_ir(sample: Sample) -> None:
    proto, inputs = _model(sample)
    wanted = _run_onnx(proto, inputs)
    converted, _ = pipelines.to_openvino(from_proto(proto), opset=7)
    kinds = {node.op.type for node in converted.graph.nodes}
    assert sample.becomes in kinds
    found = irloop.run(converted, inputs)
    for left, right in zip(found.values(), wanted, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_conversion_to_openvino_and_back_keeps_the_results(sample: Sample) -> None:
    proto, inputs = _model(sample)
    converted, _ = pipelines.to_openvino(from_proto(proto), opset=8)
    back, _ = pipelines.to_onnx(converted)
    found = _run_onnx(to_proto_model(back), inputs)
    for left, right in zip(found, _run_onnx(proto, inputs), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_what_is_not_to_run_stays_one_operation(sample: Sample) -> None:
    """The intermediate form of a change of opset has no loops; nor has the result."""
    proto, inputs = _model(sample)
    neutral, _ = pipelines.to_openvino(from_proto(proto), to_run=False)
    back, _ = pipelines.to_onnx(neutral)
    kinds = {node.op.type for node in all_nodes(back.graph)}
    assert sample.op in kinds
    assert not kinds & {"Loop", "Scan"}
    found = _run_onnx(to_proto_model(back), inputs)
    for left, right in zip(found, _run_onnx(proto, inputs), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


def test_zero_peepholes_need_no_loop() -> None:
    proto, _ = _model(SAMPLES[5])
    zero = next(item for item in proto.graph.initializer if item.name == "p")
    zero.CopyFrom(numpy_helper.from_array(np.zeros((1, 3 * SIZE), np.float32), "p"))
    converted, _ = pipelines.to_openvino(from_proto(proto))
    assert "LSTMSequence" in {node.op.type for node in converted.graph.nodes}


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_layout_1_becomes_batch_first_without_a_transpose_of_x(op: str) -> None:
    proto, inputs = _model(Sample(op, {"direction": "bidirectional"}, lengths=(4, 1, 3)))
    wanted = _run_onnx(proto, inputs)
    node = proto.graph.node[0]
    node.attribute.append(helper.make_attribute("layout", 1))
    turned = {
        name: item.swapaxes(0, 1) if name in ("x", "h", "c") else item
        for name, item in inputs.items()
    }
    for info in proto.graph.input:
        shape = turned[info.name].shape
        for dim, size in zip(info.type.tensor_type.shape.dim, shape, strict=True):
            dim.dim_value = size
    converted, _ = pipelines.to_openvino(from_proto(proto))
    assert all(node.op.type != "Transpose" for node in converted.graph.nodes if _reads_x(node))
    y, *ends = irloop.run(converted, turned).values()
    np.testing.assert_allclose(y, wanted[0].transpose(2, 0, 1, 3), rtol=1e-4, atol=1e-5)
    for left, right in zip(ends, wanted[1:], strict=True):
        np.testing.assert_allclose(left, right.swapaxes(0, 1), rtol=1e-4, atol=1e-5)


def _reads_x(node: Any) -> bool:
    return any(value is not None and value.name == "x" for value in node.inputs)


def _iterated_cell(clip: float) -> Model:
    """A TensorIterator over axis 1 whose body is an LSTMCell."""
    rng = np.random.default_rng(2)
    f32 = ElementType.F32
    builder = Builder(Graph("main"))
    x = builder.parameter("x", TensorType(f32, Shape.of(ITEMS, STEPS, INPUTS)))
    h = builder.parameter("h", TensorType(f32, Shape.of(ITEMS, SIZE)))
    memory = builder.parameter("c", TensorType(f32, Shape.of(ITEMS, SIZE)))
    from irloop.dialects.openvino import shape
    from irloop.graph.loops import Carried, Concatenated, LastValue, PortMap, Sliced
    from irloop.graph.model import Body

    inner = builder.nested("body")
    part = inner.parameter("part", TensorType(f32, Shape.of(ITEMS, 1, INPUTS)))
    state_h = inner.parameter("state_h", h.type)
    state_c = inner.parameter("state_c", memory.type)
    flat = inner(shape.Squeeze(), part, inner.i64([1]))
    w, r, b = (
        inner.constant(rng.normal(size=size), f32)
        for size in ((4 * SIZE, INPUTS), (4 * SIZE, SIZE), (4 * SIZE,))
    )
    cell = inner.emit(ov.LSTMCell(hidden_size=SIZE, clip=clip), flat, state_h, state_c, w, r, b)
    new_h, new_c = cell.outputs
    for value, name in (
        (new_h, "new_h"),
        (new_c, "new_c"),
        (inner(shape.Unsqueeze(), new_h, inner.i64([1])), "step"),
    ):
        inner.result(value, name)
    ports = PortMap(
        (Sliced(0, 0, 1), Carried(1, 1, 0), Carried(2, 2, 1)),
        (Concatenated(2, 0, 1), LastValue(1, 1)),
    )
    node = builder.emit(
        control_flow.TensorIterator(),
        x,
        h,
        memory,
        n_outputs=2,
        bodies=(Body("body", inner.graph, ports),),
    )
    for value, name in zip(node.outputs, ("y", "last"), strict=True):
        builder.result(value, name)
    return Model(builder.graph, "openvino", 10)


@pytest.mark.parametrize("clip", [0.0, 0.5])
def test_a_cell_in_a_body_becomes_two_products(clip: float) -> None:
    model = _iterated_cell(clip)
    rng = np.random.default_rng(7)
    inputs = {
        name: rng.normal(size=size).astype(np.float32)
        for name, size in (
            ("x", (ITEMS, STEPS, INPUTS)),
            ("h", (ITEMS, SIZE)),
            ("c", (ITEMS, SIZE)),
        )
    }
    converted, _ = pipelines.to_onnx(model)
    kinds = Counter(node.op.type for node in all_nodes(converted.graph))
    assert kinds["Gemm"] == 2
    assert kinds["LSTM"] == 0
    wanted = irloop.run(model, inputs)
    found = _run_onnx(to_proto_model(converted), inputs)
    for left, right in zip(found, wanted.values(), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-4, atol=1e-5)


def test_full_lengths_are_left_out() -> None:
    builder = Builder(Graph("main"))
    f32 = ElementType.F32
    x = builder.parameter("x", TensorType(f32, Shape.of(ITEMS, STEPS, INPUTS)))
    h = builder.parameter("h", TensorType(f32, Shape.of(ITEMS, 1, SIZE)))
    w, r, b = (
        builder.constant(np.ones(size), f32)
        for size in ((1, SIZE, INPUTS), (1, SIZE, SIZE), (1, SIZE))
    )
    lengths = builder.constant([STEPS] * ITEMS, ElementType.I32)
    node = builder.emit(ov.RNNSequence(hidden_size=SIZE), x, h, lengths, w, r, b)
    builder.result(node.outputs[0], "y")
    converted, _ = pipelines.to_onnx(Model(builder.graph, "openvino", 10))
    (target,) = (node for node in converted.graph.nodes if node.op.type == "RNN")
    assert target.inputs[4] is None


def test_ignored_attributes_of_a_cell_of_opset1_are_reported() -> None:
    builder = Builder(Graph("main"))
    f32 = ElementType.F32
    shapes = ((1, 2), (1, 3), (1, 3), (12, 2), (12, 3), (12,))
    values = [
        builder.parameter(f"in{at}", TensorType(f32, Shape.of(*dims)))
        for at, dims in enumerate(shapes)
    ]
    node = builder.emit(ov.LSTMCell1(hidden_size=3, input_forget=True), *values)
    builder.result(node.outputs[0], "h")
    _, notes = pipelines.to_onnx(Model(builder.graph, "openvino", 10))
    assert any("input_forget" in note.message for note in notes)


def test_the_lengths_of_a_huge_batch_are_not_stored() -> None:
    """A file may declare a batch that is larger than memory."""
    weights = {"w": np.ones((1, 4, 3), np.float32), "r": np.ones((1, 4, 4), np.float32)}
    proto = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
      g (float[2, 100000000, 3] x, float[1, 4, 3] w, float[1, 4, 4] r) =>
        (float[2, 1, 100000000, 4] y) { y = RNN <hidden_size = 4> (x, w, r) }""")
    proto.graph.initializer.extend(numpy_helper.from_array(*pair[::-1]) for pair in weights.items())
    model, _ = pipelines.to_openvino(from_proto(proto))
    constants = [node.op for node in all_nodes(model.graph) if isinstance(node.op, Constant)]
    assert constants
    assert max(len(constant.tensor.raw()) for constant in constants) < 1000
