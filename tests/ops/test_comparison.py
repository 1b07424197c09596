"""Comparisons, logic, selection and bits: values of OpenVINO and ONNX."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

OPCONF_TYPES = """
    BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor Equal Greater
    GreaterEqual IsFinite IsInf IsNaN Less LessEqual LogicalAnd LogicalNot LogicalOr LogicalXor
    NotEqual Select Xor
"""

BACKEND_OPS = """
    And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Equal Greater GreaterOrEqual IsInf
    IsNaN Less LessOrEqual Not Or Where Xor
"""


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)
