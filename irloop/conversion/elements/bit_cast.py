"""Converts ONNX's BitCast by arithmetic, as OpenVINO cannot reinterpret the bits of a number.

Signed and unsigned integers of one width differ by 2^n if the sign bit is set. The bits of an f32
are its sign, its exponent (found by comparisons with powers of two) and its fraction; every step is
exact. A subnormal number counts as 0, as in engines that flush it, and every NaN has the same bits.
"""

from __future__ import annotations

import math

from irloop.conversion.elements.activation import integer_range
from irloop.conversion.elements.bits import DIGIT, digits_of
from irloop.conversion.forms import openvino_forms as forms
from irloop.conversion.framework.translation import Conversion, imports
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
def import_bit_cast(c: Conversion, op: BitCast, x: Value) -> Value:
    """Write BitCast as arithmetic that computes the same bits in another type of the same width."""
    element = element_of(x)
    if element is op.to:
        return x
    if element is ElementType.BOOLEAN and op.to in NARROW:
        return forms.convert_always(c, x, op.to)
    if element in NARROW and op.to in NARROW:
        return _other_sign(c, x, op.to)
    if element is F32 and op.to is I32:
        return _bits_of_float(c, x)
    if element is I32 and op.to is F32:
        return _float_of_bits(c, x)
    raise c.refuse(f"OpenVINO cannot read the bits of {element} as {op.to}")


def _other_sign(c: Conversion, x: Value, target: ElementType) -> Value:
    """Reinterpret signed integers as unsigned integers of the same width, or the reverse.

    The bits of each number stay the same: the i8 number -1 becomes the u8 number 255.
    """
    wide, size = forms.convert_always(c, x, I32), 2**target.bits
    low, high = integer_range(target)
    under = forms.less(c, wide, c.constant(low, I32))
    over = forms.less(c, c.constant(high, I32), wide)
    raised = forms.add(c, wide, c.constant(size, I32))
    lowered = forms.subtract(c, wide, c.constant(size, I32))
    turned = forms.select(c, under, raised, forms.select(c, over, lowered, wide))
    return forms.convert_always(c, turned, target)


def _bits_of_float(c: Conversion, x: Value) -> Value:
    zero, one = c.constant(0.0, F32), c.constant(1.0, F32)
    size = c(Abs(), x)
    infinite = forms.equal(c, size, c.constant(math.inf, F32))
    none = forms.less(c, size, c.constant(2.0**-126, F32))
    # From here on all elements are normal numbers, because others were replaced by placeholders.
    rest = forms.select(c, c(LogicalOr(), infinite, none), one, size)
    exponent = c.constant(BIAS, I32)
    for step in (64, 32, 16, 8, 4, 2, 1):
        high, low = c.constant(2.0**step, F32), c.constant(2.0 ** (1 - step), F32)
        grows = forms.logical_not(c, forms.less(c, rest, high))
        shrinks = forms.less(c, rest, low)
        smaller = forms.multiply(c, rest, c.constant(2.0**-step, F32))
        larger = forms.multiply(c, rest, high)
        rest = forms.select(c, grows, smaller, forms.select(c, shrinks, larger, rest))
        up = forms.add(c, exponent, c.constant(step, I32))
        down = forms.subtract(c, exponent, c.constant(step, I32))
        exponent = forms.select(c, grows, up, forms.select(c, shrinks, down, exponent))
    scaled = forms.multiply(c, forms.subtract(c, rest, one), c.constant(2.0**FRACTION, F32))
    fraction = forms.convert_always(c, scaled, I32)
    bits = forms.add(c, forms.multiply(c, exponent, c.constant(2**FRACTION, I32)), fraction)
    bits = forms.select(c, none, c.constant(0, I32), bits)
    bits = forms.select(c, infinite, c.constant(255 * 2**FRACTION, I32), bits)
    is_number = forms.equal(c, x, x)
    bits = forms.select(c, is_number, bits, c.constant(NAN, I32))
    # Only a division reveals the sign of a zero.
    below = forms.less(c, forms.select(c, none, forms.divide(c, one, x), x), zero)
    return forms.select(c, below, forms.add(c, bits, c.constant(-(2**31), I32)), bits)


def _float_of_bits(c: Conversion, x: Value) -> Value:
    """Reinterpret the bits of integers as f32 with arithmetic only.

    A number is (1 + fraction) times a power of two from a table, or an infinity or NaN. Subnormal
    numbers become 0.
    """
    low, high = digits_of(c, x)
    negative = forms.less(c, c.constant(DIGIT // 2 - 1, I32), high)
    size = forms.select(c, negative, forms.subtract(c, high, c.constant(DIGIT // 2, I32)), high)
    # An engine may divide integers in f32 and truncate. That is exact here, because `size` is below
    # 2^15.
    exponent = forms.divide(c, size, c.constant(2 ** (FRACTION - 16), I32))
    whole = forms.multiply(c, exponent, c.constant(2 ** (FRACTION - 16), I32))
    upper = forms.convert_always(c, forms.subtract(c, size, whole), F32)
    tail = forms.multiply(c, forms.convert_always(c, low, F32), c.constant(2.0**-FRACTION, F32))
    head = forms.multiply(c, upper, c.constant(2.0 ** (16 - FRACTION), F32))
    fraction = forms.add(c, head, tail)
    powers = [0.0, *(2.0 ** (number - BIAS) for number in range(1, 255)), math.inf]
    table = c.constant(powers, F32)
    power = forms.gather(c, table, forms.as_i64(c, exponent), 0)
    number = forms.multiply(c, power, forms.add(c, fraction, c.constant(1.0, F32)))
    special = forms.equal(c, exponent, c.constant(255, I32))
    some = forms.less(c, c.constant(0.0, F32), fraction)
    of_ends = forms.select(c, some, c.constant(math.nan, F32), c.constant(math.inf, F32))
    number = forms.select(c, special, of_ends, number)
    minus = forms.multiply(c, number, c.constant(-1.0, F32))
    return forms.select(c, negative, minus, number)
