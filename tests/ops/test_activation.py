"""Activation functions: kernels and inference against OpenVINO's and ONNX's own values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

OPCONF_TYPES = """
    Clamp Elu Gelu GRN HardSigmoid HSigmoid HSwish LogSoftmax Mish PRelu Relu Selu Sigmoid Softmax
    SoftPlus SoftSign Swish
"""

BACKEND_OPS = """
    Celu Clip Elu Gelu HardSigmoid HardSwish Hardmax LeakyRelu LogSoftmax Mish PRelu Relu Selu
    Shrink Sigmoid Softmax Softplus Softsign SwiGLU Swish ThresholdedRelu
"""


def test_openvino_values(opconf_case: Path, check_opconf: Callable[[Path], None]) -> None:
    check_opconf(opconf_case)


def test_onnx_values(backend_case: str, check_backend: Callable[[str], None]) -> None:
    check_backend(backend_case)
