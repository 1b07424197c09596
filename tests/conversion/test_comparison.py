"""Conversion of comparisons, logic, selection and bits in both directions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import irloop
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import Select
from irloop.graph.types import ElementType

OPCONF_TYPES = """
    BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor Equal Greater
    GreaterEqual IsFinite IsInf IsNaN Less LessEqual LogicalAnd LogicalNot LogicalOr LogicalXor
    NotEqual Select Xor
"""

BACKEND_OPS = """
    And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Equal Greater GreaterOrEqual IsInf
    IsNaN Less LessOrEqual Not Or Where Xor
"""

#: Node tests that OpenVINO operations cannot express.
REFUSED = r"equal_string"


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(
    backend_case: str, opset: int, check_import_or_refusal: Callable[[str, int, str], None]
) -> None:
    check_import_or_refusal(backend_case, opset, REFUSED)


@pytest.mark.parametrize("opset", [9, 13, 17])
@pytest.mark.parametrize(
    "element", [ElementType.U64, ElementType.U16, ElementType.I16, ElementType.BOOLEAN]
)
def test_a_selection_that_onnxruntime_has_no_kernel_for(
    element: ElementType, opset: int, tmp_path: Path
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    m = IrModel()
    c = m.input("c", 2, element=ElementType.BOOLEAN)
    x, y = m.input("x", 2, element=element), m.input("y", 2, 2, element=element)
    path = tmp_path / "select.onnx"
    irloop.save_model(irloop.convert(m.done(m(Select(), c, x, y)), "onnx", opset=opset)[0], path)
    kind = element.numpy()
    high = np.iinfo(kind).max if kind.kind in "iu" else True
    first = np.array([high, 1], kind)
    second = np.array([[0, high], [1, 0]], kind)
    inputs = {"c": np.array([True, False]), "x": first, "y": second}
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, inputs)
    np.testing.assert_array_equal(found, np.array([[high, high], [high, 0]], kind))
