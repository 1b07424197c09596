"""Narrow element types in operations that cannot move them directly."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from irloop.conversion import pipelines
from irloop.dialects.openvino.convert import Convert
from irloop.dialects.openvino.shape import Transpose
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType
from tests.drawn.operations import run_onnxruntime


@pytest.mark.parametrize(("opset", "written"), [(None, 21), (19, 19)])
def test_8_bit_floats_are_transposed(opset: int | None, written: int) -> None:
    """Opset 19 has them, but ONNX Runtime's optimiser makes some of its models invalid."""
    b = Builder(Graph("g"))
    x = b.parameter("x", TensorType(ElementType.F32, Shape.of(2, 3)), ("x",))
    narrow = b(Convert(ElementType.F8E4M3), x)
    turned = b(Transpose(), narrow, b.i64([1, 0]))
    b.result(b(Convert(ElementType.F32), turned), "y")
    model, _ = pipelines.to_onnx(Model(b.graph, "openvino", 11), opset=opset)
    assert model.opsets[""] == written
    given = np.array([[1.06, -2, 3], [0.1, 5, -7]], np.float32)
    (found,) = run_onnxruntime(model, [given])
    rounded = given.astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    np.testing.assert_array_equal(found, rounded.T)
