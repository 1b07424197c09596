"""``irloop convert`` for a target runtime, and with weights stored as f16."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

import irloop as api
from irloop.dialects.openvino import (
    activation,
    convert,
    elementwise,
    gather,
    matmul,
    roi,
    shape,
    slicing,
)
from irloop.graph.builder import Builder
from irloop.graph.model import Model, Value
from irloop.graph.tensor import ArrayTensor
from irloop.graph.types import ElementType
from irloop.graph.walk import all_nodes
from tests.passes.openvino_models import model_of

Irloop = Callable[..., Result]

WEIGHTS = np.linspace(-1, 1, 96, dtype=np.float32).reshape(12, 8)


def of_today() -> Model:
    """softmax(x[-1] @ w), x of any length, by operations of opset8."""

    def build(b: Builder, x: Value) -> Value:
        last = b(gather.Gather8(), x, b.i64([-1]), b.i64(0))
        rows = b(shape.Reshape(special_zero=True), last, b.i64([-1, 12]))
        product = b(matmul.MatMul(), rows, b.tensor(ArrayTensor(WEIGHTS), "w"))
        return b(activation.SoftMax8(-1), product)

    model = model_of(build, (ElementType.F32, (None, 3, 4)))
    model.version = 11
    return model


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "today.xml"
    api.save_model(of_today(), path)
    return path


def expected(x: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> list[float]:
    numbers = np.exp(x[-1].reshape(1, 12) @ WEIGHTS)
    return [float(item) for item in (numbers / numbers.sum()).reshape(-1)]


def test_an_ir_is_downgraded_for_an_older_runtime(
    irloop: Irloop, source: Path, tmp_path: Path
) -> None:
    output = tmp_path / "edge.xml"
    shapes = ("--shape", "x0=2,3,4")
    result = irloop(
        "convert", source, "-o", output, "--target", "openvino-2021.4", *shapes, "--check"
    )
    assert result.exit_code == 0, result.stdout
    text = output.read_text()
    assert '<net name="g" version="10">' in text
    model = api.read_model(output)
    assert all(node.op.since <= 7 for node in all_nodes(model.graph) if node.op.type != "Const")
    x = np.random.default_rng(0).random((2, 3, 4), np.float32)
    (got,) = api.run(model, [x]).values()
    np.testing.assert_allclose(got.reshape(-1), expected(x), rtol=1e-5)


def test_an_unknown_length_is_refused_by_name(irloop: Irloop, source: Path, tmp_path: Path) -> None:
    output = tmp_path / "edge.xml"
    result = irloop("convert", source, "-o", output, "--target", "openvino-2021.4")
    assert result.exit_code == 1
    assert "error CNV004: 'x0': openvino-2021.4 reads static shapes only" in result.stdout
    assert not output.exists()


def test_converting_for_a_runtime_leaves_the_model_alone() -> None:
    model = of_today()
    result, _ = api.convert(model, target="openvino-2021.4", shapes={"x0": [2, 3, 4]})
    assert result.version == 10
    assert "Gather-8" in [node.op.label for node in model.graph.nodes]


@pytest.mark.parametrize("name", ["small.xml", "small.onnx"])
def test_weights_are_stored_as_f16_and_the_error_is_reported(
    irloop: Irloop, source: Path, tmp_path: Path, name: str
) -> None:
    output = tmp_path / name
    result = irloop("convert", source, "-o", output, "--compress-to-fp16", "--shape", "x0=2,3,4")
    assert result.exit_code == 0, result.stdout
    assert "CNV106" not in result.stdout
    # Between 0.5 and 1, neighbouring f16 numbers are 2^-11 apart, so rounding changes a number by
    # at most half of that.
    assert (
        "1 constants stored as f16, 192 bytes less; largest rounding error 0.000" in result.stderr
    )
    model = api.read_model(output)
    x = np.random.default_rng(0).random((2, 3, 4), np.float32)
    (got,) = api.run(model, [x]).values()
    np.testing.assert_allclose(got.reshape(-1), expected(x), rtol=2e-3)
    assert got.dtype == np.float32


def test_layers_of_outputs_do_not_share_a_name_with_an_input() -> None:
    """OpenVINO 2021.4 names inputs and outputs after the layers that compute them."""

    def build(b: Builder, x: Value) -> list[Value]:
        doubled = b(elementwise.Add(), x, x)
        doubled.producer.name = "x0"
        return [x, doubled]

    model = model_of(build, (ElementType.F32, (2,)))
    result, _ = api.convert(model, target="openvino-2021.4")
    made = [node.inputs[0].producer for node in result.graph.results if node.inputs[0]]
    assert [(node.op.type, node.name) for node in made] == [
        ("Convert", "x0/out"),
        ("Add", "x0/out/out"),
    ]
    x = np.array([1, 2], np.float32)
    same, doubled = api.run(result, [x]).values()
    np.testing.assert_array_equal(same, x)
    np.testing.assert_array_equal(doubled, 2 * x)


def test_tensors_without_elements_are_refused_by_name() -> None:
    model = model_of(
        lambda b, x: b(slicing.StridedSlice((0,), (0,)), x, b.i64([2]), b.i64([2]), b.i64([1])),
        (ElementType.F32, (3,)),
    )
    with pytest.raises(api.UnsupportedError, match=r"'StridedSlice'.*without elements"):
        api.convert(model, target="openvino-2021.4")


def test_a_type_that_the_runtime_lacks_is_refused_by_name() -> None:
    model = model_of(
        lambda b, x: b(convert.Convert(ElementType.F32), x), (ElementType.F8E4M3, (3,))
    )
    with pytest.raises(api.UnsupportedError, match=r"'x0'.*does not know element type f8e4m3"):
        api.convert(model, target="openvino-2021.4")


def test_operations_that_the_runtime_computes_differently_are_refused_by_name() -> None:
    def build(b: Builder, x: Value, boxes: Value) -> Value:
        return b(roi.ROIAlign(2, 2, 2, 1.0, "max"), x, boxes, b.i64([0]))

    model = model_of(build, (ElementType.F32, (1, 1, 8, 8)), (ElementType.F32, (1, 4)))
    with pytest.raises(
        api.UnsupportedError, match=r"'ROIAlign'.*differently from the specification"
    ):
        api.convert(model, target="openvino-2021.4")
