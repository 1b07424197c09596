"""ONNX operations by family; importing this package registers all of them."""

from __future__ import annotations

from irloop.dialects.onnx import (
    activation,
    attention,
    comparison,
    control_flow,
    convert,
    convolution,
    elementwise,
    features,
    gather,
    generate,
    images,
    labels,
    legacy,
    linear_models,
    losses,
    matmul,
    nms,
    normalization,
    padding,
    pooling,
    quantize,
    random,
    rearrange,
    recurrent,
    reduction,
    reorder,
    resize,
    roi,
    sampling,
    scatter,
    search,
    sequence,
    shape,
    signal,
    slicing,
    text,
    trees,
)
from irloop.dialects.onnx.base import ONNX, OnnxOp

__all__ = [
    "ONNX",
    "OnnxOp",
    "activation",
    "attention",
    "comparison",
    "control_flow",
    "convert",
    "convolution",
    "elementwise",
    "features",
    "gather",
    "generate",
    "images",
    "labels",
    "legacy",
    "linear_models",
    "losses",
    "matmul",
    "nms",
    "normalization",
    "padding",
    "pooling",
    "quantize",
    "random",
    "rearrange",
    "recurrent",
    "reduction",
    "reorder",
    "resize",
    "roi",
    "sampling",
    "scatter",
    "search",
    "sequence",
    "shape",
    "signal",
    "slicing",
    "text",
    "trees",
]


def __getattr__(name: str) -> type[OnnxOp]:
    """Return an operation by the name of its class, in any module: ``Add``, ``MatMul``."""
    for cls in ONNX.all():
        if cls.__name__ == name and issubclass(cls, OnnxOp):
            return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
