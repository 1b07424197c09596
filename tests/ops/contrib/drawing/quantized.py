"""Random operations on 8-bit data and on weights in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.contrib.against_runtime import Case
from tests.ops.contrib.drawing.draw import TOLERANCES, Array, Draw, Drawer, trimmed

__all__ = ["DRAWERS"]


def quantize(d: Draw) -> Case:
    """QuantizeLinear."""
    shape, element, axis, sizes = layout(d, [np.uint8, np.int8, np.uint16, np.int16])
    x = d.floats(*shape, scale=d.pick([1.0, 5.0]))
    zero = d.codes(*sizes, type=element) if element is not np.uint8 or d.chance() else None
    inputs = trimmed([x, d.scale(*sizes), zero])
    words: dict[str, Any] = {} if axis is None else {"axis": axis}
    constants = d.constants([1, 2], inputs)
    return Case("QuantizeLinear", inputs, constants=constants, opset=d.opset(), codes=1, **words)


def dequantize(d: Draw) -> Case:
    """DequantizeLinear."""
    kinds = [np.uint8, np.int8, np.uint16, np.int16, np.int32]
    shape, element, axis, sizes = layout(d, kinds)
    x = d.codes(*shape, type=element, bits=31 if element is np.int32 else 16)
    has_zero = element is not np.int32 and d.chance()
    inputs = trimmed([x, d.scale(*sizes), d.codes(*sizes, type=element) if has_zero else None])
    words: dict[str, Any] = {} if axis is None else {"axis": axis}
    constants = d.constants([1, 2], inputs)
    return Case("DequantizeLinear", inputs, constants=constants, opset=d.opset(), **words)


def layout(d: Draw, kinds: list[Any]) -> tuple[list[int], Any, int | None, list[int]]:
    """A shape, an element type, an axis or None, and the shape of the scales."""
    shape = d.shape()
    if d.chance():
        return shape, d.pick(kinds), d.pick([None, 1]), d.pick([[], [1]]) if d.chance() else []
    axis = d.size(-len(shape), len(shape) - 1)
    return shape, d.pick(kinds), axis, [shape[axis]]


def point(d: Draw, element: Any, *, optional: bool = False) -> list[Array | None]:
    """A scale and a zero point."""
    zero = None if optional and d.chance(0.3) else d.codes(type=element)
    return [d.scale(), zero]


def binary(type: str) -> Drawer:
    """A function that generates QLinearAdd or QLinearMul."""

    def draw(d: Draw) -> Case:
        element = d.pick([np.uint8, np.int8])
        shape = d.shape(0)
        other = [size if d.chance(0.8) else 1 for size in shape][d.size(0, len(shape)) // 2 :]
        one = [size if d.chance(0.9) else 1 for size in shape]
        pair = [d.codes(*one, type=element), d.codes(*other, type=element)]
        if d.chance(0.3):
            pair.reverse()
        inputs = [
            *(pair[0], *point(d, element)),
            *(pair[1], *point(d, element)),
            *point(d, element),
        ]
        inputs = trimmed(inputs)
        constants = d.constants([1, 2, 4, 5, 6, 7], inputs)
        return Case(type, inputs, constants=constants, opset=d.opset(), codes=1)

    return draw


def unary(type: str) -> Drawer:
    """A function that generates an operation on one quantized tensor."""

    def draw(d: Draw) -> Case:
        element = d.pick([np.uint8, np.int8])
        shape = d.shape(0)
        words: dict[str, Any] = {}
        named: dict[str, Any] = {}
        if type == "QLinearLeakyRelu":
            words = d.words(alpha=(0.1, 0.5, -0.25, 2.0))
        elif type == "QLinearSoftmax":
            # Along an axis of size 1, ONNX Runtime 1.31 returns other numbers.
            shape = [d.size(2) for _ in range(d.size(1, 4))]
            words = {"axis": d.size(-len(shape), len(shape) - 1)} if d.chance(0.8) else {}
            named = {"opset": d.pick([11, 12, 13, 14])}
        elif type == "QLinearGlobalAveragePool":
            shape = d.shape(3, 4)
            words = d.words(channels_last=(0, 1))
        elif type == "QLinearAveragePool":
            shape, words = pooled(d)
        x = d.codes(*shape, type=element)
        scale, zero = point(d, element)
        if type in ("QLinearSoftmax", "QLinearSigmoid"):
            # With a smaller scale, 1.0 overflows in ONNX Runtime 1.31.
            scale = np.array(0.004, np.float32)
            zero = np.array(np.iinfo(element).min, element)
        inputs = trimmed([x, *point(d, element, optional="Pool" not in type), scale, zero])
        constants = d.constants([1, 2, 3, 4], inputs)
        opset = d.opset()
        if named.get("opset", 0) >= 13 and opset < 13:
            opset = 13
        return Case(type, inputs, constants=constants, opset=opset, codes=1, named=named, **words)

    return draw


def pooled(d: Draw) -> tuple[list[int], dict[str, Any]]:
    """A shape of images, and the attributes of a window."""
    axes = d.pick([1, 2, 2, 3])
    kernel = [d.size(1, 3) for _ in range(axes)]
    words: dict[str, Any] = {"kernel_shape": kernel}
    words |= d.words(count_include_pad=(0, 1))
    if d.chance():
        words["strides"] = [d.size(1, 3) for _ in range(axes)]
    if d.chance():
        words["pads"] = [d.size(0, k - 1) for k in [*kernel, *kernel]]
    elif d.chance(0.3):
        words["auto_pad"] = d.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
    spatial = [d.size(3, 7) for _ in range(axes)]
    batch, channels = d.size(1, 2), d.size(1, 4)
    if d.chance(0.4):
        words["channels_last"] = 1
        return [batch, *spatial, channels], words
    return [batch, channels, *spatial], words


def convolution(d: Draw) -> Case:
    """QLinearConv."""
    one, other = d.pick([(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
    group, inside, outside, axes = d.pick([1, 1, 2]), d.size(1, 3), d.size(1, 3), d.pick([1, 2, 2])
    kernel = [d.size(1, 3) for _ in range(axes)]
    spatial = [d.size(4, 6) for _ in range(axes)]
    last = d.pick([0, 1])
    channels = group * inside
    shape = [d.size(1, 2), *spatial, channels] if last else [d.size(1, 2), channels, *spatial]
    filters = group * outside
    scales = [filters] if d.chance(0.4) else []
    inputs = trimmed(
        [
            *(d.codes(*shape, type=one), *point(d, one)),
            d.codes(filters, inside, *kernel, type=other, bits=7),
            d.scale(*scales),
            np.zeros(scales, other) if other is np.int8 else d.codes(type=other, bits=6),
            *(d.scale(low=0.05, high=0.3), d.codes(type=one)),
            d.codes(filters, type=np.int32, bits=10) if d.chance() else None,
        ]
    )
    if other is np.uint8 and scales:
        inputs[5] = np.full(scales, inputs[5])
    words: dict[str, Any] = {}
    if d.chance():
        words["strides"] = [d.size(1, 2) for _ in range(axes)]
    if d.chance():
        # OpenVINO pads 8-bit convolutions incorrectly if the kernel has one element.
        words["pads"] = [d.size(0, size - 1) for size in [*kernel, *kernel]]
    return Case(
        "QLinearConv",
        inputs,
        constants=[1, 2, 3, 4, 5, 6, 7, 8][: len(inputs) - 1],
        opset=d.opset(),
        codes=1,
        opens=False,
        channels_last=last,
        group=group,
        **words,
    )


def max_pool(d: Draw) -> Case:
    """NhwcMaxPool."""
    axes = d.pick([1, 2, 2])
    kernel = [d.size(1, 3) for _ in range(axes)]
    x = d.codes(
        d.size(1, 2),
        *(d.size(4, 6) for _ in range(axes)),
        d.size(1, 3),
        type=d.pick([np.uint8, np.int8]),
    )
    words: dict[str, Any] = {"kernel_shape": kernel}
    if d.chance():
        words["strides"] = [d.size(1, 2) for _ in range(axes)]
    if d.chance():
        words["pads"] = [d.size(0, k - 1) for k in [*kernel, *kernel]]
    return Case("NhwcMaxPool", [x], opset=d.opset(), **words)


def embedding(d: Draw) -> Case:
    """QEmbedLayerNormalization."""
    batch, length, hidden = d.size(1, 3), d.size(1, 5), d.pick([4, 8])
    element = d.pick([np.uint8, np.int8])
    ids = d.codes(batch, length, type=np.int32, bits=4) & 7
    rows = [(8, hidden), (9, hidden), (2, hidden), (hidden,), (hidden,)]
    tables: list[Array | None] = [d.codes(*shape, type=element) for shape in rows]
    scales: list[Array | None] = [d.scale() for _ in rows]
    zeros: list[Array | None] = [d.codes(type=element) for _ in rows]
    segments = d.chance()
    if not segments:
        tables[2] = scales[2] = zeros[2] = None
    mask = d.codes(batch, length, type=np.int32, bits=2) & 1 if d.chance() else None
    inputs = [ids, (ids & 1) if segments else None, *tables, mask, *scales, *zeros]
    constants = [at for at in range(2, 18) if at != 7 and inputs[at] is not None]
    return Case(
        "QEmbedLayerNormalization",
        inputs,
        outputs=2,
        constants=constants if d.chance() else [],
        opset=d.opset(),
        tolerance=1e-4,
    )


def concat(d: Draw) -> Case:
    """QLinearConcat."""
    element = d.pick([np.uint8, np.int8])
    shape = d.shape()
    axis = d.size(-len(shape), len(shape) - 1)
    inputs = point(d, element)
    for _ in range(d.size(1, 4)):
        shape[axis] = d.size()
        inputs += [d.codes(*shape, type=element), *point(d, element)]
    positions = [at for at in range(len(inputs)) if at < 2 or at % 3 != 2]
    constants = d.constants(positions, inputs)
    return Case("QLinearConcat", inputs, constants=constants, opset=d.opset(), codes=1, axis=axis)


def where(d: Draw) -> Case:
    """QLinearWhere."""
    element = d.pick([np.uint8, np.int8])
    shape = d.shape()
    shapes = [[size if d.chance(0.8) else 1 for size in shape] for _ in range(3)]
    inputs: list[Array | None] = [
        d.random.random(shapes[0]) < 0.5,
        *(d.codes(*shapes[1], type=element), *point(d, element)),
        *(d.codes(*shapes[2], type=element), *point(d, element)),
        *point(d, element),
    ]
    constants = d.constants([2, 3, 5, 6, 7, 8], inputs)
    return Case("QLinearWhere", inputs, constants=constants, opset=d.opset(), codes=1)


def dynamic_product(d: Draw) -> Case:
    """DynamicQuantizeMatMul."""
    element = d.pick([np.uint8, np.int8])
    inner, columns = d.size(1, 8), d.size()
    a = d.floats(*d.shape(1, 3), inner, scale=d.pick([1.0, 10.0]))
    if d.chance(0.2):
        a = np.abs(a) + 1
    by_column = d.chance(0.4)
    sizes = [columns] if by_column else d.pick([[], [1]])
    inputs = trimmed(
        [
            a,
            d.codes(inner, columns, type=element, bits=7),
            d.scale(*sizes),
            d.codes(*sizes, type=element, bits=6) if d.chance() else None,
            d.maybe(columns),
        ]
    )
    return Case(
        "DynamicQuantizeMatMul",
        inputs,
        constants=d.constants([1, 2, 3, 4], inputs),
        opset=d.opset(),
    )


def integer_product(d: Draw) -> Case:
    """MatMulIntegerToFloat."""
    one, other = d.pick([(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
    inner, columns = d.size(1, 8), d.size()
    by_column = d.chance(0.4)
    sizes = [columns] if by_column else d.pick([[], [1]])
    inputs = trimmed(
        [
            d.codes(*d.shape(1, 3), inner, type=one, bits=7),
            d.codes(inner, columns, type=other, bits=7),
            d.scale(*d.pick([[], [1]])),
            d.scale(*sizes),
            d.codes(type=one, bits=6) if d.chance() else None,
            d.codes(*sizes, type=other, bits=6) if d.chance() else None,
            d.maybe(columns),
        ]
    )
    return Case(
        "MatMulIntegerToFloat",
        inputs,
        constants=d.constants([1, 2, 3, 4, 5, 6], inputs),
        opset=d.opset(),
    )


def gemm(d: Draw) -> Case:
    """QGemm."""
    one, other = d.pick([(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
    words = d.words(transA=(0, 1), transB=(0, 1), alpha=(0.5, 2.0))
    rows, inner, columns = d.size(), d.size(1, 8), d.size()
    a = [inner, rows] if words.get("transA") else [rows, inner]
    b = [columns, inner] if words.get("transB") else [inner, columns]
    sizes = [columns] if d.chance(0.4) else []
    shapes: list[list[int]] = [[columns], [1, columns], [rows, columns], [rows, 1], [1], []]
    inputs = [
        *(d.codes(*a, type=one, bits=7), d.scale(), d.codes(type=one, bits=6)),
        *(d.codes(*b, type=other, bits=7), d.scale(*sizes), d.codes(*sizes, type=other, bits=6)),
        d.codes(*d.pick(shapes), type=np.int32, bits=12) if d.chance() else None,
    ]
    if d.chance():
        inputs += [d.scale(low=0.05, high=0.3), d.codes(type=one)]
    inputs = trimmed(inputs)
    constants = d.constants([1, 2, 3, 4, 5, 6, 7, 8], inputs)
    return Case("QGemm", inputs, constants=constants, opset=d.opset(), codes=1, **words)


def nbits(d: Draw) -> Case:
    """MatMulNBits."""
    element = np.dtype(d.pick([np.float32, np.float32, np.float16]))
    bits, block = d.pick([4, 4, 4, 8, 2]), d.pick([16, 32])
    rows, columns = d.size(1, 8), d.pick([block, 2 * block, block + 8, 3 * block - 4, 8])
    blocks = -(-columns // block)
    packed = -(-blocks * bits // 8)
    zeros: Array | None = None
    if d.chance(0.4):
        zeros = d.codes(rows, packed)
    elif d.chance(0.2) and bits == 4:
        zeros = d.random.uniform(0, 15, (rows, blocks)).astype(element)
    inputs = trimmed(
        [
            d.floats(*d.shape(1, 2), columns, type=element),
            d.codes(rows, blocks, block * bits // 8),
            d.scale(rows, blocks).astype(element),
            zeros,
            None,
            d.maybe(rows, probability=0.3, type=element),
        ]
    )
    return Case(
        "MatMulNBits",
        inputs,
        constants=[1, 2, 3] if d.chance(0.7) and zeros is not None else [1, 2],
        opset=d.opset(),
        tolerance=TOLERANCES.get(element, 1e-4),
        K=columns,
        N=rows,
        block_size=block,
        bits=bits,
    )


def bnb4(d: Draw) -> Case:
    """MatMulBnb4."""
    block = d.pick([16, 32, 64])
    rows, columns = d.size(1, 6), d.pick([16, 24, 40, 64])
    count = rows * columns
    inputs: list[Array | None] = [
        d.floats(*d.shape(1, 2), columns),
        d.codes((count + 1) // 2),
        d.scale(-(-count // block)),
    ]
    return Case(
        "MatMulBnb4",
        inputs,
        constants=d.constants([1, 2], inputs),
        opset=d.opset(),
        tolerance=1e-4,
        K=columns,
        N=rows,
        block_size=block,
        quant_type=d.pick([0, 1]),
    )


def gathered(d: Draw) -> Case:
    """GatherBlockQuantized."""
    bits, block = d.pick([4, 8]), d.pick([16, 32])
    rows, columns = d.size(2, 6), d.pick([block, 2 * block, 3 * block])
    blocks = columns // block
    element = np.dtype(d.pick([np.float32, np.float16]))
    kind = d.pick([np.int32, np.int64])
    indices = d.random.integers(-rows, rows, d.shape(0, 2)).astype(kind)
    inputs = trimmed(
        [
            d.codes(rows, columns * bits // 8),
            np.asarray(indices),
            d.scale(rows, blocks).astype(element),
            d.codes(rows, -(-blocks * bits // 8)) if d.chance() else None,
        ]
    )
    return Case(
        "GatherBlockQuantized",
        inputs,
        constants=[0, 2, 3] if len(inputs) == 4 else [0, 2],
        opset=d.opset(),
        tolerance=TOLERANCES.get(element, 1e-5),
        bits=bits,
        block_size=block,
        quantize_axis=d.pick([1, -1]),
    )


DRAWERS: dict[str, Drawer] = {
    "QuantizeLinear": quantize,
    "DequantizeLinear": dequantize,
    "QLinearAdd": binary("QLinearAdd"),
    "QLinearMul": binary("QLinearMul"),
    **{
        type: unary(type)
        for type in (
            "QLinearLeakyRelu",
            "QLinearSigmoid",
            "QLinearSoftmax",
            "QLinearGlobalAveragePool",
            "QLinearAveragePool",
        )
    },
    "QLinearConv": convolution,
    "NhwcMaxPool": max_pool,
    "QEmbedLayerNormalization": embedding,
    "QLinearConcat": concat,
    "QLinearWhere": where,
    "DynamicQuantizeMatMul": dynamic_product,
    "MatMulIntegerToFloat": integer_product,
    "QGemm": gemm,
    "MatMulNBits": nbits,
    "MatMulBnb4": bnb4,
    "GatherBlockQuantized": gathered,
}
