"""Ranges, fills, one-hot codes and windows in the other dialect, against OpenVINO and ONNX."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = "Eye OneHot Range"

BACKEND_OPS = """
    BlackmanWindow ConstantOfShape EyeLike HammingWindow HannWindow MelWeightMatrix OneHot Range
"""


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


#: What cannot be said, by a part of the case's name.
REFUSALS = {"melweight": "its inputs are computed"}


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(
    backend_case: str,
    opset: int,
    check_import: Callable[[str, int], None],
    refused: Callable[[Callable[[], None]], str],
) -> None:
    reason = next((REFUSALS[word] for word in REFUSALS if word in backend_case), None)
    if reason is None:
        check_import(backend_case, opset)
        return
    assert reason in refused(lambda: check_import(backend_case, opset))
