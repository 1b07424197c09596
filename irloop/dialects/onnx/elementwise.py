"""Elementwise operations of ONNX."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import rules
from irloop.dialects.onnx.base import OnnxOp
from irloop.graph.inference import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import ValueType

__all__ = ["Add"]


class Add(OnnxOp, type="Add", since=7, inputs=2):
    """Sum of two tensors with numpy broadcasting (Add-7, 13, 14)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        return rules.broadcast(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.elementwise.add
