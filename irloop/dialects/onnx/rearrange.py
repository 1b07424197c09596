"""ONNX operations that move blocks between space and depth, and columns to images."""

from __future__ import annotations

from typing import Literal

from irloop import kernels
from irloop.dialects import blocks, inference, shapes
from irloop.dialects.onnx.base import BF16, NARROW, OnnxOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import TensorType, ValueType

__all__ = ["Col2Im", "DepthToSpace", "DepthToSpace11", "SpaceToDepth", "SpaceToDepth28"]


class DepthToSpace(OnnxOp, type="DepthToSpace", since=1, inputs=1):
    """Moves channels into blocks of space (DepthToSpace-1).

    If the result has C channels, input channel (row * blocksize + column) * C + c becomes channel c
    of the result, at this row and column of each block.
    """

    not_moved = NARROW | BF16
    cost = "linear"

    blocksize: int

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.require_rank(args, 0, 4)
        return [TensorType(args.element(0), blocks.spread(args, args.shape(0), self.blocksize))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.rearrange.depth_to_space(self.blocksize, True)


class DepthToSpace11(OnnxOp, type="DepthToSpace", since=11, inputs=1):
    """Moves channels into blocks of space, in the order of `mode` (DepthToSpace-11, 13, 28).

    Mode DCR is the order of DepthToSpace-1. In mode CRD, input channel c * blocksize^2 + row *
    blocksize + column becomes channel c of the result, at this row and column of each block.
    """

    not_moved = NARROW | BF16
    cost = "linear"

    blocksize: int
    mode: Literal["DCR", "CRD"] = "DCR"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.require_rank(args, 0, 4)
        return [TensorType(args.element(0), blocks.spread(args, args.shape(0), self.blocksize))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.rearrange.depth_to_space(self.blocksize, self.mode == "DCR")


class SpaceToDepth(OnnxOp, type="SpaceToDepth", since=1, inputs=1):
    """Moves blocks of space into channels (SpaceToDepth-1, 13).

    If the input has C channels, the element of channel c at a row and column of a block moves to
    channel (row * blocksize + column) * C + c of the result.
    """

    not_moved = NARROW | BF16
    cost = "linear"

    blocksize: int

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.require_rank(args, 0, 4)
        return [TensorType(args.element(0), blocks.deeper(args, args.shape(0), self.blocksize))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.rearrange.space_to_depth(self.blocksize, True)


class SpaceToDepth28(OnnxOp, type="SpaceToDepth", since=28, inputs=1):
    """Moves blocks of space into channels, in the order of `mode` (SpaceToDepth-28).

    Mode CRD orders the output channels by input channel first and by position in the block second;
    mode DCR does the reverse, as SpaceToDepth-1.
    """

    not_moved = NARROW | BF16
    cost = "linear"

    blocksize: int
    mode: Literal["DCR", "CRD"] = "DCR"

    def infer(self, args: Arguments) -> list[ValueType]:
        inference.require_rank(args, 0, 4)
        return [TensorType(args.element(0), blocks.deeper(args, args.shape(0), self.blocksize))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.rearrange.space_to_depth(self.blocksize, self.mode == "DCR")


class Col2Im(OnnxOp, type="Col2Im", since=18, inputs=3):
    """Puts blocks, one in each column, into an image, and adds where they overlap (Col2Im-18).

    Inputs: the columns, the size of the image and the size of a block. The columns are
    [n, c * k, l] for l blocks of k positions in c channels; the result is [n, c, *image].
    """

    dilations: tuple[int, ...] | None = attribute(default=None, least=1)
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = attribute(default=None, least=1)

    def infer(self, args: Arguments) -> list[ValueType]:
        for position, rank_of_input in enumerate((3, 1, 1)):
            inference.require_rank(args, position, rank_of_input)
        image, block = shapes.shape_from(args, 1).dims, shapes.shape_from(args, 2).dims
        rank = None if image is None else len(image)
        if image is not None and block is not None and len(image) != len(block):
            expected, found = f"{len(image)} sizes, as of the image", str(len(block))
            raise args.error("the block has a different rank than the image", expected, found)
        for name, times in (("strides", 1), ("dilations", 1), ("pads", 2)):
            numbers = getattr(self, name)
            if numbers is not None and rank is not None and len(numbers) != times * rank:
                raise args.error(
                    f"{name} have the wrong length", f"{times * rank} numbers", str(len(numbers))
                )
        return [TensorType(args.element(0), blocks.column_image(args, image, args.ints(2)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.rearrange.sum_of_columns_by_pads(self.strides, self.dilations, self.pads)
