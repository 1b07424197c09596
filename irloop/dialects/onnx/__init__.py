"""ONNX operations, grouped in families.

The module of a family is imported when one of its operation types is first looked up. The
operations of ONNX Runtime (`irloop.dialects.contrib`) are in the same registry, and their modules
are imported in the same way.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from irloop.dialects.onnx.base import ONNX, OnnxOp
from irloop.dialects.onnx.families import FAMILIES
from irloop.graph.families import Families

__all__ = ["FAMILIES", "ONNX", "OnnxOp"]

_FAMILIES = Families(__name__, FAMILIES)

#: Operations that ONNX Runtime adds to the standard's domain, or accepts in more opsets than the
#: standard.
_OF_RUNTIME = frozenset(
    {
        *("LayerNormalization", "SimplifiedLayerNormalization"),
        *("Affine", "Crop", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"),
        *("DynamicSlice", "MeanVarianceNormalization", "ThresholdedRelu"),
    }
)


def _load(type_name: str | None, domain: str) -> None:
    if type_name is None or domain != "com.microsoft":
        _FAMILIES.load(type_name)
    if type_name is None or domain == "com.microsoft" or (not domain and type_name in _OF_RUNTIME):
        import_module("irloop.dialects.contrib.families")


def __getattr__(name: str) -> Any:
    """Return a module of operations by its name, or an operation class by its name (``Add``)."""
    if name in FAMILIES:
        return import_module(f"{__name__}.{name}")
    for type_name in _FAMILIES.types_of(name):
        for cls in (*ONNX.versions(type_name), *ONNX.versions(type_name, "ai.onnx.ml")):
            if cls.__name__ == name:
                return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


ONNX.load_by(_load)
