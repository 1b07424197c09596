"""Reductions in the other dialect, against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import irloop
from irloop.dialects.openvino import reduction
from irloop.graph.types import ElementType
from tests.passes.openvino_models import model_of

OPCONF_TYPES = """
    ReduceL1 ReduceL2 ReduceLogicalAnd ReduceLogicalOr ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum
"""

BACKEND_OPS = """
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare
"""


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)


@pytest.mark.parametrize(("opset", "axes"), [(17, [-1]), (17, [-2]), (18, [-2]), (11, [-1, 0])])
@pytest.mark.parametrize("keep", [True, False])
def test_nothing_is_reduced_along_an_axis_from_the_end(
    opset: int, axes: list[int], keep: bool, tmp_path: Path
) -> None:
    """ONNX Runtime 1.31 returns an empty input unchanged if an axis counts from the end."""
    runtime = pytest.importorskip("onnxruntime", reason="needs the onnxruntime package")
    model = model_of(
        lambda b, x: b(reduction.ReduceSum(keep_dims=keep), x, b.i64(axes)),
        (ElementType.F32, (None, 3)),
    )
    path = tmp_path / "model.onnx"
    irloop.save_model(irloop.convert(model, "onnx", opset=opset)[0], path)
    session = runtime.InferenceSession(path)
    x = np.zeros((0, 3), np.float32)
    wanted = x.sum(axis=tuple(axes), keepdims=keep)
    (found,) = session.run(["y0"], {"x0": x})
    np.testing.assert_array_equal(found, wanted)
