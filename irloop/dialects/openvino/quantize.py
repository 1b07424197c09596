"""Quantisation in OpenVINO."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.openvino.base import BROADCASTS, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import TensorType, ValueType, broadcast_shapes

__all__ = ["FakeQuantize"]


class FakeQuantize(OpenVinoOp, type="FakeQuantize", since=1, inputs=5):
    """Rounds x to `levels` steps of an input range, mapped to an output range (FakeQuantize-1).

    Inputs are x, input low, input high, output low, output high; the limits broadcast to x.
    """

    operands = (
        "data: float, input low: float, input high: float, output low: float, "
        "output high: float -> float"
    )
    cost = "linear"

    levels: int
    auto_broadcast: str = attribute(default="numpy", words=BROADCASTS)

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args)
        element = inference.same_element(args)
        if self.levels < 2:
            raise args.error("too few levels", "2 or more", str(self.levels))
        shape = broadcast_shapes(args.shape(position) for position in range(5))
        if shape is None:
            found = ", ".join(str(args.shape(position)) for position in range(5))
            raise args.error("limits do not broadcast", "dimensions equal or 1", found)
        return [TensorType(element, shape)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.quantize.fake_quantize(self.levels)
