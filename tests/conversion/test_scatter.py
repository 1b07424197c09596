"""Scatters in the other dialect, against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = "ScatterElementsUpdate ScatterNDUpdate ScatterUpdate"

BACKEND_OPS = "Scatter ScatterElements ScatterND"


#: The first opset that combines duplicates so.
SINCE = {"sum": 16, "sub": 16, "prod": 16, "mean": 16, "min": 18, "max": 18}


@pytest.mark.parametrize("opset", [11, 17, 18])
def test_exports(
    opconf_case: Path,
    opset: int,
    check_export: Callable[[Path, int], None],
    refused: Callable[[Callable[[], None]], str],
) -> None:
    since = SINCE.get(opconf_case.name.split("_")[0], 11)
    if opset >= since:
        check_export(opconf_case, opset)
        return
    text = refused(lambda: check_export(opconf_case, opset))
    assert f"needs opset {since}" in text


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)
