"""OVN155: divisions of large integers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from irloop.analysis.patterns import number_of
from irloop.analysis.ranges import MOST_ELEMENTS, bounds_of, is_never_negative, may_be_large
from irloop.building.ir_model import IrModel
from irloop.dialects.openvino.comparison import (
    Less,
)
from irloop.dialects.openvino.elementwise import (
    Add,
    Divide,
    FloorMod,
    Minimum,
    Mod,
    Multiply,
    Sign,
    Subtract,
)
from irloop.faults.case import run
from irloop.faults.fault import Effect, Fault
from irloop.graph.builder import element_of
from irloop.graph.model import Model, Node, Value
from irloop.graph.op import Constant
from irloop.graph.types import ElementType

if TYPE_CHECKING:
    from irloop.passes.node_writer import NodeWriter

__all__ = ["DivisionOfLargeIntegers"]

#: For divisors up to this number, what remains of a rounded quotient is below 2^24.
LARGEST_SHORT_DIVISOR = 2**22
#: Without this part of it, a dividend has quotients in f32 that are never too large.
SMALL_PART = 2**20


class DivisionOfLargeIntegers(
    Fault,
    code="OVN155",
    engine="openvino",
    title="Divide, Mod and FloorMod of integers with more than 24 bits",
    effect=Effect.WRONG,
    fix="With q = Divide(a, b), write FloorMod(a - q * b, b) for FloorMod(a, b).",
):
    """Divide, Mod and FloorMod of integers with more than 24 bits.

    What happens:
        The CPU plugin computes the quotient in f32, whose numbers have 24 bits: 875362016 modulo
        6968 is 64 instead of 48. Sums, differences and products are exact up to 32 bits.
    Where:
        Divide, Mod or FloorMod of i32, i64, u32 or u64, unless the operands are known to be sizes,
        positions, small constants or numbers computed from them.
    What irloop does:
        Conversion to IR corrects quotients and remainders of i32 and i64 by exact differences and
        products. Numbers of u32 and u64 are left as they are.
    """

    # Few models divide such numbers, and from IR to ONNX the quotients become exact.
    concerns_conversion = False
    operations = (Divide, FloorMod, Mod)

    def find(self, node: Node) -> Iterator[str]:
        if is_divided_in_f32(node):
            element = element_of(node.output)
            yield f"{node.op.type} {node.name!r} of {element} may need more than 24 bits"

    def is_repaired(self, node: Node) -> bool:
        if not isinstance(node.op, Divide | FloorMod | Mod) or node.op.auto_broadcast != "numpy":
            return False
        return element_of(node.output) in (ElementType.I32, ElementType.I64) and is_divided_in_f32(
            node
        )

    def repair(self, node: Node, w: NodeWriter) -> None:
        """Correct quotients and remainders of large integers.

        Given::

            m = FloorMod(a, Const 1000)

        Result::

            q = Divide(a, Const 1000)    r = Subtract(a, Multiply(q, Const 1000))
            m = FloorMod(r, Const 1000)

        OpenVINO rounds q to 24 bits, but computes sums and products exactly, so r has the right
        remainder, and is small enough to divide. For Divide and Mod, q is the quotient of a -
        Divide(a, Const 2^20), so that r also has the sign of a; FloorMod shares it with them.

        For divisors above 2^22 and divisors that are not constant, r is divided by the divisor
        again. What remains then is smaller than the divisor, as rounding keeps the order of
        numbers; it only needs the right sign. The pass uses signs and minima instead of comparisons
        and Select, which the plugin may compute in f32. Divisors of -2^31 are not supported, nor
        are unsigned integers: from 2^31 on, OpenVINO takes them for negative."""
        left, right = (value for value in node.inputs if value is not None)
        parts = _Parts(w, left, right, element_of(node.output))
        kinds = {Divide: parts.quotient, FloorMod: parts.floor_mod, Mod: parts.truncated}
        w.rewriter.replace_node(node, [kinds[type(node.op)]()])


def is_divided_in_f32(node: Node) -> bool:
    """Return whether `node` is a Divide, FloorMod or Mod of integers whose dividend may need more
    than 24 bits.

    For a FloorMod, the divisor counts, too. The result is False if the model corrects the rounded
    quotient by its remainder. Conversion writes divisions in such a form.
    """
    if not isinstance(node.op, Divide | FloorMod | Mod) or None in node.inputs:
        return False
    left, right = (value for value in node.inputs if value is not None)
    if not element_of(node.output).is_integer or _is_remainder(left, right):
        return False
    if isinstance(node.op, Divide) and _is_corrected(node, left, right):
        return False
    # A small dividend has a quotient of 0 by a large divisor, but FloorMod adds the two.
    return may_be_large(left) or (isinstance(node.op, FloorMod) and may_be_large(right))


def _is_remainder(value: Value, divisor: Value) -> bool:
    """Return whether a value is x - x / divisor * divisor."""
    return _quotient_of(value.producer, divisor) is not None


def _quotient_of(node: Node, divisor: Value) -> Value | None:
    """The quotient q if `node` is x - q * divisor, where q is x / divisor; else None.

    The quotient may also be that of x without a small part, see `_larger_part`.
    """
    if not isinstance(node.op, Subtract) or None in node.inputs:
        return None
    left, taken = (each for each in node.inputs if each is not None)
    product = taken.producer
    if not isinstance(product.op, Multiply):
        return None
    for quotient, other in (product.inputs, product.inputs[::-1]):
        if quotient is None or not isinstance(quotient.producer.op, Divide):
            continue
        dividend, by = quotient.producer.inputs
        divides = dividend is left or _larger_part(dividend) is left
        if divides and _same(by, divisor) and _same(other, divisor):
            return quotient
    return None


def _larger_part(value: Value | None) -> Value | None:
    """The value x if `value` is x - x / 2^20; else None."""
    node = None if value is None else value.producer
    if node is None or not isinstance(node.op, Subtract) or None in node.inputs:
        return None
    left, part = (each for each in node.inputs if each is not None)
    if not isinstance(part.producer.op, Divide) or part.producer.inputs[0] is not left:
        return None
    return left if number_of(part.producer.inputs[1]) == SMALL_PART else None


def _same(left: Value | None, right: Value) -> bool:
    """Return whether both are the same value, or constants with equal elements."""
    if left is None or left is right:
        return left is right
    ops = left.producer.op, right.producer.op
    if not isinstance(ops[0], Constant) or not isinstance(ops[1], Constant):
        return False
    if ops[0].tensor.shape != ops[1].tensor.shape or ops[0].tensor.count > MOST_ELEMENTS:
        return False
    return bool((ops[0].tensor.numpy() == ops[1].tensor.numpy()).all())


def _is_corrected(node: Node, left: Value, right: Value) -> bool:
    """Return whether the model corrects the quotient of `left` and `right` that `node` computes.

    To correct the quotient, the model computes the remainder left - quotient * right. It then
    compares the remainder with 0 and with `right`, or divides the remainder again.
    """
    dividend = _larger_part(left)
    parts = [user.output for user, _ in node.output.uses if isinstance(user.op, Subtract)]
    if any(_larger_part(part) is left for part in parts):
        return True
    left = left if dividend is None else dividend
    for user, _ in node.output.uses:
        for reader, _ in user.output.uses if isinstance(user.op, Multiply) else ():
            is_remainder = reader.inputs[0] is left and _quotient_of(reader, right) is not None
            if is_remainder and _corrects(reader, right):
                return True
    return False


def _corrects(node: Node, divisor: Value) -> bool:
    """Return whether the readers of a remainder correct a rounded quotient with it.

    `node` computes the remainder of a division by `divisor`. The result is True in two cases: Less
    operations compare the remainder with 0 and with `divisor`; or each reader of the remainder is a
    Divide, FloorMod, Mod or Subtract, and at least one of them is not a Subtract.
    """
    readers = [user for user, _ in node.output.uses]
    bounds = [user.inputs[1] for user in readers if isinstance(user.op, Less)]
    if any(_same(bound, divisor) for bound in bounds) and any(number_of(b) == 0 for b in bounds):
        return True
    divides = [user for user in readers if isinstance(user.op, Divide | FloorMod | Mod)]
    return bool(divides) and all(
        isinstance(user.op, Divide | FloorMod | Mod | Subtract) for user in readers
    )


class _Parts:
    """Emits remainders and quotients of two integers."""

    def __init__(self, w: NodeWriter, left: Value, right: Value, element: ElementType) -> None:
        self.emit = w
        self.left, self.right = left, right
        self.zero = w.constant(0, element)
        self.signs: dict[Value, Value] = {}

    def floor_mod(self) -> Value:
        """The remainder with the sign of the divisor."""
        if self._is_short():
            _, rest = self._short() if self._is_shared() else self._reduced(self.left)
            return self.emit(FloorMod(), rest, self.right)
        _, rest = self._divided()
        return self.emit(
            Subtract(), rest, self._times(self._opposite(rest, self.right), self.right)
        )

    def truncated(self) -> Value:
        """The remainder with the sign of the dividend."""
        if self._is_short():
            return self.emit(Mod(), self._short()[1], self.right)
        _, rest = self._divided()
        step = self._times(self.right, self._sign(self.right), self._sign(self.left))
        return self.emit(Subtract(), rest, self._times(self._opposite(rest, self.left), step))

    def quotient(self) -> Value:
        """The quotient, rounded towards zero."""
        if self._is_short():
            quotient, rest = self._short()
            missing = self.emit(Divide(m_pythondiv=False), rest, self.right)
            return self.emit(Add(), quotient, missing)
        quotient, rest = self._divided()
        opposite = self._opposite(rest, self.left)
        step = self._times(opposite, self._sign(self.left), self._sign(self.right))
        return self.emit(Add(), quotient, step)

    def _is_short(self) -> bool:
        """Return whether the divisor is small."""
        return bounds_of(self.right).magnitude <= LARGEST_SHORT_DIVISOR

    def _is_shared(self) -> bool:
        """Return whether a Divide or Mod of the same operands has or will have `_short` parts."""
        return self._shorter() is not None or any(
            isinstance(user.op, Divide | Mod)
            and user.inputs[0] is self.left
            and _same(user.inputs[1], self.right)
            and is_divided_in_f32(user)
            for user, _ in self.left.uses
        )

    def _short(self) -> tuple[Value, Value]:
        """A quotient by a small constant that is never too large, and what remains.

        Without a small part of it, the quotient of the dividend is still too small when it is
        rounded up. What remains has the sign of the dividend, and is divided exactly.
        """
        found = self._shorter()
        if found is not None:
            return found
        scale = self.emit.constant(SMALL_PART, element_of(self.left))
        part = self.emit(Divide(m_pythondiv=False), self.left, scale)
        return self._reduced(self.left, self.emit(Subtract(), self.left, part))

    def _shorter(self) -> tuple[Value, Value] | None:
        """The parts that `_short` emitted for another division of the same operands."""
        for user, _ in self.left.uses:
            quotient = _quotient_of(user, self.right)
            if quotient is not None and _larger_part(quotient.producer.inputs[0]) is self.left:
                return quotient, user.output
        return None

    def _divided(self) -> tuple[Value, Value]:
        """The quotient, or one that is nearer to infinity, and what remains.

        The remainder is smaller than the divisor, and may have the wrong sign.
        """
        first, rest = self._reduced(self.left)
        second, rest = self._reduced(rest)
        return self.emit(Add(), first, second), rest

    def _reduced(self, value: Value, divided: Value | None = None) -> tuple[Value, Value]:
        """Emit the quotient `divided` / divisor, and `value` - quotient * divisor.

        OpenVINO divides in f32, which may round the quotient. The remainder is then off by
        a multiple of the divisor. If `divided` is omitted, it is `value`.
        """
        dividend = value if divided is None else divided
        quotient = self.emit(Divide(m_pythondiv=False), dividend, self.right)
        product = self.emit(Multiply(), quotient, self.right)
        return quotient, self.emit(Subtract(), value, product)

    def _opposite(self, rest: Value, other: Value) -> Value:
        """Emit -1 where the signs of both are opposite, else 0."""
        signs = self._times(self.emit(Sign(), rest), self._sign(other))
        return self.emit(Minimum(), signs, self.zero)

    def _sign(self, value: Value) -> Value | None:
        """Emit the sign of a value; None if it is known to be positive, or may also be 0."""
        if is_never_negative(value):
            return None
        if value not in self.signs:
            self.signs[value] = self.emit(Sign(), value)
        return self.signs[value]

    def _times(self, first: Value, *others: Value | None) -> Value:
        for other in others:
            first = first if other is None else self.emit(Multiply(), first, other)
        return first


@DivisionOfLargeIntegers.case(
    "division_of_large_integers",
    "IR: rare forms",
    "OpenVINO FloorMod-1",
    "The remainder of a division of integers; Mod has the sign of x, FloorMod that of y.",
    run([[7, -7], [3, 3]], [[1, 2], [1, -1], [2, -2]]),
    # 875362016 = 125626 * 6968 + 48
    run(
        [[875362016, -875362016], [6968, 6968]],
        [[48, 6920], [48, -48], [125626, -125626]],
    ),
)
def smallest() -> Model:
    m = IrModel()
    x, y = m.input("x", None, element=ElementType.I32), m.input("y", None, element=ElementType.I32)
    return m.done(m(FloorMod(), x, y), m(Mod(), x, y), m(Divide(m_pythondiv=False), x, y))
