"""Region layers in OpenVINO."""

from __future__ import annotations

import math

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, Shape, TensorType, ValueType

__all__ = ["RegionYolo"]


class RegionYolo(OpenVinoOp, type="RegionYolo", since=1, inputs=1):
    """Activates YOLO's predictions (RegionYolo-1).

    Data is [N, regions * (coords + 1 + classes), H, W]. With `do_softmax` there are `num` regions,
    the classes go through a softmax, and the axes `axis` to `end_axis` are flattened. Without it
    there are as many regions as entries in `mask` (`num` if it is empty), and the shape is kept.
    """

    operands = "data: float -> float"

    coords: int = attribute(least=0)
    classes: int = attribute(least=0)
    num: int = attribute(least=1)
    axis: int = 0
    end_axis: int = 0
    do_softmax: bool = True
    mask: tuple[int, ...] = ()
    anchors: tuple[float, ...] = ()

    def regions(self) -> int:
        """The number of predictions per cell."""
        return self.num if self.do_softmax or not self.mask else len(self.mask)

    def each(self) -> int:
        """The number of values per prediction."""
        return self.coords + 1 + self.classes

    def infer(self, args: Arguments) -> list[ValueType]:
        element, dims = args.element(0), args.shape(0).dims
        if dims is None:
            return [TensorType(element, Shape(None))]
        if len(dims) != 4:
            raise args.error("data is not a grid", "[N, C, H, W]", str(args.shape(0)))
        needed = self.regions() * self.each()
        if isinstance(dims[1], int) and dims[1] < needed:
            raise args.error("there are too few channels", str(needed), str(dims[1]))
        if not self.do_softmax:
            return [TensorType(element, Shape(dims))]
        first, end = (
            inference.axis_in(args, self.axis, 4),
            inference.axis_in(args, self.end_axis, 4),
        )
        if first is None or end is None or first > end:
            raise args.error("axis comes after end_axis", f"up to {end}", str(first))
        inner = Shape(dims[first : end + 1]).static()
        merged = UNKNOWN_DIM if inner is None else math.prod(inner)
        return [TensorType(element, Shape((*dims[:first], merged, *dims[end + 1 :])))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.region.region_yolo(
            self.coords,
            self.classes,
            self.regions(),
            softmax=self.do_softmax,
            flat=(self.axis, self.end_axis),
        )
