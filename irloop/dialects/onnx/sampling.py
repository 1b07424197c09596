"""Sampling images at fractional positions in ONNX."""

from __future__ import annotations

import math

from irloop import kernels
from irloop.dialects import inference
from irloop.dialects.onnx.base import OnnxOp
from irloop.dialects.sampling import grid_sample_types, mode_of
from irloop.dialects.windows import same_dim
from irloop.graph.arguments import Arguments
from irloop.graph.meanings import Sizes
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, Dim, Shape, TensorType, ValueType

__all__ = ["AffineGrid", "GridSample", "GridSample16"]


class _GridSample(OnnxOp):
    align_corners: int = 0
    padding_mode: str = attribute(default="zeros", words=("zeros", "border", "reflection"))

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
    """Samples data [N,C,H,W] at a grid [N,h,w,2] of (x, y) in -1..1 (GridSample-16)."""

    mode: str = attribute(default="bilinear", words=("bilinear", "nearest", "bicubic"))

    def word(self) -> str:
        return self.mode


class GridSample(_GridSample, type="GridSample", since=20, inputs=2):
    """Samples data [N,C,D1,...,Dr] at a grid [N,...,r] in -1..1 (GridSample-20, 22)."""

    mode: str = attribute(default="linear", words=("linear", "nearest", "cubic"))

    def word(self) -> str:
        return self.mode


class AffineGrid(OnnxOp, type="AffineGrid", since=20, inputs=2):
    """Transforms image positions by matrices and returns a grid for GridSample (AffineGrid-20).

    Inputs: matrices [N, r, r + 1], and the image size, a vector (N, C, D1, ..., Dr). The output is
    [N, D1, ..., Dr, r], with r coordinates for each position.
    """

    meanings = (Sizes(1),)

    align_corners: int = 0

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.floating(args, 0)
        inference.require_rank(args, 1, 1)
        element, rank = args.element(0), self._axes(args)
        if rank is None:
            return [TensorType(element, UNKNOWN_SHAPE)]
        if rank not in (2, 3):
            raise args.error(
                "the matrices must transform 2 or 3 coordinates", "[N, 2, 3]", str(rank)
            )
        sizes, count = args.dims(1), args.shape(1).count()
        if count not in (None, rank + 2):
            raise args.error(
                "the size has the wrong length for these matrices", str(rank + 2), str(count)
            )
        inference.require_within(args, 1, 1, math.inf, "a size")
        items = args.shape(0).dim(0)
        if sizes is not None:
            same_dim(args, "the size is of another batch", items, sizes[0])
        inner: tuple[Dim, ...] = (UNKNOWN_DIM,) * rank if sizes is None else sizes[2:]
        return [TensorType(element, Shape((items, *inner, rank)))]

    def _axes(self, args: Arguments) -> int | None:
        """The number of spatial axes; None if no known input shape determines it."""
        if args.rank(0) not in (None, 3):
            raise args.error("data are not matrices", "[N, r, r + 1]", str(args.shape(0)))
        rows, count = args.shape(0).dim(1), args.shape(1).count()
        if isinstance(rows, int):
            return rows
        return None if count is None else count - 2

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.sampling.affine_grid(align=self.align_corners != 0)
