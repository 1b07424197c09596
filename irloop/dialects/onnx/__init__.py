"""ONNX operations by family; importing this registers them all."""

from __future__ import annotations

from irloop.dialects.onnx import (
    activation,
    comparison,
    control_flow,
    convert,
    convolution,
    elementwise,
    gather,
    generate,
    matmul,
    normalization,
    padding,
    pooling,
    quantize,
    recurrent,
    reduction,
    reorder,
    scatter,
    search,
    sequence,
    shape,
    slicing,
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
    "gather",
    "generate",
    "matmul",
    "normalization",
    "padding",
    "pooling",
    "quantize",
    "recurrent",
    "reduction",
    "reorder",
    "scatter",
    "search",
    "sequence",
    "shape",
    "slicing",
]
