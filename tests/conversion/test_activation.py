"""Conversion of activation functions in both directions; the expected values are OpenVINO's and
ONNX's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

OPCONF_TYPES = """
    Clamp Elu Gelu GRN HardSigmoid HSigmoid HSwish LogSoftmax Mish PRelu Relu Selu Sigmoid Softmax
    SoftPlus SoftSign Swish
"""

BACKEND_OPS = """
    Celu Clip Elu Gelu HardSigmoid HardSwish Hardmax LeakyRelu LogSoftmax Mish PRelu Relu Selu
    Shrink Sigmoid Softmax Softplus Softsign SwiGLU Swish ThresholdedRelu
"""


@pytest.mark.parametrize("opset", [11, 17])
def test_exports(opconf_case: Path, opset: int, check_export: Callable[[Path, int], None]) -> None:
    check_export(opconf_case, opset)


@pytest.mark.parametrize("opset", [7, 8])
def test_imports(backend_case: str, opset: int, check_import: Callable[[str, int], None]) -> None:
    check_import(backend_case, opset)
