"""OpenVINO operations by family; importing this registers them all."""

from __future__ import annotations

from irloop.dialects.openvino import (
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
    shape,
    slicing,
    state,
)
from irloop.dialects.openvino.base import OPENVINO, OpenVinoOp

__all__ = [
    "OPENVINO",
    "OpenVinoOp",
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
    "shape",
    "slicing",
    "state",
]
