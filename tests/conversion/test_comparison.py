"""Comparisons, logic, selection and bits in the other dialect."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = """
    BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor Equal Greater
    GreaterEqual IsFinite IsInf IsNaN Less LessEqual LogicalAnd LogicalNot LogicalOr LogicalXor
    NotEqual Select Xor
"""

BACKEND_OPS = """
    And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Equal Greater GreaterOrEqual IsInf
    IsNaN Less LessOrEqual Not Or Where Xor
"""

#: Node tests that OpenVINO cannot say.
REFUSED = r"equal_string"


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(
    backend_case: str, opset: int, check_import_or_refusal: Callable[[str, int, str], None]
) -> None:
    check_import_or_refusal(backend_case, opset, REFUSED)
