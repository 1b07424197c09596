"""OpenVINO operations that move blocks between space, depth and batch."""

from __future__ import annotations

from typing import ClassVar

from irloop import kernels
from irloop.dialects import blocks, inference, shapes, windows
from irloop.dialects.openvino.base import PADDINGS, OpenVinoOp
from irloop.graph.arguments import Arguments
from irloop.graph.op import Kernel, attribute
from irloop.graph.types import UNKNOWN_DIM, UNKNOWN_SHAPE, Dim, Shape, TensorType, ValueType

__all__ = [
    "BatchToSpace",
    "Col2Im",
    "DepthToSpace",
    "ExtractImagePatches",
    "ReorgYolo",
    "ReorgYolo1",
    "ShuffleChannels",
    "SpaceToBatch",
    "SpaceToDepth",
]


class _Blocks(OpenVinoOp):
    """Base of DepthToSpace and SpaceToDepth.

    A block has `block_size` elements in each spatial axis; the mode is blocks_first or depth_first.
    """

    operands = "data: any -> any"
    cost = "linear"

    mode: str = attribute(words=("blocks_first", "depth_first"), absent="blocks_first")
    block_size: int = attribute(default=1, needed=True)

    @property
    def blocks_first(self) -> bool:
        """Return whether the mode is blocks_first.

        The channel axis that holds the blocks is then divided into (positions in a block,
        channels). In the mode depth_first it is divided into (channels, positions in a block).
        """
        return self.mode.lower() == "blocks_first"


