"""Conversion of attention and rotary embeddings to OpenVINO; the expected values are ONNX's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

BACKEND_OPS = "Attention RotaryEmbedding"

#: The conversion rounds 16-bit floats in places where the reference does not.
LAST_PLACES = {"bf16": 2.0**-6, "fp16": 2.0**-9}


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[..., None]) -> None:
    check_import(backend_case, opset, LAST_PLACES.get(backend_case.rsplit("_", 1)[1], 1e-4))
