"""Conversion of interpolation in both directions; the expected values are OpenVINO's and ONNX's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.conversion import pipelines
from irloop.dialects.onnx.resize import Resize
from irloop.dialects.openvino.resize import Interpolate11
from irloop.dialects.openvino.search import TopK3
from irloop.dialects.openvino.shape import Transpose
from irloop.dialects.openvino.slicing import Concat
from irloop.execution.session import Session
from irloop.formats.onnx import writer
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType

OPCONF_TYPES = "Interpolate"
I64 = ElementType.I64

BACKEND_OPS = "Resize Upsample"


@pytest.mark.parametrize("opset", [11, 17, 19])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [4, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    """Sizes, scales and regions are inputs of these models."""
    check_import(backend_case, opset)


@pytest.mark.parametrize("opset", [4, 8])
def test_imports_of_constants(
    backend_case: str, opset: int, check_import_of_constants: Callable[[str, int], None]
) -> None:
    """Every mode has a form if the sizes are constant."""
    check_import_of_constants(backend_case, opset)


@pytest.mark.parametrize("scale", [0.6, 1.0, 1.7])
@pytest.mark.parametrize(
    "how",
    [
        {"mode": "linear", "antialias": 1},
        {"mode": "cubic", "antialias": 1, "exclude_outside": 1},
        {"mode": "cubic", "exclude_outside": 1, "coordinate_transformation_mode": "asymmetric"},
        {"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
        {"mode": "nearest", "coordinate_transformation_mode": "half_pixel_symmetric"},
    ],
)
def test_nothing_known_but_the_rank(how: dict[str, Any], scale: float) -> None:
    """If only the rank is known, all weights are computed at run time, as in ONNX Runtime."""
    onnxruntime = pytest.importorskip("onnxruntime")
    graph = Graph("model")
    build = Builder(graph)
    data = build.parameter("data", TensorType(ElementType.F32, Shape.of_rank(4)))
    scales = build.parameter("scales", TensorType(ElementType.F32, Shape.of(4)))
    build.result(build(Resize(**how), data, None, scales), "out")
    model = Model(graph, "onnx", 0, {"": 18}, {}, None)
    array = np.arange(30, dtype=np.float32).reshape(1, 1, 5, 6) ** 1.5
    given = [array, np.array([1, 1, scale, scale], np.float32)]
    proto = writer.to_proto_model(model).SerializeToString()
    session = onnxruntime.InferenceSession(proto, providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"data": given[0], "scales": given[1]})
    (found,) = Session(pipelines.to_openvino(model)[0]).run(given).values()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_a_batch_of_any_size(mode: str) -> None:
    """The weights depend only on the axes that change."""
    graph = Graph("model")
    build = Builder(graph)
    data = build.parameter("data", TensorType(ElementType.F32, Shape.of(None, 6)))
    op = Resize(mode=mode, antialias=1)
    scales = build.constant([1.0, 0.5], ElementType.F32)
    build.result(build(op, data, None, scales), "out")
    array = np.arange(18, dtype=np.float32).reshape(3, 6) ** 2
    model = Model(graph, "onnx", 0, {"": 18}, {}, None)
    (expected,) = Session(model).run([array]).values()
    (found,) = Session(pipelines.to_openvino(model)[0]).run([array]).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_sizes_that_are_the_largest_of_two_numbers(tmp_path: Path) -> None:
    """Mask R-CNN resizes masks to max(w, 1), as a TopK in IR. A computed count of the TopK in ONNX
    made onnx.checker find no elements in the sizes, so that no model was written.
    """
    m = IrModel()
    x, wanted = m.input("x", 1, 1, 2, 2), m.input("w", 1, element=I64)
    both = m(Concat(0), wanted, m.constant([1], I64))
    top = m(TopK3(0, "max", "value", I64), both, m.constant(1, I64))
    sizes = m(Concat(0), m.constant([1, 1], I64), m(Concat(0), top, top))
    size_mode = Interpolate11("nearest", "sizes", "asymmetric", "floor")
    converted, _ = irloop.convert(m.done(m(size_mode, x, sizes)))
    irloop.save_model(converted, tmp_path / "model.onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    data = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    for size, expected in ((4, [[0, 0, 1, 1]] * 2 + [[2, 2, 3, 3]] * 2), (-3, [[0]])):
        (found,) = session.run(None, {"x": data, "w": np.array([size])})
        assert found[0, 0].tolist() == expected


@pytest.mark.parametrize(("mode", "axes"), [("cubic", [1, 2]), ("linear_onnx", [0, 3])])
def test_axes_that_onnxruntime_resizes_only_at_the_end(
    mode: str, axes: list[int], tmp_path: Path
) -> None:
    """PrePostProcessor resizes images of any size in their layout, such as NHWC, and then
    transposes them.
    """
    onnxruntime = pytest.importorskip("onnxruntime")
    openvino = pytest.importorskip("openvino")
    m = IrModel()
    x = m.input("x", None, None, None, None)
    resize = Interpolate11(mode, "sizes", "half_pixel", "floor")
    resized = m(resize, x, m.constant([6, 4], I64), m.constant(axes, I64))
    model = m.done(m(Transpose(), resized, m.constant([0, 3, 1, 2], I64)))
    irloop.save_model(model, tmp_path / "model.xml")
    irloop.save_model(irloop.convert(model)[0], tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    compiled = openvino.compile_model(
        tmp_path / "model.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"}
    )
    rng = np.random.default_rng(0)
    for shape in ((1, 5, 7, 3), (3, 4, 9, 2)):
        data = rng.normal(size=shape).astype(np.float32)
        (found,) = session.run(None, {"x": data})
        np.testing.assert_allclose(found, compiled([data])[0], 1e-4, 1e-5)
