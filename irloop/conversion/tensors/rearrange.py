"""Converts operations that move blocks between space, depth and batch."""

from __future__ import annotations

import math
from collections.abc import Sequence

from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.conversion.tensors.col2im_computed import col2im
from irloop.dialects.onnx import convolution as onnx_convolution
from irloop.dialects.onnx import rearrange as onnx
from irloop.dialects.openvino import convolution as ov_convolution
from irloop.dialects.openvino import rearrange as ov
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.writing.known_inputs import ints, length, needed_ints, needed_rank
from irloop.dialects.writing.sizes import Size, Sizes
from irloop.graph.builder import element_of, shape_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []


def _woven(left: Sequence[int], right: Sequence[int]) -> list[int]:
    return [item for pair in zip(left, right, strict=True) for item in pair]


@exports(ov.DepthToSpace)
def export_depth_to_space(c: Export, op: ov.DepthToSpace, data: Value) -> Value:
    """Write DepthToSpace for images; for other ranks, write a Transpose between two Reshapes."""
    rank, block = needed_rank(c, data), op.block_size
    if rank == 4:
        return c(onnx.DepthToSpace11(block, "DCR" if op.blocks_first else "CRD"), data)
    k = rank - 2
    sizes = Sizes(c)
    batch, channels, *space = sizes.of(data)
    depth = sizes.by(channels, block**k)
    blocks: list[Size] = [block] * k
    if op.blocks_first:
        parts = sizes.reshape(data, [batch, *blocks, depth, *space])
        order = [0, k + 1, *_woven(range(k + 2, 2 * k + 2), range(1, k + 1))]
    else:
        parts = sizes.reshape(data, [batch, depth, *blocks, *space])
        order = [0, 1, *_woven(range(k + 2, 2 * k + 2), range(2, k + 2))]
    wide = [sizes.times(size, block) for size in space]
    return sizes.reshape(c.transpose(parts, order), [batch, depth, *wide])


@exports(ov.SpaceToDepth)
def export_space_to_depth(c: Export, op: ov.SpaceToDepth, data: Value) -> Value:
    """Write SpaceToDepth for rank 4 and mode blocks_first, else a Transpose between Reshapes."""
    rank, block = needed_rank(c, data), op.block_size
    if rank == 4 and op.blocks_first:
        return c(onnx.SpaceToDepth28(block) if c.opset >= 28 else onnx.SpaceToDepth(block), data)
    return _space_to_depth(Sizes(c), data, block, op.blocks_first)


def _space_to_depth(sizes: Sizes, data: Value, block: int, blocks_first: bool) -> Value:
    c = sizes.c
    batch, channels, *space = sizes.of(data)
    k = len(space)
    smaller = [sizes.by(size, block) for size in space]
    parts: list[Size] = [item for size in smaller for item in (size, block)]
    split = sizes.reshape(data, [batch, channels, *parts])
    outer, inner = range(2, 2 * k + 2, 2), range(3, 2 * k + 3, 2)
    order = [0, *inner, 1, *outer] if blocks_first else [0, 1, *inner, *outer]
    moved = c.transpose(split, order)
    return sizes.reshape(moved, [batch, sizes.times(channels, block**k), *smaller])


@imports(onnx.DepthToSpace)
def import_depth_to_space(c: Import, op: onnx.DepthToSpace, data: Value) -> Value:
    return c(ov.DepthToSpace("blocks_first", op.blocksize), data)


@imports(onnx.DepthToSpace11)
def import_depth_to_space_11(c: Import, op: onnx.DepthToSpace11, data: Value) -> Value:
    mode = "blocks_first" if op.mode == "DCR" else "depth_first"
    return c(ov.DepthToSpace(mode, op.blocksize), data)


@imports(onnx.SpaceToDepth)
def import_space_to_depth(c: Import, op: onnx.SpaceToDepth, data: Value) -> Value:
    return c(ov.SpaceToDepth("blocks_first", op.blocksize), data)


@imports(onnx.SpaceToDepth28)
def import_space_to_depth_28(c: Import, op: onnx.SpaceToDepth28, data: Value) -> Value:
    mode = "blocks_first" if op.mode == "DCR" else "depth_first"
    return c(ov.SpaceToDepth(mode, op.blocksize), data)


