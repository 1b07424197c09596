"""Non-maximum suppression in the other dialect, against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = "NonMaxSuppression"

BACKEND_OPS = "NonMaxSuppression"


@pytest.mark.parametrize("opset", [11, 17, 22])
def test_exports(
    opconf_case: Path,
    opset: int,
    check_export: Callable[[Path, int], None],
    refused: Callable[[Callable[[], None]], str],
) -> None:
    if opconf_case.name == "soft_nms":
        assert "soft_nms_sigma" in refused(lambda: check_export(opconf_case, opset))
    else:
        check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)
