"""The operation classes of OpenVINO, of ONNX, and of ONNX Runtime's own domain.

``irloop.dialects.openvino.Add``, ``irloop.dialects.onnx.Add`` and ``irloop.dialects.contrib.Gelu``
are classes; you can use their names without knowing which module defines them. `OPENVINO` and
`ONNX` in these packages find a class by type and opset: ``OPENVINO.find("SoftMax", 8)``. `Op`,
`Constant`, `Parameter` and `Result` are shared by all dialects.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from irloop.graph.op import Constant, Op, Parameter, Result, UnknownOp, attribute

if TYPE_CHECKING:
    from irloop.dialects import contrib as contrib
    from irloop.dialects import onnx as onnx
    from irloop.dialects import openvino as openvino

__all__ = [
    "Constant",
    "Op",
    "Parameter",
    "Result",
    "UnknownOp",
    "attribute",
    "contrib",
    "onnx",
    "openvino",
]


def __getattr__(name: str) -> Any:
    if name in ("contrib", "onnx", "openvino"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
