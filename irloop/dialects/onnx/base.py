"""The base class of ONNX operations.

`since` is the ai.onnx opset that introduced this version of the operation. Versions that only allow
more element types share one class.
"""

from __future__ import annotations

from typing import ClassVar

from irloop.graph.op import Op, Registry

__all__ = ["ONNX", "OnnxOp"]

ONNX = Registry()


class OnnxOp(Op):
    """An operation of an ONNX domain ("" is ai.onnx)."""

    registry: ClassVar[Registry | None] = ONNX
