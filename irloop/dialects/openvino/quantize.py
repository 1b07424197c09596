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
        "data: number | u2 | boolean, input low: number | boolean, input high: number | boolean, "
        "output low: number | boolean, output high: number | boolean -> number | boolean"
    )
    cost = "linear"

    levels: int
    auto_broadcast: str = attribute(default="numpy", words=BROADCASTS)

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.levels < 2:
            raise args.error("too few levels", "2 or more", str(self.levels))
        inference.check_auto_broadcast(args, self.auto_broadcast)
        data = args.shape(0)
        for position in range(1, 5):
            limit = args.shape(position)
            by_size = self.auto_broadcast.lower() in ("none", "explicit")
            shape = data.refine(limit) if by_size else broadcast_shapes((data, limit))
            if shape is None:
                found = f"{data} and {limit}"
                raise args.error("limits do not broadcast", "dimensions equal or 1", found)
            data = shape
        return [TensorType(args.element(0), data)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.quantize.fake_quantize(self.levels)
