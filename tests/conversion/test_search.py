"""Conversion of sorting, searching and accumulating in both directions; the expected values are
OpenVINO's and ONNX's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = "Bucketize CumSum NonZero SearchSorted TopK Unique"

BACKEND_OPS = "ArgMax ArgMin CumProd CumSum NonZero TopK Unique"


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)


@pytest.mark.parametrize(
    "name", ["test_unique_sorted_with_axis", "test_unique_sorted_with_axis_3d"]
)
def test_slices_of_an_axis_are_one_operation_since_opset10(
    name: str, check_import: Callable[[str, int], None]
) -> None:
    check_import(name, 10)
