"""Conversion of slices, splits and concatenations in both directions; the expected values are
OpenVINO's and ONNX's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.conversion import pipelines
from irloop.dialects.openvino import slicing as ov
from irloop.formats.onnx import writer as onnx_writer
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType

OPCONF_TYPES = "Concat Slice SliceScatter Split StridedSlice VariadicSplit"

BACKEND_OPS = "Concat Slice Split TensorScatter"


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)


def test_an_end_past_all_is_no_open_end_backwards() -> None:
    """ONNX Runtime treats the largest integers as an open end, in either direction of the slice."""
    ort = pytest.importorskip("onnxruntime")
    b = Builder(Graph())
    x = b.parameter("x", TensorType(ElementType.F32, Shape((4,))))
    bounds = (b.i64([item]) for item in (3, 2**31 - 1, -1, 0))
    b.result(b(ov.Slice(), x, *bounds), "y")
    model, _ = pipelines.to_onnx(Model(b.graph, "openvino", 10))
    data = onnx_writer.to_proto_model(model).SerializeToString()
    session = ort.InferenceSession(data, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": np.arange(4, dtype=np.float32)})
    assert found.tolist() == []
