"""Writes Col2Im in OpenVINO operations if the sizes of image or block are computed at run time.

The image is assembled axis by axis: along an axis, an element of the image is the sum of the
elements of all blocks that cover it, computed as a product with a matrix of zeros and ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from irloop.conversion.framework.directions import Import
from irloop.dialects.onnx.rearrange import Col2Im
from irloop.dialects.openvino.matmul import MatMul
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["col2im"]


def col2im(c: Import, op: Col2Im, data: Value, image: Value, block: Value, rank: int) -> Value:
    """Assemble the image, which has `rank` spatial axes, from columns.

    The columns are [N, C * size of a block, number of blocks]; the sizes of the image and of a
    block are inputs.
    """
    element = element_of(data)
    real = element if element.is_float else ElementType.F32
    for name, times in (("strides", 1), ("dilations", 1), ("pads", 2)):
        given = getattr(op, name)
        if given is not None and len(given) != times * rank:
            raise c.refuse(f"the number of its {name} is {len(given)}, and not {times * rank}")
    axes = [_Axis.of(c, op, image, block, at, rank) for at in range(rank)]
    sizes = [*(axis.block for axis in axes), *(axis.count for axis in axes)]
    value = _reshaped(c, c.convert(data, real), [c.i64(-1), *sizes])
    for done, axis in enumerate(axes):
        left = rank - done
        # The block and the position along this axis come first; move them to the end and merge
        # them.
        pair = [1, 1 + left]
        order = [at for at in range(1 + 2 * left + done) if at not in pair]
        moved = c.transpose(value, [*order, *pair])
        kept = c.sizes_of(value, order)
        pairs = c.multiply(axis.block, axis.count)
        # Multiply as matrices, because all engines support that whatever the other axes are.
        product = c(MatMul(), _reshaped(c, moved, [c.i64(-1), pairs]), axis.matrix(c, real))
        dims = c.concat([kept, c.reshape(axis.size, [1])], 0)
        value = c.reshape_to(product, dims, special_zero=False)
    batch = c.size_of(data, 0)
    result = _reshaped(c, value, [batch, c.i64(-1), *(axis.size for axis in axes)])
    return c.convert(result, element)


def _reshaped(c: Import, value: Value, sizes: list[Value]) -> Value:
    listed = [c.reshape(size, [1]) for size in sizes]
    return c.reshape_to(value, c.concat(listed, 0), special_zero=False)


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis of the image: its size, the size of the block, and the number of blocks."""

    size: Value
    block: Value
    count: Value
    stride: int
    dilation: int
    begin: int

    @classmethod
    def of(cls, c: Import, op: Col2Im, image: Value, block: Value, axis: int, rank: int) -> _Axis:
        """Compute the image size, block size and block count of spatial axis `axis` of a Col2Im.

        `image` and `block` hold the sizes of the image and of a block for all `rank` spatial axes.
        The three numbers in the result are i64 scalars.
        """
        pads = op.pads or (0,) * (2 * rank)
        stride = op.strides[axis] if op.strides else 1
        dilation = op.dilations[axis] if op.dilations else 1
        size, extent = (c.gather(c.as_i64(value), c.i64(axis), 0) for value in (image, block))
        span = c.multiply(c.subtract(extent, c.i64(1)), c.i64(dilation))
        room = c.add(c.subtract(size, span), c.i64(pads[axis] + pads[rank + axis] - 1))
        count = c.add(c.divide(room, c.i64(stride)), c.i64(1))
        return cls(size, extent, count, stride, dilation, pads[axis])

    def matrix(self, c: Import, element: ElementType) -> Value:
        """Return a matrix [block * count, size] that shows which elements each block covers.

        An entry is 1 where an element of a block covers the element of the image, else 0. `block`
        is the number of elements of a block, and `count` the number of blocks, along this axis.
        """
        inside = c.multiply(c.numbers_below(self.block), c.i64(self.dilation))
        starts = c.multiply(c.numbers_below(self.count), c.i64(self.stride))
        starts = c.subtract(starts, c.i64(self.begin))
        places = c.add(c.unsqueeze(inside, [1]), c.unsqueeze(starts, [0]))
        flat = c.reshape(places, [-1, 1])
        return c.convert_always(c.equal(flat, c.numbers_below(self.size)), element)
