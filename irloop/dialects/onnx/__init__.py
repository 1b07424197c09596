"""ONNX operations by family; importing this package registers all of them.

Those of ONNX Runtime (`irloop.dialects.contrib`) are in the same registry, and imported when one of
them is looked up.
"""

from __future__ import annotations

from importlib import import_module

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


#: Operations that ONNX Runtime has in the domain of the standard, or in more opsets than it.
_OF_RUNTIME = frozenset(
    {
        *("LayerNormalization", "SimplifiedLayerNormalization"),
        *("Affine", "Crop", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"),
    }
)


def _load(type_name: str | None, domain: str) -> None:
    if type_name is None or domain == "com.microsoft" or (not domain and type_name in _OF_RUNTIME):
        import_module("irloop.dialects.contrib.families")


ONNX.load_by(_load)


def __getattr__(name: str) -> type[OnnxOp]:
    """Return an operation by the name of its class, in any module: ``Add``, ``MatMul``."""
    for cls in ONNX.registered():
        own = cls.__module__.startswith(f"{__name__}.")
        if own and cls.__name__ == name and issubclass(cls, OnnxOp):
            return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
