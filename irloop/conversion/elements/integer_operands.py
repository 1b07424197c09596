"""Writes dequantised operands of products in the forms that OpenVINO multiplies as integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irloop.conversion.elements.activation import integer_range
from irloop.conversion.elements.quantised_codes import difference_of_codes, limited_codes, made_of
from irloop.conversion.framework.directions import Import
from irloop.dialects.classes import classes_of
from irloop.dialects.openvino import activation as ov_activation
from irloop.dialects.openvino import elementwise as ov_math
from irloop.dialects.openvino import quantize as ov
from irloop.graph.builder import element_of
from irloop.graph.model import Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType
from irloop.passes.quantisation_grid import BYTE

#: Maximum number of values that are followed to find a product of integers.
_MOST_READERS = 64
#: Maximum number of operations between a product and the dequantisation of its weights.
_DEPTH = 8

_PRODUCTS = classes_of("Conv", "ConvTranspose", "Gemm", "MatMul")
_INTEGER_PRODUCTS = classes_of("ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul")
_DEQUANTIZING = classes_of("DequantizeLinear")
#: ONNX operations past which OpenVINO finds how an operand was quantised.
_MOVING = classes_of(
    *("Flatten", "Identity", "MaxPool", "Reshape", "Squeeze", "Transpose", "Unsqueeze"),
)


def operand_of_product(c: Import, x: Value, scale: Value, zero: Value | None) -> Value:
    """(x - zero point) * scale, in a form that OpenVINO multiplies as integers if it can."""
    fake = fake_quantized(c, x, scale, zero)
    if fake is None:
        fake = _fake_quantized_weights(c, x, scale, zero)
    if fake is not None:
        return c.convert(fake, element_of(scale))
    factor = c.convert(scale, ElementType.F32)
    product = c.multiply(difference_of_codes(c, x, zero), factor)
    return c.convert(product, element_of(scale))


def fake_quantized(c: Import, x: Value, scale: Value, zero: Value | None) -> Value | None:
    """Emit a FakeQuantize in place of a quantisation to `x` and the dequantisation of it.

    OpenVINO computes products of it with integers. Its numbers are the same, but a number in the
    middle between two codes, to a few units in the last place, may get the other one. Returns None
    if `x` was not quantised to 8 bits or fewer, or if scales or zero points are not constant.
    """
    known = limited_codes(c, x)
    if known is None:
        return None
    limited, shift = known
    limit, rounded = limited.producer.op, limited.producer.inputs[0]
    ratio = None if rounded is None else made_of(rounded, ov_math.Round)
    if ratio is None or not isinstance(ratio.producer.op, ov_math.Divide):
        return None
    data, step = ratio.producer.inputs
    factor = None if step is None else c.constant_of(step)
    numbers, offset = c.constant_of(scale), 0 if zero is None else c.constant_of(zero)
    if data is None or factor is None or numbers is None or offset is None:
        return None
    assert isinstance(limit, ov_activation.Clamp)
    if limit.max - limit.min >= BYTE:
        return None
    codes = (limit.min, limit.max)
    starts = [code * np.asarray(factor, np.float64) for code in codes]
    ends = [(code + shift - np.asarray(offset, np.float64)) * numbers for code in codes]
    return _on_steps(c, data, int(limit.max - limit.min) + 1, starts, ends)


def _fake_quantized_weights(c: Import, x: Value, scale: Value, zero: Value | None) -> Value | None:
    """Emit a FakeQuantize that dequantises 8-bit weights with zero points.

    For a Subtract and a Multiply, OpenVINO quantises the data of a matrix product anew, to steps of
    its own, and it multiplies no integers even where the zero point is in the middle of the codes.
    Returns None for other weights, or if a scale is not constant.
    """
    codes, numbers = x.producer.op, c.constant_of(scale)
    offset = None if zero is None else c.constant_of(zero)
    if not isinstance(codes, Constant) or numbers is None or offset is None or not offset.any():
        return None
    if element_of(x) not in (ElementType.I8, ElementType.U8):
        return None
    limits = integer_range(element_of(x))
    ends = [(limit - offset.astype(np.float64)) * numbers for limit in limits]
    return _on_steps(c, c.convert(x, ElementType.F32), BYTE, limits, ends)


def _on_steps(
    c: Import, x: Value, levels: int, starts: Sequence[Any], ends: Sequence[Any]
) -> Value:
    """Emit a FakeQuantize that maps the steps between two numbers to those between two others."""
    limits = (c.constant(np.asarray(end, np.float32), ElementType.F32) for end in (*starts, *ends))
    return c(ov.FakeQuantize(levels=levels), x, *limits)


def feeds_integers(node: Node) -> bool:
    """Return whether a DequantizeLinear feeds a product that OpenVINO may compute with integers.

    The product has both operands dequantised, or multiplies integers itself. The data may be a few
    operations away, the weights only operations that move elements.
    """
    pending, seen = [*node.outputs], set[Value]()
    while pending and len(seen) < _MOST_READERS:
        value = pending.pop(0)
        for user, position in value.uses:
            if isinstance(user.op, _INTEGER_PRODUCTS):
                return True
            if isinstance(user.op, _PRODUCTS) and position < 2:
                other = user.inputs[1 - position]
                if other is not None and _is_dequantised(other):
                    return True
            pending += [item for item in user.outputs if item not in seen]
            seen.update(user.outputs)
    return False


def _is_dequantised(value: Value) -> bool:
    """Return whether a DequantizeLinear computes `value`, whose elements may have moved since."""
    for _ in range(_DEPTH):
        if isinstance(value.producer.op, _DEQUANTIZING):
            return True
        source = value.producer.inputs[0] if isinstance(value.producer.op, _MOVING) else None
        if source is None:
            return False
        value = source
    return False