class DepthToSpace(_Blocks, type="DepthToSpace", since=1, inputs=1):
    """Moves channels into blocks of space (DepthToSpace-1)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        self.check_words(args, "mode")
        return [TensorType(args.element(0), blocks.spread(args, args.shape(0), self.block_size))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.rearrange.depth_to_space(self.block_size, self.blocks_first)


class SpaceToDepth(_Blocks, type="SpaceToDepth", since=1, inputs=1):
    """Moves blocks of space into channels (SpaceToDepth-1)."""

    def infer(self, args: Arguments) -> list[ValueType]:
        self.check_words(args, "mode")
        return [TensorType(args.element(0), blocks.deeper(args, args.shape(0), self.block_size))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.rearrange.space_to_depth(self.block_size, self.blocks_first)


class BatchToSpace(OpenVinoOp, type="BatchToSpace", since=2, inputs=4):
    """Moves the batch into blocks of the other axes, then crops (BatchToSpace-1).

    Inputs: data, block shape (its first number is 1), and how many elements to crop at the start
    and at the end of each axis. The specification names it version 1, but the first opset that has
    it is opset2.
    """

    expands = True

    operands = "data: any, block shape: I, crops begin: I, crops end: I -> any where I: integer"
    shapes = "*, R, R, R"

    def infer(self, args: Arguments) -> list[ValueType]:
        shape, block = args.shape(0), args.ints(1)
        begins, ends = args.ints(2), args.ints(3)
        if shape.dims is None:
            return [TensorType(args.element(0), UNKNOWN_SHAPE)]
        if not shape.dims:
            raise args.error("its data has no batch", "rank 1 or more", "rank 0")
        if block is None or begins is None or ends is None:
            return [TensorType(args.element(0), Shape.of_rank(len(shape.dims)))]
        _check_lengths(args, shape, block, begins, ends)
        if min(*begins, *ends) < 0:
            found = f"{begins} and {ends}"
            raise args.error("crops are negative", "0 or more", found, kind="range")
        count = shapes.multiplied(block)
        assert isinstance(count, int)
        wide = [shapes.multiplied((dim, by)) for dim, by in zip(shape.dims, block, strict=True)]
        sizes = [
            shapes.total((dim, -begin, -end))
            for dim, begin, end in zip(wide, begins, ends, strict=True)
        ]
        if any(isinstance(size, int) and size < 0 for size in sizes[1:]):
            raise args.error("more is cropped than there is", str(wide), f"{begins} and {ends}")
        sizes[0] = blocks.divided(args, shape.dims[0], count, "the batch")
        return [TensorType(args.element(0), Shape(tuple(sizes)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.rearrange.batch_to_space


class SpaceToBatch(OpenVinoOp, type="SpaceToBatch", since=2, inputs=4):
    """Pads axes with zeros, then moves blocks of them into the batch (SpaceToBatch-1).

    Inputs: data, block shape (its first number is 1), and how many zeros to add at the start and at
    the end of each axis. The specification names it version 1, but the first opset that has it is
    opset2.
    """

    expands = True

    operands = "data: any, block shape: integer, pads begin: integer, pads end: integer -> any"
    shapes = "*, R, R, R"

    def infer(self, args: Arguments) -> list[ValueType]:
        shape, block = args.shape(0), args.ints(1)
        begins, ends = args.ints(2), args.ints(3)
        if shape.dims is None:
            return [TensorType(args.element(0), UNKNOWN_SHAPE)]
        if not shape.dims:
            raise args.error("its data has no batch", "rank 1 or more", "rank 0")
        if block is None or begins is None or ends is None:
            return [TensorType(args.element(0), Shape.of_rank(len(shape.dims)))]
        _check_lengths(args, shape, block, begins, ends)
        sizes = [
            blocks.divided(args, shapes.total((dim, begin, end)), by, "a padded axis")
            for dim, begin, end, by in zip(shape.dims, begins, ends, block, strict=True)
        ]
        sizes[0] = shapes.multiplied((shape.dims[0], *block))
        return [TensorType(args.element(0), Shape(tuple(sizes)))]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.rearrange.space_to_batch


def _check_lengths(args: Arguments, shape: Shape, *lists: tuple[int, ...]) -> None:
    for found in lists:
        if len(found) != shape.rank:
            raise args.error("there must be one number per axis", str(shape.rank), str(len(found)))


class ShuffleChannels(OpenVinoOp, type="ShuffleChannels", since=1, inputs=1):
    """Permutes the elements along `axis` (ShuffleChannels-1).

    They are viewed as a matrix of `group` rows, which is read column by column.
    """

    operands = "data: any -> any"
    cost = "linear"

    not_in: ClassVar[frozenset[int]] = frozenset({2})
    axis: int = 1
    group: int = attribute(default=1, least=1)

    def infer(self, args: Arguments) -> list[ValueType]:
        at = inference.axis_in(args, self.axis, args.rank(0))
        if at is not None:
            blocks.divided(args, args.shape(0).dim(at), self.group, "the axis")
        return inference.same_as_first(args)

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.rearrange.shuffle_channels(self.axis, self.group)


class ReorgYolo(OpenVinoOp, type="ReorgYolo", since=2, inputs=1):
    """Darknet's reorganisation: [n, c, h, w] -> [n, c s s, h / s, w / s] (ReorgYolo-1).

    The specification names it version 1, but the first opset that has it is opset2.
    """

    operands = "data: any -> any"

    stride: tuple[int, ...] = attribute(entries=(1, None))

    def infer(self, args: Arguments) -> list[ValueType]:
        shape = args.shape(0)
        if shape.rank not in (None, 4):
            raise args.error("the input is not an image", "rank 4", str(shape))
        by = self.stride[0]
        deeper = blocks.deeper(args, shape, by)
        if shape.dims is not None:
            blocks.divided(args, shape.dims[1], by * by, "the channels")
        return [TensorType(args.element(0), deeper)]

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.rearrange.reorg(self.stride[0])


class ReorgYolo1(ReorgYolo, type="ReorgYolo", since=1, until=1, inputs=1):
    """ReorgYolo in files that name opset1 as its version."""


class ExtractImagePatches(OpenVinoOp, type="ExtractImagePatches", since=3, inputs=1):
    """Extracts patches of an image into channels: [n, c, h, w] -> [n, kh kw c, oh, ow].

    The channel index runs over kernel row, kernel column, input channel (ExtractImagePatches-3).
    """

    operands = "data: any -> any"

    sizes: tuple[int, ...] = attribute(least=1, entries=(2, 2))
    strides: tuple[int, ...] = attribute(least=1, entries=(2, 2))
    rates: tuple[int, ...] = attribute(least=1, entries=(2, 2))
    auto_pad: str = attribute(words=PADDINGS)

    def infer(self, args: Arguments) -> list[ValueType]:
        if self.auto_pad.lower() not in ("valid", "same_upper", "same_lower"):
            raise args.error(
                "auto_pad is not known",
                "valid, same_upper, same_lower",
                self.auto_pad,
                kind="range",
            )
        shape = args.shape(0)
        if shape.rank not in (None, 4):
            raise args.error("the input is not an image", "rank 4", str(shape))
        channels = shapes.multiplied((shape.dim(1), *self.sizes))
        counts = [self._count(shape.dim(2 + at), at) for at in range(2)]
        return [TensorType(args.element(0), Shape((shape.dim(0), channels, *counts)))]

    def _count(self, dim: Dim, axis: int) -> Dim:
        if not isinstance(dim, int):
            return UNKNOWN_DIM
        span = (self.sizes[axis] - 1) * self.rates[axis] + 1
        if self.auto_pad.lower() == "valid":
            return max(0, (dim - span) // self.strides[axis] + 1)
        return -(-dim // self.strides[axis])

    def kernel(self, n_outputs: int = 1) -> Kernel:
        sizes, strides, rates = (
            (pair[0], pair[1]) for pair in (self.sizes, self.strides, self.rates)
        )
        return kernels.rearrange.image_patches(sizes, strides, rates, self.auto_pad.lower())


class Col2Im(OpenVinoOp, type="Col2Im", since=15, inputs=3):
    """Sums overlapping blocks, given as columns, to an image (Col2Im-15).

    [n, c block, l] becomes [n, c, h, w]. Inputs: columns, size of the image, size of a block.
    """

    operands = "data: any, output size: I, kernel size: I -> any where I: i32 | i64"
    shapes = "*, 2, 2"

    strides: tuple[int, ...] = attribute(default=(1, 1), least=1, entries=(2, 2), needed=True)
    dilations: tuple[int, ...] = attribute(default=(1, 1), least=1, entries=(2, 2), needed=True)
    pads_begin: tuple[int, ...] = attribute(default=(0, 0), least=0, entries=(2, 2), needed=True)
    pads_end: tuple[int, ...] = attribute(default=(0, 0), least=0, entries=(2, 2), needed=True)

    def infer(self, args: Arguments) -> list[ValueType]:
        image, block = shapes.shape_from(args, 1).dims, args.ints(2)
        folded = blocks.column_image(args, image, block)
        columns = args.shape(0).dim(-1)
        if image is not None and block is not None and isinstance(columns, int):
            self._check_count(args, image, block, columns)
        return [TensorType(args.element(0), folded)]

    def _check_count(
        self, args: Arguments, image: tuple[Dim, ...], block: tuple[int, ...], columns: int
    ) -> None:
        window = windows.checked_window(
            args, block, self.strides, self.dilations, self.pads_begin, self.pads_end
        )
        count = shapes.multiplied(windows.spatial_dims(args, window, image))
        if isinstance(count, int) and count != columns:
            raise args.error("there must be one column per block", str(count), str(columns))

    def kernel(self, n_outputs: int = 1) -> Kernel:
        return kernels.rearrange.sum_of_columns(
            self.strides, self.dilations, self.pads_begin, self.pads_end
        )
