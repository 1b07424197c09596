"""Conversion of losses to OpenVINO; the expected values are ONNX's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

BACKEND_OPS = "NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss"


@pytest.mark.parametrize("opset", [6, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)
