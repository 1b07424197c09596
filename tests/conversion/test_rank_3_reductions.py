"""Reductions of rank 3 followed by constants, which OpenVINO's CPU plugin fuses incorrectly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irloop import convert, save_model
from irloop.dialects.onnx import elementwise, reduction
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType

RANDOM = np.random.default_rng(3)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("axis", [0, 2])
@pytest.mark.parametrize("kind", ["ReduceSum", "ReduceMax"])
def test_arithmetic_with_constants_along_axis_1(
    tmp_path: Path, kind: str, axis: int, keep: bool, known: bool
) -> None:
    ov = pytest.importorskip("openvino")
    dims = (4, 3, 5)
    reduced: Any = {"ReduceSum": np.sum, "ReduceMax": np.max}[kind]
    data = [RANDOM.standard_normal(dims).astype(np.float32) for _ in range(2)]
    ranked = (1, 3, 1) if keep else (1, 3) if axis == 2 else (3, 1)
    scale, shift = (RANDOM.standard_normal(ranked).astype(np.float32) for _ in range(2))
    b = Builder(Graph())
    shape = Shape(dims) if known else Shape.of(None, 3, None)
    x = b.parameter("x", TensorType(ElementType.F32, shape), ("x",))
    if kind == "ReduceSum":
        y = b(reduction.ReduceSum13(keepdims=keep), x, b.i64([axis]))
    else:
        y = b(reduction.ReduceMax1(axes=(axis,), keepdims=keep), x)
    half = b(elementwise.Mul(), b.constant(0.5, ElementType.F32), y)
    scaled = b(elementwise.Mul(), half, b.constant(scale, ElementType.F32))
    b.result(b(elementwise.Sub(), b.constant(shift, ElementType.F32), scaled), "y")
    path = tmp_path / "m.xml"
    save_model(convert(Model(b.graph, "onnx", 8, {"": 17}))[0], path)
    compiled = ov.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    for array in data:
        wanted = shift - 0.5 * reduced(array, axis=axis, keepdims=keep) * scale
        found = compiled([array])[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("known", [True, False])
def test_a_normalisation_stays_as_it_is(tmp_path: Path, known: bool) -> None:
    """The plugin does not fuse across the product with the data, but OpenVINO fuses the whole."""
    ov = pytest.importorskip("openvino")
    data = [RANDOM.standard_normal((2, 3, 64)).astype(np.float32) for _ in range(2)]
    gain = RANDOM.standard_normal(64).astype(np.float32)
    b = Builder(Graph())
    shape = Shape.of(2, 3, 64) if known else Shape.of(None, None, 64)
    x = b.parameter("x", TensorType(ElementType.F32, shape), ("x",))
    square = b(elementwise.Pow(), x, b.constant(2, ElementType.F32))
    mean = b(reduction.ReduceMean18(), square, b.i64([-1]))
    root = b(elementwise.Sqrt(), b(elementwise.Add(), mean, b.constant(1e-5, ElementType.F32)))
    normal = b(elementwise.Mul(), x, b(elementwise.Div(), b.constant(1, ElementType.F32), root))
    b.result(b(elementwise.Mul(), normal, b.constant(gain, ElementType.F32)), "y")
    path = tmp_path / "m.xml"
    save_model(convert(Model(b.graph, "onnx", 8, {"": 18}))[0], path)
    compiled = ov.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    kinds = [node.get_rt_info()["layerType"] for node in compiled.get_runtime_model().get_ops()]
    assert "RMS" in kinds
    for array in data:
        wanted = array / np.sqrt((array**2).mean(-1, keepdims=True) + 1e-5) * gain
        np.testing.assert_allclose(compiled([array])[0], wanted, rtol=1e-5, atol=1e-5)
