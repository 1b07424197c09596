"""Reading images at fractional places in ONNX."""

from __future__ import annotations

from irloop import kernels
from irloop.dialects.onnx.base import OnnxOp
from irloop.dialects.sampling import grid_sample_types, mode_of
from irloop.graph.inference import Arguments
from irloop.graph.op import Kernel
from irloop.graph.types import ValueType

__all__ = ["GridSample", "GridSample16"]


class _GridSample(OnnxOp):
    align_corners: int = 0
    padding_mode: str = "zeros"

    def word(self) -> str:
        """The mode as the file spells it."""
        raise NotImplementedError(self.label)

    def infer(self, args: Arguments) -> list[ValueType]:
        return grid_sample_types(args, self.word())

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.sampling.grid_sample(
            mode_of(self.word()), self.padding_mode, align=self.align_corners != 0
        )


class GridSample16(_GridSample, type="GridSample", since=16, inputs=2):
    """Data [N,C,H,W] read at a grid [N,h,w,2] of (x, y) in -1..1 (GridSample-16)."""

    mode: str = "bilinear"

    def word(self) -> str:
        return self.mode


class GridSample(_GridSample, type="GridSample", since=20, inputs=2):
    """Data [N,C,D1,...,Dr] read at a grid [N,...,r] of places in -1..1 (GridSample-20, 22)."""

    mode: str = "linear"

    def word(self) -> str:
        return self.mode
