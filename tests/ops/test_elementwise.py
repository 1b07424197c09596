"""Elementwise arithmetic: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

OPCONF_TYPES = """
    Abs Acos Acosh Add Asin Asinh Atan Atanh Ceiling Cos Cosh Divide Erf ErfInv Exp Floor FloorMod
    Log Maximum Minimum Mod Multiply Negative Power Round Sign Sin Sinh Sqrt SquaredDifference
    Subtract Tan Tanh
"""

BACKEND_OPS = """
    Abs Acos Acosh Add Asin Asinh Atan Atanh Ceil Cos Cosh Div Erf Exp Floor Log Max Mean Min Mod
    Mul Neg Pow Reciprocal Round Sign Sin Sinh Sqrt Sub Sum Tan Tanh
"""


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)
