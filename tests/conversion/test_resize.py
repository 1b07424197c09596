"""Interpolation in the other dialect, against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from irloop.conversion import pipelines
from irloop.dialects.onnx.resize import Resize
from irloop.errors import UnsupportedError
from irloop.execution.session import Session
from irloop.graph.builder import Builder
from irloop.graph.model import Graph, Model
from irloop.graph.types import ElementType, Shape, TensorType

OPCONF_TYPES = "Interpolate"

BACKEND_OPS = "Resize Upsample"

#: What the weights depend on is an input of the model in these node tests.
NEEDS_CONSTANTS = (
    "antialias",
    "exclude_outside",
    "tf_crop_and_resize",
    "not_larger",
    "not_smaller",
    "half_pixel_symmetric",
)

#: Scales that give no whole size: runtimes round the size before the corners are aligned.
ROUNDED_FIRST = (
    "test_resize_downsample_scales_linear_align_corners",
    "test_resize_downsample_scales_cubic_align_corners",
)


@pytest.mark.parametrize("opset", [11, 17, 19])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [4, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    if any(word in backend_case for word in NEEDS_CONSTANTS):
        with pytest.raises(UnsupportedError, match="constant"):
            check_import(backend_case, opset)
    elif backend_case not in ROUNDED_FIRST:
        check_import(backend_case, opset)


@pytest.mark.parametrize("opset", [4, 8])
def test_imports_of_constants(
    backend_case: str, opset: int, check_import_of_constants: Callable[[str, int], None]
) -> None:
    """With constant sizes every mode has a form."""
    check_import_of_constants(backend_case, opset)


@pytest.mark.parametrize("transformation", ["align_corners", "asymmetric"])
def test_rounded_sizes_are_noted(transformation: str) -> None:
    """Corners cannot be aligned to a size that is not whole, unless the scales are known."""
    graph = Graph("model")
    build = Builder(graph)
    data = build.parameter("data", TensorType(ElementType.F32, Shape.of(1, 4)))
    scales = build.parameter("scales", TensorType(ElementType.F32, Shape.of(2)))
    op = Resize(mode="linear", coordinate_transformation_mode=transformation)
    build.result(build(op, data, None, scales), "out")
    _, notes = pipelines.to_openvino(Model(graph, "onnx", 0, {"": 18}, {}, None))
    expected = ["CNV803"] if transformation == "align_corners" else []
    assert [note.code for note in notes] == expected


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_a_batch_of_any_size(mode: str) -> None:
    """The weights depend on the axes that change, not on the others."""
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
