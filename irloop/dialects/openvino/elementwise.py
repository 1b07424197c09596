"""Elementwise operations of OpenVINO."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import rules
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.inference import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import ValueType

__all__ = ["Add", "Binary"]


class Binary(OpenVinoOp):
    """Two operands, broadcast as `auto_broadcast` says (none, numpy, pdpd)."""

    auto_broadcast: str = "numpy"

    def infer(self, args: Arguments) -> list[ValueType]:
        return rules.broadcast(args)


class Add(Binary, type="Add", since=1, inputs=2):
    """Sum of two tensors (Add-1)."""

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.elementwise.add
