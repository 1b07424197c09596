"""ONNX operations by family; importing this registers them all."""

from __future__ import annotations

from irloop.dialects.onnx import control_flow, convolution, elementwise, matmul, pooling
from irloop.dialects.onnx.base import ONNX, OnnxOp

__all__ = ["ONNX", "OnnxOp", "control_flow", "convolution", "elementwise", "matmul", "pooling"]
