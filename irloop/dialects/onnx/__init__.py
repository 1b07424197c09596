"""ONNX operations by family; importing this registers them all."""

from __future__ import annotations

from irloop.dialects.onnx import (
    activation,
    comparison,
    control_flow,
    convert,
    convolution,
    elementwise,
    matmul,
    normalization,
    pooling,
    quantize,
    recurrent,
    reduction,
    sequence,
)
from irloop.dialects.onnx.base import ONNX, OnnxOp

__all__ = [
    "ONNX",
    "OnnxOp",
    "activation",
    "comparison",
    "control_flow",
    "convert",
    "convolution",
    "elementwise",
    "matmul",
    "normalization",
    "pooling",
    "quantize",
    "recurrent",
    "reduction",
    "sequence",
]
