"""Sampling images at fractional positions in OpenVINO."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects.openvino.base import OpenVinoOp
from irloop.dialects.sampling import grid_sample_types, mode_of
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import ValueType

__all__ = ["GridSample"]


class GridSample(OpenVinoOp, type="GridSample", since=9, inputs=2):
    """Samples data [N,C,H,W] at a grid [N,h,w,2] of (x, y) in -1..1 (GridSample-9)."""

    operands = "data: any, grid: float | f4e2m1 -> any"

    align_corners: bool = False
    mode: str = attribute(default="bilinear", words=("bilinear", "bicubic", "nearest"))
    padding_mode: str = attribute(default="zeros", words=("zeros", "border", "reflection"))

    def infer(self, args: Arguments) -> list[ValueType]:
        return grid_sample_types(args, self.mode)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.sampling.grid_sample(
            mode_of(self.mode), self.padding_mode.lower(), align=self.align_corners
        )
