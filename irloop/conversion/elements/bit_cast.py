"""Converts ONNX's BitCast by arithmetic, as OpenVINO cannot reinterpret the bits of a number.

Signed and unsigned integers of one width differ by 2^n if the sign bit is set. The bits of an f32
are its sign, its exponent (found by comparisons with powers of two) and its fraction; every step is
exact. A subnormal number counts as 0, as in engines that flush it, and every NaN has the same bits.
"""

from __future__ import annotations

import math

from irloop.conversion.elements.activation import integer_range
from irloop.conversion.elements.bits import DIGIT, digits_of
from irloop.conversion.framework.directions import Import
from irloop.conversion.framework.translation import imports
from irloop.dialects.onnx.convert import BitCast
from irloop.dialects.openvino.comparison import LogicalOr
from irloop.dialects.openvino.elementwise import Abs
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.types import ElementType

__all__: list[str] = []

F32, I32 = ElementType.F32, ElementType.I32

#: The number of bits of the fraction of an f32.
FRACTION = 23
#: The bias of the exponent of an f32.
BIAS = 127

#: The bits of the NaN that engines produce.
NAN = 0x7FC00000

NARROW = frozenset({ElementType.I8, ElementType.U8, ElementType.I16, ElementType.U16})


@imports(BitCast)
def import_bit_cast(c: Import, op: BitCast, x: Value) -> Value:
    """Write BitCast as arithmetic that computes the same bits in another type of the same width."""
    element = element_of(x)
    if element is op.to:
        return x
    if element is ElementType.BOOLEAN and op.to in NARROW:
        return c.convert_always(x, op.to)
    if element in NARROW and op.to in NARROW:
        return _other_sign(c, x, op.to)
    if element is F32 and op.to is I32:
        return _bits_of_float(c, x)
    if element is I32 and op.to is F32:
        return _float_of_bits(c, x)
    raise c.refuse(f"OpenVINO cannot read the bits of {element} as {op.to}")


def _other_sign(c: Import, x: Value, target: ElementType) -> Value:
    """Reinterpret signed integers as unsigned integers of the same width, or the reverse.

    The bits of each number stay the same: the i8 number -1 becomes the u8 number 255.
    """
    wide, size = c.convert_always(x, I32), 2**target.bits
    low, high = integer_range(target)
    under = c.less(wide, c.constant(low, I32))
    over = c.less(c.constant(high, I32), wide)
    raised = c.add(wide, c.constant(size, I32))
    lowered = c.subtract(wide, c.constant(size, I32))
    turned = c.select(under, raised, c.select(over, lowered, wide))
    return c.convert_always(turned, target)


def _bits_of_float(c: Import, x: Value) -> Value:
    zero, one = c.constant(0.0, F32), c.constant(1.0, F32)
    size = c(Abs(), x)
    infinite = c.equal(size, c.constant(math.inf, F32))
    none = c.less(size, c.constant(2.0**-126, F32))
    # From here on all elements are normal numbers, because others were replaced by placeholders.
    rest = c.select(c(LogicalOr(), infinite, none), one, size)
    exponent = c.constant(BIAS, I32)
    for step in (64, 32, 16, 8, 4, 2, 1):
        high, low = c.constant(2.0**step, F32), c.constant(2.0 ** (1 - step), F32)
        grows = c.logical_not(c.less(rest, high))
        shrinks = c.less(rest, low)
        smaller = c.multiply(rest, c.constant(2.0**-step, F32))
        larger = c.multiply(rest, high)
        rest = c.select(grows, smaller, c.select(shrinks, larger, rest))
        up = c.add(exponent, c.constant(step, I32))
        down = c.subtract(exponent, c.constant(step, I32))
        exponent = c.select(grows, up, c.select(shrinks, down, exponent))
    scaled = c.multiply(c.subtract(rest, one), c.constant(2.0**FRACTION, F32))
    fraction = c.convert_always(scaled, I32)
    bits = c.add(c.multiply(exponent, c.constant(2**FRACTION, I32)), fraction)
    bits = c.select(none, c.constant(0, I32), bits)
    bits = c.select(infinite, c.constant(255 * 2**FRACTION, I32), bits)
    is_number = c.equal(x, x)
    bits = c.select(is_number, bits, c.constant(NAN, I32))
    # Only a division reveals the sign of a zero.
    below = c.less(c.select(none, c.divide(one, x), x), zero)
    return c.select(below, c.add(bits, c.constant(-(2**31), I32)), bits)


def _float_of_bits(c: Import, x: Value) -> Value:
    """Reinterpret the bits of integers as f32 with arithmetic only.

    A number is (1 + fraction) times a power of two from a table, or an infinity or NaN. Subnormal
    numbers become 0.
    """
    low, high = digits_of(c, x)
    negative = c.less(c.constant(DIGIT // 2 - 1, I32), high)
    size = c.select(negative, c.subtract(high, c.constant(DIGIT // 2, I32)), high)
    # An engine may divide integers in f32 and truncate. That is exact here, because `size` is below
    # 2^15.
    exponent = c.divide(size, c.constant(2 ** (FRACTION - 16), I32))
    whole = c.multiply(exponent, c.constant(2 ** (FRACTION - 16), I32))
    upper = c.convert_always(c.subtract(size, whole), F32)
    tail = c.multiply(c.convert_always(low, F32), c.constant(2.0**-FRACTION, F32))
    head = c.multiply(upper, c.constant(2.0 ** (16 - FRACTION), F32))
    fraction = c.add(head, tail)
    powers = [0.0, *(2.0 ** (number - BIAS) for number in range(1, 255)), math.inf]
    table = c.constant(powers, F32)
    power = c.gather(table, c.as_i64(exponent), 0)
    number = c.multiply(power, c.add(fraction, c.constant(1.0, F32)))
    special = c.equal(exponent, c.constant(255, I32))
    some = c.less(c.constant(0.0, F32), fraction)
    of_ends = c.select(some, c.constant(math.nan, F32), c.constant(math.inf, F32))
    number = c.select(special, of_ends, number)
    minus = c.multiply(number, c.constant(-1.0, F32))
    return c.select(negative, minus, number)
