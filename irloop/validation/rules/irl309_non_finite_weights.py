"""IRL309: constant with nan or infinite elements."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from irloop.diagnostics import Diagnostic, Severity
from irloop.graph.types import ElementType
from irloop.validation.context import Context
from irloop.validation.declared import Constant
from irloop.validation.rule import Rule


class NonFiniteWeights(
    Rule,
    code="IRL309",
    severity=Severity.WARNING,
    title="constant with nan or infinite elements",
    requires=("IRL301", "IRL302", "IRL303"),
    legacy=True,
):
    """A floating-point constant holds nan or infinity.

    What it does:
        Looks at the exponents of f16, bf16, f32 and f64 constants in document order and in pieces
        of bounded size, up to 64 MiB per file; larger files are checked only in part. A constant
        that is one infinity is left out: exporters write it on purpose, as a mask, a bound or the
        initial value of a maximum.
    Why is this bad:
        Readers accept it. A nan spreads through everything computed from it; an infinity is
        sometimes intended (as a mask or the initial value of a maximum), so check before changing
        it.
    Bad example:
        a weight that overflowed when the model was compressed to f16
    Good example:
        weights that are finite numbers
    Fix:
        Find out where the value comes from: an overflow at compression, a broken training, or
        bytes of another constant.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per floating-point constant that holds nan or infinity."""
        left = LIMIT
        for constant in context.readable_constants:
            width = _WIDTHS.get(constant.element) if constant.element is not None else None
            if width is None or left <= 0:
                continue
            size = min(constant.needed or 0, left)
            left -= size
            place = context.weights.once(
                ("IRL309", constant.offset, size, width),
                partial(_first_non_finite, context, constant, width, size),
            )
            if place is None:
                continue
            position, data = place
            if constant.needed == len(data) and _is_infinity(data, width):
                continue
            yield self.found(
                constant.place(),
                f"{constant} holds a number that is not finite",
                expected="finite numbers",
                found=f"bytes {data.hex()} at element {position}",
                cause="an overflow at compression, or bytes of another constant",
                fix="check the source of the weights; suppress the finding if the values are "
                "intended",
            )


#: Maximum number of bytes of floating-point constants that are read per file.
LIMIT = 64 << 20
#: For each element type: its size in bytes, and the masks of the exponent bits in its highest and
#: second highest byte.
_WIDTHS = {
    ElementType.F16: (2, 0x7C, 0),
    ElementType.BF16: (2, 0x7F, 0x80),
    ElementType.F32: (4, 0x7F, 0x80),
    ElementType.F64: (8, 0x7F, 0xF0),
}


def _is_infinity(data: bytes, width: tuple[int, int, int]) -> bool:
    step, high_mask, low_mask = width
    magnitude = int.from_bytes(data, "little") & ~(1 << (8 * step - 1))
    return magnitude == (high_mask << 8 | low_mask) << 8 * (step - 2)


#: For each mask of a highest byte, the highest bytes of finite elements. Deleting these is fast,
#: and nothing is left if all elements are finite.
_ORDINARY = {
    mask: bytes(byte for byte in range(256) if byte & mask != mask)
    for _, mask, _ in _WIDTHS.values()
}


def _first_non_finite(
    context: Context, constant: Constant, width: tuple[int, int, int], size: int
) -> tuple[int, bytes] | None:
    """Find the first element that is NaN or infinite; return its index and its bytes.

    Such an element is recognised by its exponent bits, which are all set. Returns None if every
    element is finite.
    """
    step, high_mask, low_mask = width
    ordinary = _ORDINARY[high_mask]
    position = 0
    for chunk in context.weights.chunks(constant.offset or 0, size - size % step):
        highest = chunk[step - 1 :: step]
        if highest.translate(None, ordinary):
            for number, byte in enumerate(highest):
                below = chunk[number * step + step - 2]
                if byte & high_mask == high_mask and below & low_mask == low_mask:
                    return position + number, chunk[number * step : (number + 1) * step]
        position += len(highest)
    return None
