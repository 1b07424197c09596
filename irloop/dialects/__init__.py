"""The operation classes of both dialects.

``irloop.dialects.openvino.Add`` and ``irloop.dialects.onnx.Add`` are classes; you can use their
names without knowing which module defines them. `OPENVINO` and `ONNX` in these packages find a
class by type and opset: ``OPENVINO.find("SoftMax", 8)``. `Op`, `Constant`, `Parameter` and `Result`
are shared by both dialects.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from irloop.graph.op import Constant, Op, Parameter, Result, UnknownOp, attribute

if TYPE_CHECKING:
    from irloop.dialects import onnx as onnx
    from irloop.dialects import openvino as openvino

__all__ = ["Constant", "Op", "Parameter", "Result", "UnknownOp", "attribute", "onnx", "openvino"]


def __getattr__(name: str) -> Any:
    if name in ("onnx", "openvino"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