@exports(ov.BatchToSpace)
def export_batch_to_space(
    c: Export, op: ov.BatchToSpace, data: Value, block: Value, begins: Value, ends: Value
) -> Value:
    """Write BatchToSpace as a Transpose between two Reshapes, and a Slice for the crops."""
    sizes = Sizes(c)
    batch, *space = sizes.of(data)
    rank = len(space) + 1
    blocks = sizes.items(block, rank)[1:]
    fewer = sizes.by(batch, sizes.product(blocks))
    parts = sizes.reshape(data, [*blocks, fewer, *space])
    order = [rank - 1, *_woven(range(rank, 2 * rank - 1), range(rank - 1))]
    wide = [sizes.times(size, times) for size, times in zip(space, blocks, strict=True)]
    whole = sizes.reshape(c.transpose(parts, order), [fewer, *wide])
    return _cropped(c, whole, begins, ends)


def _cropped(c: Export, padded: Value, begins: Value, ends: Value) -> Value:
    first, last = ints(c, begins), ints(c, ends)
    if first is None or last is None:
        cut = c.as_list(ends)
        behind = c.subtract(c.i64([0]), cut)
        nothing = c.equal(cut, c.i64([0]))
        stops = c.select(nothing, c.i64([TO_THE_END]), behind)
        return c.slice_by(padded, c.as_list(begins), stops)
    axes = [at for at, pair in enumerate(zip(first, last, strict=True)) if any(pair)]
    if not axes:
        return padded
    bounds = [-last[at] or TO_THE_END for at in axes]
    return c.slice(padded, [first[at] for at in axes], bounds, axes)


@exports(ov.SpaceToBatch)
def export_space_to_batch(
    c: Export, op: ov.SpaceToBatch, data: Value, block: Value, begins: Value, ends: Value
) -> Value:
    """Write SpaceToBatch as a Pad with zeros, and a Transpose between two Reshapes."""
    pads = [c.as_list(value) for value in (begins, ends)]
    if any(number != 0 for value in pads for number in ints(c, value) or [1]):
        data = c.pad(data, c.concat(pads, 0))
    sizes = Sizes(c)
    batch, *space = sizes.of(data)
    rank = len(space) + 1
    blocks = sizes.items(block, rank)[1:]
    smaller = [sizes.by(size, times) for size, times in zip(space, blocks, strict=True)]
    parts = [item for pair in zip(smaller, blocks, strict=True) for item in pair]
    order = [*range(2, 2 * rank, 2), 0, *range(1, 2 * rank - 1, 2)]
    moved = c.transpose(sizes.reshape(data, [batch, *parts]), order)
    return sizes.reshape(moved, [sizes.times(batch, sizes.product(blocks)), *smaller])


@exports(ov.ShuffleChannels)
def export_shuffle_channels(c: Export, op: ov.ShuffleChannels, data: Value) -> Value:
    """Write ShuffleChannels as a Reshape to rows of channels, a Transpose, and a Reshape back."""
    rank = needed_rank(c, data)
    axis = op.axis % rank
    sizes = Sizes(c)
    dims = sizes.of(data)
    rows: list[Size] = [op.group, sizes.by(dims[axis], op.group)]
    parts = sizes.reshape(data, [*dims[:axis], *rows, *dims[axis + 1 :]])
    return sizes.reshape(c.moved(parts, axis, axis + 1, rank + 1), dims)


@exports(ov.ReorgYolo, ov.ReorgYolo1)
def export_reorg(c: Export, op: ov.ReorgYolo, data: Value) -> Value:
    """Write ReorgYolo as a Transpose between two Reshapes.

    The first Reshape splits the image into blocks, and the Transpose moves the elements of a block
    in front of the channels.
    """
    by = op.stride[0]
    sizes = Sizes(c)
    batch, channels, height, width = sizes.of(data, rank=4)
    parts = sizes.reshape(data, [batch, sizes.by(channels, by * by), height, by, width, by])
    moved = c.transpose(parts, [0, 3, 5, 1, 2, 4])
    space = [sizes.by(height, by), sizes.by(width, by)]
    return sizes.reshape(moved, [batch, sizes.times(channels, by * by), *space])


@exports(ov.ExtractImagePatches)
def export_image_patches(c: Export, op: ov.ExtractImagePatches, data: Value) -> Value:
    """Write ExtractImagePatches as one strided Slice for each position of the kernel.

    A Concat joins the slices as channels.
    """
    spans = [(size - 1) * rate + 1 for size, rate in zip(op.sizes, op.rates, strict=True)]
    if op.auto_pad.lower() != "valid":
        data = _same_padded(c, op, data, spans)
    pieces = []
    for row in range(op.sizes[0]):
        for column in range(op.sizes[1]):
            starts = [row * op.rates[0], column * op.rates[1]]
            # Each slice ends where the rest of the kernel is still inside the data.
            left = [span - 1 - start for span, start in zip(spans, starts, strict=True)]
            stops = [-size or TO_THE_END for size in left]
            pieces.append(c.slice(data, starts, stops, [2, 3], op.strides))
    return c.concat(pieces, 1)


