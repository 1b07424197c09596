"""OVN154: OpenVINO ignores the lengths of a sequence if the shape of its data is unknown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino
import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.gather import Gather8
from irloop.dialects.openvino.recurrent import GRUSequence, LSTMSequence, Recurrent, RNNSequence
from irloop.dialects.openvino.shape import Broadcast3, ShapeOf3, Squeeze, Unsqueeze
from irloop.dialects.openvino.slicing import Slice
from irloop.faults.catalogue import find_faults
from irloop.graph.model import Model
from irloop.graph.types import ElementType
from irloop.graph.walk import all_nodes

I64 = ElementType.I64
KINDS: dict[str, tuple[type[Recurrent], int, tuple[str, ...]]] = {
    "lstm": (LSTMSequence, 4, ("sigmoid", "tanh", "tanh")),
    "gru": (GRUSequence, 3, ("sigmoid", "tanh")),
    "rnn": (RNNSequence, 1, ("tanh",)),
}
#: Items, steps and input size of X.
SIZES = (2, 3, 1)


def sequence(
    kind: str, dims: tuple[int | None, ...], lengths: str = "input", clip: float = 0.0
) -> Model:
    """A sequence of one unit whose weights are 1, so that no step computes 0."""
    type, gates, activations = KINDS[kind]
    m = IrModel()
    x, state = m.input("x", *dims), m.input("h", dims[0], 1, 1)
    if lengths == "input":
        given = m.input("lengths", dims[0], element=I64)
    elif lengths == "constant":
        given = m.constant([1, 3], I64)
    elif lengths == "sliced sizes":
        one, two = m.constant([1], I64), m.constant([2], I64)
        steps = m(Slice(), m(ShapeOf3(I64), x), one, two, one)
        number = m(Squeeze(), steps, m.constant([0], I64))
        given = m(Broadcast3(), m(Unsqueeze(), number, m.constant([0], I64)), two)
    else:
        sizes, zero = m(ShapeOf3(I64), x), m.constant(0, I64)
        steps, items = (m(Gather8(), sizes, m.constant([axis], I64), zero) for axis in (1, 0))
        given = m(Broadcast3(), steps if lengths == "sizes" else items, items)
    weight, bias = m.constant([[[1]] * gates]), m.constant([[1] * gates])
    states = [state, state] if kind == "lstm" else [state]
    inputs = [x, *states, given, weight, weight, bias]
    op = type(hidden_size=1, activations=activations, clip=clip)
    node = m.builder.emit(op, *inputs, n_outputs=1 + len(states))
    return m.done(*node.outputs)


def codes(model: Model) -> set[str]:
    irloop.infer(model)
    return {match.fault.code for match in find_faults(model.graph, "openvino")}


def reads_lengths(model: Model, folder: Path) -> bool:
    """True if OpenVINO returns 0 for the steps beyond the lengths, as RNNSequence-5 says."""
    irloop.save_model(model, folder / "m.xml")
    compiled = openvino.Core().compile_model(folder / "m.xml", "CPU")
    feeds = {"x": np.ones(SIZES, np.float32), "h": np.ones((2, 1, 1), np.float32)}
    names = {name for port in compiled.inputs for name in port.names}
    if "lengths" in names:
        feeds["lengths"] = np.array([1, 3])
    y = compiled(feeds)[0]
    assert y[:, :, 0].all()
    assert y[1].all()
    return not y[0, :, 1:].any()


UNKNOWN = [(2, None, 1), (None, 3, 1), (2, 3, None)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dims", UNKNOWN)
def test_ignored_lengths_are_found(kind: str, dims: tuple[int | None, ...], tmp_path: Path) -> None:
    model = sequence(kind, dims)
    assert "OVN154" in codes(model)
    assert not reads_lengths(model, tmp_path)


def test_ignored_constant_lengths_are_found(tmp_path: Path) -> None:
    model = sequence("gru", (2, None, 1), "constant")
    assert "OVN154" in codes(model)
    assert not reads_lengths(model, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clip", [0.0, 9.0])
def test_lengths_that_openvino_reads_are_no_fault(kind: str, clip: float, tmp_path: Path) -> None:
    """The shape of X is known, or the plugin writes the sequence as a TensorIterator."""
    model = sequence(kind, SIZES if clip == 0 else (2, None, 1), clip=clip)
    assert "OVN154" not in codes(model)
    assert reads_lengths(model, tmp_path)


@pytest.mark.parametrize("lengths", ["sizes", "sliced sizes"])
def test_as_many_steps_as_the_data_has_are_no_fault(lengths: str) -> None:
    assert "OVN154" not in codes(sequence("lstm", (2, None, 1), lengths))


def test_a_size_of_another_axis_is_found(tmp_path: Path) -> None:
    """2 items have 2 of 3 steps each."""
    model = sequence("rnn", (None, None, 1), "number of items")
    assert "OVN154" in codes(model)
    changed, _ = irloop.transform(model, ["dead_code"])
    irloop.save_model(changed, tmp_path / "m.xml")
    compiled = openvino.Core().compile_model(tmp_path / "m.xml", "CPU")
    y = compiled({"x": np.ones(SIZES, np.float32), "h": np.ones((2, 1, 1), np.float32)})[0]
    assert y[:, 0, :2].all()
    assert not y[:, 0, 2].any()


def test_the_pass_of_the_fault_removes_it(tmp_path: Path) -> None:
    model = sequence("lstm", (None, None, 1))
    changed, _ = irloop.transform(model, ["sequence_to_tensor_iterator"])
    assert "OVN154" not in codes(changed)
    assert reads_lengths(changed, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dims", UNKNOWN)
def test_transform_writes_gates(kind: str, dims: tuple[int | None, ...], tmp_path: Path) -> None:
    model = sequence(kind, dims)
    changed, _ = irloop.transform(model, ["dead_code"])
    assert "OVN154" not in codes(changed)
    types = {node.op.type for node in all_nodes(changed.graph)}
    assert "MatMul" in types
    assert "Less" in types
    assert reads_lengths(changed, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_conversion_to_onnx_and_back_writes_gates(kind: str, tmp_path: Path) -> None:
    back, _ = irloop.convert(irloop.convert(sequence(kind, (2, None, 1)))[0])
    assert "OVN154" not in codes(back)
    assert reads_lengths(back, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_lengths_of_whole_items_are_not_compared(kind: str) -> None:
    """OVN134 has the loop written: the plugin would write one that an empty batch ends."""
    model = sequence(kind, (None, None, 1), "sizes", clip=9.0)
    assert "OVN134" in codes(model)
    changed, _ = irloop.transform(model, ["dead_code"])
    assert "OVN134" not in codes(changed)
    types = [node.op.type for node in all_nodes(changed.graph)]
    assert "TensorIterator" in types
    assert not {"Less", "Broadcast", "Select"} & set(types)


def test_the_export_leaves_whole_lengths_out() -> None:
    converted, _ = irloop.convert(sequence("gru", (None, None, 1), "sizes"))
    (node,) = [node for node in converted.graph.nodes if node.op.type == "GRU"]
    assert node.inputs[4] is None
    converted, _ = irloop.convert(sequence("gru", (None, None, 1)))
    (node,) = [node for node in converted.graph.nodes if node.op.type == "GRU"]
    assert node.inputs[4] is not None


def test_check_names_the_fault(tmp_path: Path) -> None:
    """OpenVINO is wrong on the IR, and ONNX Runtime is right on the converted model."""
    irloop.save_model(sequence("rnn", (2, None, 1)), tmp_path / "m.xml")
    converted, _ = irloop.convert(tmp_path / "m.xml")
    irloop.save_model(converted, tmp_path / "m.onnx")
    feeds = {
        "x": np.ones(SIZES, np.float32),
        "h": np.ones((2, 1, 1), np.float32),
        "lengths": np.array([1, 3]),
    }
    result = irloop.compare(tmp_path / "m.xml", tmp_path / "m.onnx", inputs=[feeds])
    assert "OVN154" in str(result)
