"""Converts bitwise operations, and tests for NaN and infinity.

Before OpenVINO's opset13 and ONNX's opset18 there are no operations on the bits of integers: the
integers are split into bits, combined as booleans, and assembled again.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from irloop.conversion.elements.activation import integer_range
from irloop.conversion.elements.elementwise import operands, wrapping
from irloop.conversion.framework.directions import Export, Import
from irloop.conversion.framework.translation import exports, imports
from irloop.dialects.onnx import comparison as onnx
from irloop.dialects.onnx import elementwise as onnx_math
from irloop.dialects.openvino import comparison as ov
from irloop.dialects.openvino import elementwise as ov_math
from irloop.graph.builder import element_of
from irloop.graph.model import Value
from irloop.graph.op import Op
from irloop.graph.types import ElementType

#: The number of bits in a digit, into which integers are split in both formats.
DIGIT_BITS = 16

#: The base of the digits.
DIGIT = 2**DIGIT_BITS


def is_signed(element: ElementType) -> bool:
    """Return whether an element type is a signed integer type, such as i8 or i64."""
    return element.value.startswith("i")


# OpenVINO -> ONNX


def _export_bitwise(direct: type[Op], logical: type[Op]) -> Callable[..., Value]:
    def rule(c: Export, op: ov.Bitwise, left: Value, right: Value) -> Value:
        left, right = operands(c, op, left, right)
        if element_of(left) is ElementType.BOOLEAN:
            return c(logical(), left, right)
        if c.opset >= 18:
            return c(direct(), left, right)
        element = element_of(left)
        count = max(1, element.bits // DIGIT_BITS)
        signed = is_signed(element) or element is ElementType.U32
        return c.computed_in(
            _wider_type(element),
            lambda a, b: _by_digits(c, logical, count, signed, a, b),
            left,
            right,
        )

    return rule


def _wider_type(element: ElementType) -> ElementType:
    """Return the integer type in which to combine values of type `element` bit by bit.

    It is i32 for types of up to 32 bits, and `element` itself for 64 bits. For u32, i32 is enough
    because a Cast from u32 keeps all bits. i64 would not work if the result is converted back to
    OpenVINO, which computes i64 in i32.
    """
    return element if element.bits == 64 else ElementType.I32


def _by_digits(
    c: Export, logical: type[Op], count: int, signed: bool, left: Value, right: Value
) -> Value:
    """Combine two integers bit by bit with `logical`, after splitting them into 16-bit digits.

    Each integer has `count` digits. If `signed`, the highest digit contains the sign bit. The
    operands are split because the result is computed as the sum of its bits, and such sums are not
    exact for long numbers: ONNX Runtime sums i64 exactly only up to 32 bits. OpenVINO, to which the
    result may be converted, sums, divides and takes remainders of integers exactly only up to 24
    bits.
    """
    element = element_of(left)
    base, zero = c.constant(DIGIT, element), c.constant(0, element)
    digits = [_exported_digits(c, value, count, signed) for value in (left, right)]
    total: Value | None = None
    for pair in reversed(list(zip(*digits, strict=True))):
        digit = _combined(c, logical, *pair)
        if total is not None:
            total = c.add(c.multiply(total, base), digit)
        elif signed:
            # The most significant digit contains the sign bit.
            negative = c.less(c.constant(DIGIT // 2 - 1, element), digit)
            total = c.subtract(digit, c.select(negative, base, zero))
        else:
            total = digit
    assert total is not None, "an integer has at least one digit"
    return total


def _exported_digits(c: Export, value: Value, count: int, signed: bool) -> list[Value]:
    """Split an integer into digits of 16 bits, the lowest first, as numbers of 0..65535."""
    element = element_of(value)
    base, zero = c.constant(DIGIT, element), c.constant(0, element)
    digits, rest = [], value
    for _ in range(count - 1):
        higher = c.floor_divide(rest, base)
        digits.append(c.subtract(rest, c.multiply(higher, base)))
        rest = higher
    if signed:
        negative = c.less(rest, zero)
        rest = c.add(rest, c.select(negative, base, zero))
    return [*digits, rest]


def _combined(c: Export, logical: type[Op], left: Value, right: Value) -> Value:
    """Combine integers of 16 bits bit by bit with the logical operation `logical`."""
    element = element_of(left)
    values = c.constant([2**bit for bit in range(DIGIT_BITS)], element)
    parts = c(logical(), _bits(c, left, values), _bits(c, right, values))
    numbers = c.multiply(c.convert(parts, element), values)
    return c.reduce("Sum", numbers, [-1], keep=False)


def _bits(c: Export, value: Value, values: Value) -> Value:
    """The bits of each element along a new last axis, as booleans.

    `values` holds the value of each bit, a power of two.
    """
    column = c.unsqueeze(value, [-1])
    halves = c.floor_divide(column, values)
    odd = c(onnx_math.Mod(), halves, c.constant(2, element_of(value)))
    return c.convert(odd, ElementType.BOOLEAN)


exports(ov.BitwiseAnd)(_export_bitwise(onnx.BitwiseAnd, onnx.And))
exports(ov.BitwiseOr)(_export_bitwise(onnx.BitwiseOr, onnx.Or))
exports(ov.BitwiseXor)(_export_bitwise(onnx.BitwiseXor, onnx.Xor))


@exports(ov.BitwiseNot)
def export_bitwise_not(c: Export, op: ov.BitwiseNot, x: Value) -> Value:
    """Write BitwiseNot, or before opset 18 a subtraction.

    The subtraction is -1 - x for signed types and the largest number minus x for unsigned types.
    Booleans become a Not.
    """
    element = element_of(x)
    if element is ElementType.BOOLEAN:
        return c.logical_not(x)
    if c.opset >= 18:
        return c(onnx.BitwiseNot(), x)
    if element is ElementType.U32:
        opposite = c.subtract(c.constant(-1, ElementType.I32), c.convert(x, ElementType.I32))
        return c.convert(opposite, element)
    all_ones = -1 if is_signed(element) else integer_range(element)[1]
    return c.subtract(c.constant(all_ones, element), x)


@exports(ov.BitwiseLeftShift)
def export_left_shift(c: Export, op: ov.BitwiseLeftShift, left: Value, right: Value) -> Value:
    """Write BitwiseLeftShift as BitShift, or before opset 28 x * 2^n for signed types."""
    left, right = operands(c, op, left, right)
    element = element_of(left)
    if not is_signed(element) or c.opset >= 28:
        return c(onnx.BitShift("LEFT"), left, right)
    chosen = ElementType.I32 if element.bits < 32 else element
    return c.computed_in(chosen, lambda a, b: c.multiply(a, _power_of_two(c, b)), left, right)


@exports(ov.BitwiseRightShift)
def export_right_shift(c: Export, op: ov.BitwiseRightShift, left: Value, right: Value) -> Value:
    """Write BitwiseRightShift as BitShift, or before opset 28 floor(x / 2^n) for signed types."""
    left, right = operands(c, op, left, right)
    element = element_of(left)
    if not is_signed(element) or c.opset >= 28:
        return c(onnx.BitShift("RIGHT"), left, right)
    chosen = ElementType.I32 if element.bits < 32 else element
    return c.computed_in(chosen, lambda a, b: c.floor_divide(a, _power_of_two(c, b)), left, right)


def _power_of_two(c: Export, amount: Value) -> Value:
    table = c.constant([2**bit for bit in range(element_of(amount).bits - 1)], element_of(amount))
    return c.gather(table, c.as_i64(amount), 0)


@exports(ov.IsNaN)
def export_is_nan(c: Export, op: ov.IsNaN, x: Value) -> Value:
    return c(onnx.IsNaN(), _testable(c, x, 9))


@exports(ov.IsInf)
def export_is_inf(c: Export, op: ov.IsInf, x: Value) -> Value:
    return c(onnx.IsInf(op.detect_negative, op.detect_positive), _testable(c, x, 20))


@exports(ov.IsFinite)
def export_is_finite(c: Export, op: ov.IsFinite, x: Value) -> Value:
    wide = _testable(c, x, 20)
    return c.less(c(onnx_math.Abs(), wide), c.scalar(math.inf, wide))


def _testable(c: Export, x: Value, f16: int) -> Value:
    """Convert `x` to f32 if the tests for NaN and infinity do not support its type in this opset.

    These are types of 16 bits or fewer. Values of type f16 are converted only in opsets older than
    the opset number `f16`.
    """
    element = element_of(x)
    if element.bits > 16 or (element is ElementType.F16 and c.opset >= f16):
        return x
    return c.convert(x, ElementType.F32)


# ONNX -> OpenVINO


def _import_bitwise(direct: type[Op], logical: type[Op]) -> Callable[..., Value]:
    def rule(c: Import, op: Op, left: Value, right: Value) -> Value:
        if c.opset >= 13:
            return c(direct(), left, right)
        return _by_openvino_bits(c, logical, left, right)

    return rule


def _by_openvino_bits(c: Import, logical: type[Op], left: Value, right: Value) -> Value:
    """Apply a logical operation to the bits of two integers.

    The integers are split into groups of 16 bits by divisions. OpenVINO's CPU plugin divides in
    f32, which is exact for 16 bits. It treats u32 numbers of 2^31 or more as negative, so the bits
    of u32 are combined in i32.
    """
    original = element_of(left)
    element = ElementType.I32 if original.bits <= 32 else original
    wide = [c.convert(value, element) for value in (left, right)]
    digits = [digits_of(c, value) for value in wide]
    total: Value | None = None
    for pair in reversed(list(zip(*digits, strict=True))):
        digit = _joined_digits(c, logical, *pair)
        if total is None:
            # This is the most significant digit, which contains the sign bit.
            total = _signed_digit(c, digit) if is_signed(element) else digit
            continue
        shifted = c.multiply(total, c.constant(DIGIT, element))
        total = c.add(shifted, digit)
    assert total is not None, "an integer has at least one digit"
    return c.convert(total, original)


def digits_of(c: Import, value: Value) -> list[Value]:
    """Split an integer into groups of 16 bits, the lowest first, as numbers of 0..65535."""
    base, zero = c.scalar(DIGIT, value), c.scalar(0, value)
    digits, rest = [], value
    for _ in range(element_of(value).bits // 16 - 1):
        # The f32 quotient is off by at most one; the exact remainder corrects it.
        quotient = c.divide(rest, base)
        low = c.subtract(rest, c.multiply(quotient, base))
        under = c.less(low, zero)
        over = c.logical_not(c.less(low, base))
        if is_signed(element_of(value)):
            less = c.subtract(quotient, c.scalar(1, value))
            added = c.add(low, base)
        else:
            less, added = quotient, low
        more = c.add(quotient, c.scalar(1, value))
        rest = c.select(under, less, c.select(over, more, quotient))
        taken = c.subtract(low, base)
        digits.append(c.select(under, added, c.select(over, taken, low)))
    if is_signed(element_of(value)):
        negative = c.less(rest, zero)
        rest = c.select(negative, c.add(rest, base), rest)
    return [*digits, rest]


def _joined_digits(c: Import, logical: type[Op], left: Value, right: Value) -> Value:
    values = c.constant([2**bit for bit in range(16)], element_of(left))
    parts = c(logical(), _openvino_bits(c, left, values), _openvino_bits(c, right, values))
    numbers = c.multiply(c.convert(parts, element_of(left)), values)
    return c.reduce("Sum", numbers, [-1], keep=False)


def _signed_digit(c: Import, digit: Value) -> Value:
    """Convert an unsigned 16-bit digit to a signed number: 65535 becomes -1."""
    negative = c.less(c.constant(DIGIT // 2 - 1, element_of(digit)), digit)
    less = c.subtract(digit, c.scalar(DIGIT, digit))
    return c.select(negative, less, digit)


def _openvino_bits(c: Import, value: Value, values: Value) -> Value:
    """Emit the bits of each element as booleans along a new last axis.

    `values` holds the powers of two that belong to the bits: bit i of x is floor(x / 2^i) modulo 2.
    """
    column = c.unsqueeze(value, [-1])
    halves = floor_divided(c, column, values)
    odd = c(ov_math.FloorMod(), halves, c.constant(2, element_of(value)))
    return c.convert(odd, ElementType.BOOLEAN)


def floor_divided(c: Import, left: Value, right: Value) -> Value:
    """The quotient of two integers, rounded down; `right` must be positive.

    The remainder is subtracted before the division, so that the division is exact. A Divide with
    the attribute m_pythondiv would also round down, but the CPU plugin ignores this attribute.
    """
    rest = c(ov_math.FloorMod(), left, right)
    return c.divide(c.subtract(left, rest), right)


imports(onnx.BitwiseAnd)(_import_bitwise(ov.BitwiseAnd, ov.LogicalAnd))
imports(onnx.BitwiseOr)(_import_bitwise(ov.BitwiseOr, ov.LogicalOr))
imports(onnx.BitwiseXor)(_import_bitwise(ov.BitwiseXor, ov.LogicalXor))


@imports(onnx.BitwiseNot)
def import_bitwise_not(c: Import, op: onnx.BitwiseNot, x: Value) -> Value:
    if c.opset >= 13:
        return c(ov.BitwiseNot(), x)
    element = element_of(x)
    if element is ElementType.U32:
        # OpenVINO's CPU plugin limits constants of u32 to 2^31 - 1.
        signed = c.convert(x, ElementType.I32)
        opposite = c.subtract(c.constant(-1, ElementType.I32), signed)
        return c.convert(opposite, element)
    all_ones = -1 if is_signed(element) else integer_range(element)[1]
    return c.subtract(c.constant(all_ones, element), x)


@imports(onnx.BitShift)
def import_bit_shift(c: Import, op: onnx.BitShift, x: Value, amount: Value) -> Value:
    """Write BitShift as a product x * 2^n or a quotient x / 2^n, where n is `amount`.

    If n is at least the width of the type, a left shift returns 0, and a right shift 0 or -1.
    OpenVINO's CPU plugin treats u32 numbers of 2^31 or more as negative. So u32 is converted to
    i32, shifted there, and converted back.
    """
    element = element_of(x)
    if element is not ElementType.U32:
        return _shifted(c, op, x, amount)
    signed, count = (c.convert(value, ElementType.I32) for value in (x, amount))
    shifted = _shifted(c, op, signed, count)
    if not op.is_left:
        shifted = c.add(shifted, _shifted_sign(c, signed, count))
    return c.convert(shifted, element)


def _shifted_sign(c: Import, x: Value, amount: Value) -> Value:
    """Return the number to add to an i32 right shift to get the result of a u32 right shift.

    For a negative `x`, an i32 shift fills in ones from the left, where a u32 shift fills in zeros.
    Adding 2^(32 - amount) removes the ones; for an `amount` of 0, nothing is added. If `amount` is
    at least 32, the i32 shift gives -1, so 1 is added. For other `x` the number is 0.
    """
    zero = c.scalar(0, x)
    outside = c(ov.LogicalOr(), *_outside(c, amount))
    table = c.constant([0, -(2**31), *(2**bit for bit in range(30, 0, -1))], ElementType.I32)
    safe = c.select(outside, zero, amount)
    ones = c.gather(table, c.as_i64(safe), 0)
    # A shift by at least 32 bits leaves -1, which becomes 0.
    ones = c.select(outside, c.scalar(1, x), ones)
    return c.select(c.less(x, zero), ones, zero)


def _outside(c: Import, amount: Value) -> tuple[Value, Value]:
    """Emit two conditions for shift amounts that need a special result.

    They are true where `amount` is negative, and where it is at least the width of the type.
    """
    low = c.less(amount, c.scalar(0, amount))
    element = element_of(amount)
    return low, c.greater(amount, c.constant(element.bits - 1, element))


def _shifted(c: Import, op: onnx.BitShift, x: Value, amount: Value) -> Value:
    element = element_of(x)
    widest = element.bits - 1
    outside = c(ov.LogicalOr(), *_outside(c, amount))
    # Look 2^n up in a table, because a power computed in floating point loses the last bit.
    lowest, highest = integer_range(element)
    powers = [2**bit for bit in range(element.bits)]
    table = c.constant([lowest if power > highest else power for power in powers], element)
    safe = c.select(outside, c.scalar(0, amount), amount)
    factor = c.gather(table, c.as_i64(safe), 0)
    zero = c.scalar(0, x)
    if op.is_left:
        product = wrapping(c, Import.multiply, x, factor)
        return c.select(outside, zero, product)
    sign = zero
    if is_signed(element):
        negative = c.less(x, zero)
        sign = c.select(negative, c.scalar(-1, x), zero)
        # A shift by bits - 1 also leaves only the sign. It is not computed as a division, because
        # 2^(bits - 1) is negative in a signed type.
        top = c.greater(amount, c.constant(widest - 1, element))
        outside = c(ov.LogicalOr(), outside, top)
        factor = c.select(outside, c.scalar(1, x), factor)
    return c.select(outside, sign, floor_divided(c, x, factor))


@imports(onnx.IsNaN)
def import_is_nan(c: Import, op: onnx.IsNaN, x: Value) -> Value:
    """Write IsNaN, or before opset10 a NotEqual that compares the operand with itself."""
    if c.opset >= 10:
        return c(ov.IsNaN(), x)
    return c(ov.NotEqual(), x, x)


@imports(onnx.IsInf)
def import_is_inf(c: Import, op: onnx.IsInf, x: Value) -> Value:
    if c.opset >= 10:
        return c(ov.IsInf(op.detect_negative, op.detect_positive), x)
    if op.detect_negative and op.detect_positive:
        return c.equal(c(ov_math.Abs(), x), c.scalar(math.inf, x))
    if op.detect_positive:
        return c.equal(x, c.scalar(math.inf, x))
    if op.detect_negative:
        return c.equal(x, c.scalar(-math.inf, x))
    # Neither infinity is detected: return false for each element (x < x).
    return c.less(x, x)
