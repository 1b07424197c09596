"""Converts colour conversions to ONNX: a Resize enlarges the chroma, a MatMul mixes the planes."""

from __future__ import annotations

from irloop.conversion.framework.directions import Export
from irloop.conversion.framework.translation import exports
from irloop.dialects.onnx import elementwise, matmul, resize
from irloop.dialects.openvino import color as ov
from irloop.dialects.slices import TO_THE_END
from irloop.dialects.writing.sizes import Size, Sizes
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []


@exports(ov.NV12toRGB, ov.NV12toBGR)
def export_nv12(c: Export, op: ov.FromNV12, luma: Value, pairs: Value | None = None) -> Value:
    """Write NV12toRGB or NV12toBGR: enlarge the chroma with Resize, and mix the planes with MatMul.

    Before the MatMul, Sub removes the offset of each plane.
    """
    if pairs is None:
        luma, rest, (items, rows, columns) = _planes(c, luma)
        pairs = Sizes(c).reshape(rest, [items, rows, columns, 2])
    blue, red = c.split(pairs, 3, [1, 1])
    return _coloured(c, op, luma, blue, red)


@exports(ov.I420toRGB, ov.I420toBGR)
def export_i420(
    c: Export,
    op: ov.FromI420,
    luma: Value,
    blue: Value | None = None,
    red: Value | None = None,
) -> Value:
    """Write I420toRGB or I420toBGR: enlarge the chroma with Resize, and mix the planes with MatMul.

    Before the MatMul, Sub removes the offset of each plane.
    """
    if blue is None or red is None:
        luma, rest, (items, rows, columns) = _planes(c, luma)
        both = Sizes(c).reshape(rest, [items, 2, rows, columns])
        blue, red = (
            c.unsqueeze(part, [3]) for part in (c.gather(both, c.i64(at), 1) for at in (0, 1))
        )
    return _coloured(c, op, luma, blue, red)


def _planes(c: Export, image: Value) -> tuple[Value, Value, tuple[Size, Size, Size]]:
    """Split a YUV image, stored as one plane, into its Y rows and the chroma rows below them.

    Returns the Y rows, the chroma rows, and the sizes of the planes U and V: batch, height and
    width.
    """
    sizes = Sizes(c)
    items, rows, width, _ = sizes.of(image)
    half = sizes.by(rows, 3)
    height, start, axis = sizes.list([sizes.times(half, 2)]), c.i64([0]), c.i64([1])
    luma = c.slice_by(image, start, height, axis)
    rest = c.slice_by(image, height, c.i64([TO_THE_END]), axis)
    return luma, rest, (items, half, sizes.by(width, 2))


def _coloured(c: Export, op: ov.FromYuv, luma: Value, blue: Value, red: Value) -> Value:
    """Convert the planes of a YUV image to an image [N, H, W, 3] in the type of `luma`.

    `luma` is [N, H, W, 1]; `blue` and `red` are [N, H/2, W/2, 1].
    """
    from irloop.kernels.color import FACTORS, OFFSETS

    element = element_of(luma)
    wide = element if element in (ElementType.F32, ElementType.F64) else ElementType.F32
    y, u, v = (c.convert(plane, wide) for plane in (luma, blue, red))
    small = c.concat([u, v], 3)
    scales = c.constant([1.0, 2.0, 2.0, 1.0], ElementType.F32)
    version = resize.resize_since(c.opset)
    enlarged = version(coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    roi = c.constant([], ElementType.F32) if c.opset < 13 else None
    planes = c.concat([y, c(enlarged, small, roi, scales)], 3)
    centred = c.subtract(planes, c.constant(OFFSETS, wide))
    rows = FACTORS[::-1] if op.reverse() else FACTORS
    factors = c.constant([list(column) for column in zip(*rows, strict=True)], wide)
    mixed = c(matmul.MatMul(), centred, factors)
    if not element.is_float:
        # Halves are rounded away from zero; negative values are clipped anyway.
        mixed = c(elementwise.Floor(), c.add(mixed, c.scalar(0.5, mixed)))
    return c.convert(c.clip(mixed, 0.0, 255.0), element)
