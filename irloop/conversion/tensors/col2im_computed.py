"""Writes Col2Im in OpenVINO operations if the sizes of image or block are computed at run time.

The image is assembled axis by axis: along an axis, an element of the image is the sum of the
elements of all blocks that cover it, computed as a product with a matrix of zeros and ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from irloop.conversion.forms import openvino_forms as forms
from irloop.conversion.framework.translation import Conversion
from irloop.dialects.onnx.rearrange import Col2Im
from irloop.dialects.openvino.matmul import MatMul
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__ = ["col2im"]


def col2im(c: Conversion, op: Col2Im, data: Value, image: Value, block: Value, rank: int) -> Value:
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
    value = _reshaped(c, forms.convert(c, data, real), [c.i64(-1), *sizes])
    for done, axis in enumerate(axes):
        left = rank - done
        # The block and the position along this axis come first; move them to the end and merge
        # them.
        pair = [1, 1 + left]
        order = [at for at in range(1 + 2 * left + done) if at not in pair]
        moved = forms.transpose(c, value, [*order, *pair])
        kept = forms.gather(c, forms.shape_of(c, value), c.i64(order), 0)
        pairs = forms.multiply(c, axis.block, axis.count)
        # Multiply as matrices, because all engines support that whatever the other axes are.
        product = c(MatMul(), _reshaped(c, moved, [c.i64(-1), pairs]), axis.matrix(c, real))
        dims = forms.concat(c, [kept, forms.reshape(c, axis.size, [1])], 0)
        value = forms.reshape_to(c, product, dims, special_zero=False)
    batch = forms.gather(c, forms.shape_of(c, data), c.i64(0), 0)
    result = _reshaped(c, value, [batch, c.i64(-1), *(axis.size for axis in axes)])
    return forms.convert(c, result, element)


def _reshaped(c: Conversion, value: Value, sizes: list[Value]) -> Value:
    listed = [forms.reshape(c, size, [1]) for size in sizes]
    return forms.reshape_to(c, value, forms.concat(c, listed, 0), special_zero=False)


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
    def of(
        cls, c: Conversion, op: Col2Im, image: Value, block: Value, axis: int, rank: int
    ) -> _Axis:
        """Compute the image size, block size and block count of spatial axis `axis` of a Col2Im.

        `image` and `block` hold the sizes of the image and of a block for all `rank` spatial axes.
        The three numbers in the result are i64 scalars.
        """
        pads = op.pads or (0,) * (2 * rank)
        stride = op.strides[axis] if op.strides else 1
        dilation = op.dilations[axis] if op.dilations else 1
        size, extent = (
            forms.gather(c, forms.as_i64(c, value), c.i64(axis), 0) for value in (image, block)
        )
        span = forms.multiply(c, forms.subtract(c, extent, c.i64(1)), c.i64(dilation))
        room = forms.add(
            c, forms.subtract(c, size, span), c.i64(pads[axis] + pads[rank + axis] - 1)
        )
        count = forms.add(c, forms.divide(c, room, c.i64(stride)), c.i64(1))
        return cls(size, extent, count, stride, dilation, pads[axis])

    def matrix(self, c: Conversion, element: ElementType) -> Value:
        """Return a matrix [block * count, size] that shows which elements each block covers.

        An entry is 1 where an element of a block covers the element of the image, else 0. `block`
        is the number of elements of a block, and `count` the number of blocks, along this axis.
        """
        inside = forms.multiply(c, self._numbers(c, self.block), c.i64(self.dilation))
        starts = forms.multiply(c, self._numbers(c, self.count), c.i64(self.stride))
        starts = forms.subtract(c, starts, c.i64(self.begin))
        places = forms.add(c, forms.unsqueeze(c, inside, [1]), forms.unsqueeze(c, starts, [0]))
        flat = forms.reshape(c, places, [-1, 1])
        return forms.convert_always(c, forms.equal(c, flat, self._numbers(c, self.size)), element)

    def _numbers(self, c: Conversion, count: Value) -> Value:
        return forms.range_(c, c.i64(0), count, c.i64(1))
