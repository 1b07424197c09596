"""OpenVINO operations by family; importing this registers them all."""

from __future__ import annotations

from irloop.dialects.openvino import control_flow, convolution, elementwise, matmul, pooling
from irloop.dialects.openvino.base import OPENVINO, OpenVinoOp

__all__ = [
    "OPENVINO",
    "OpenVinoOp",
    "control_flow",
    "convolution",
    "elementwise",
    "matmul",
    "pooling",
]
