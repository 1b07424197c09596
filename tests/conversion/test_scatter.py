"""Conversion of scatters in both directions; the expected values are OpenVINO's and ONNX's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = "ScatterElementsUpdate ScatterNDUpdate ScatterUpdate"

BACKEND_OPS = "Scatter ScatterElements ScatterND"


@pytest.mark.parametrize("opset", [11, 17, 18])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)