def _same_padded(c: Export, op: ov.ExtractImagePatches, data: Value, spans: Sequence[int]) -> Value:
    begins, ends = [0, 0], [0, 0]
    for axis, (span, stride) in enumerate(zip(spans, op.strides, strict=True)):
        size = shape_of(data).dim(2 + axis)
        if not isinstance(size, int):
            raise c.refuse(
                "its padding depends on sizes that are not known", "give the input a static shape"
            )
        total = max(0, (-(-size // stride) - 1) * stride + span - size)
        less, more = total // 2, total - total // 2
        upper = op.auto_pad.lower() == "same_upper"
        begins[axis], ends[axis] = (less, more) if upper else (more, less)
    return c.pad(data, c.i64([0, 0, *begins, 0, 0, *ends]))


@exports(ov.Col2Im)
def export_col2im(c: Export, op: ov.Col2Im, data: Value, image: Value, block: Value) -> Value:
    """Write Col2Im, or before opset 18 a transposed convolution with one-hot kernels."""
    pads = (*op.pads_begin, *op.pads_end)
    if c.opset >= 18:
        size, kernel = c.as_i64(image), c.as_i64(block)
        return c(onnx.Col2Im(op.dilations, pads, op.strides), data, size, kernel)
    columns = _Columns(
        Sizes(c), data, image, block, (op.strides, op.dilations, op.pads_begin, op.pads_end)
    )
    transposed = onnx_convolution.ConvTranspose(
        strides=op.strides, dilations=op.dilations, pads=pads, output_padding=columns.rest
    )
    return columns.image(c(transposed, columns.value, columns.ones))


@imports(onnx.Col2Im)
def import_col2im(c: Import, op: onnx.Col2Im, data: Value, image: Value, block: Value) -> Value:
    """Write Col2Im-15, or a transposed convolution with one-hot kernels.

    Col2Im-15 is used for an image of two axes, from opset15 on. Otherwise, the convolution is used
    if the shapes of image and block are constant; if not, `col2im` converts the operation.
    """
    rank = length(block)
    if rank is None:
        raise c.refuse("the number of axes of its image is not known", "make its block constant")
    if not (c.opset >= 15 and rank == 2) and None in (ints(c, image), ints(c, block)):
        return col2im(c, op, data, image, block, rank)
    strides, dilations = op.strides or (1,) * rank, op.dilations or (1,) * rank
    pads = op.pads or (0,) * (2 * rank)
    options = (strides, dilations, pads[:rank], pads[rank:])
    if c.opset >= 15 and rank == 2:
        return c(ov.Col2Im(*options), data, image, block)
    columns = _Columns(Sizes(c), data, image, block, options)
    transposed = ov_convolution.ConvolutionBackpropData(
        strides=strides,
        dilations=dilations,
        pads_begin=pads[:rank],
        pads_end=pads[rank:],
        output_padding=columns.rest,
    )
    return columns.image(c(transposed, columns.value, columns.ones))


class _Columns:
    """The columns of Col2Im, prepared for a transposed convolution that assembles the image.

    Col2Im takes columns [n, c * block, windows], where `block` is the number of elements in a
    block. `value` holds them reshaped to [n * c, block, windows along each image axis...]. `ones`
    is the kernel of the convolution: it moves each element of a block to its position in the image.
    """

    def __init__(
        self,
        sizes: Sizes,
        data: Value,
        image: Value,
        block: Value,
        options: tuple[Sequence[int], ...],
    ) -> None:
        import numpy as np

        c, self.sizes = sizes.c, sizes
        self.space = needed_ints(c, image, "image shape")
        kernel = needed_ints(c, block, "block shape")
        strides, dilations, begins, ends = options
        spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        wide = [n + a + b for n, a, b in zip(self.space, begins, ends, strict=True)]
        counts = [(n - k) // s + 1 for n, k, s in zip(wide, spans, strides, strict=True)]
        self.rest = tuple((n - k) % s for n, k, s in zip(wide, spans, strides, strict=True))
        *self.batch, rows, _ = sizes.of(data)
        count = math.prod(kernel)
        self.channels = sizes.by(rows, count)
        self.element = element_of(data)
        real = self.element if self.element.is_float else ElementType.F32
        whole = c.convert(data, real)
        self.value = c.reshape_exactly(whole, c.i64([-1, count, *counts]), may_be_empty=False)
        self.ones = c.constant(np.eye(count).reshape(count, 1, *kernel), real)

    def image(self, value: Value) -> Value:
        """Reshape an image [n c, 1, image...] to [n, c, image...]."""
        whole = self.sizes.reshape(value, [*self.batch, self.channels, *self.space])
        return self.sizes.c.convert(whole, self.element)
