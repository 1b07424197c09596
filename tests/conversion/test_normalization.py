"""Conversion of normalisations and dropout in both directions; the expected values are OpenVINO's
and ONNX's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = """
    BatchNormInference GroupNormalization LRN MVN NormalizeL2
"""

BACKEND_OPS = """
    BatchNormalization Dropout GroupNormalization InstanceNormalization LRN LayerNormalization
    LpNormalization MeanVarianceNormalization RMSNormalization
"""

#: Node tests that OpenVINO operations cannot express.
REFUSED = r"training_dropout"


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(
    backend_case: str, opset: int, check_import_or_refusal: Callable[[str, int, str], None]
) -> None:
    check_import_or_refusal(backend_case, opset, REFUSED)
