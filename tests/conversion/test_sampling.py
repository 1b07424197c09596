"""Conversion of grid sampling in both directions; the expected values are OpenVINO's and ONNX's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = "GridSample"

BACKEND_OPS = "GridSample AffineGrid"


@pytest.mark.parametrize("opset", [16, 20])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [8, 9])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)
