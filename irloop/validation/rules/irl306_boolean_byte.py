"""IRL306: boolean constant with bytes other than 0 and 1."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.graph.types import ElementType
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class BooleanByte(
    Rule,
    code="IRL306",
    severity=Severity.WARNING,
    title="boolean constant with bytes other than 0 and 1",
    requires=("IRL301", "IRL302", "IRL303"),
    legacy=True,
):
    """A boolean constant holds a byte that is neither 0 nor 1.

    What it does:
        Reads up to 64 MiB of boolean constants per file, in pieces of bounded size.
    Why is this bad:
        OpenVINO 2026.4 keeps the number: a byte 2 becomes 2.0 after a Convert. Other engines read
        it as true.
    Bad example:
        a boolean constant stored as the byte 0x02
    Good example:
        a boolean constant stored as the byte 0x01
    Fix:
        Write 0 or 1; check whether element_type or offset belong to another constant.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per boolean constant that holds a byte other than 0 and 1."""
        left = LIMIT
        for constant in context.readable_constants:
            count = constant.needed or 0
            if constant.element is not ElementType.BOOLEAN or count > left:
                continue
            left -= count
            position = 0
            for chunk in context.weights.chunks(constant.offset or 0, count):
                rest = chunk.translate(None, b"\0\1")
                if not rest:
                    position += len(chunk)
                    continue
                place = position + chunk.index(rest[:1])
                yield self.found(
                    constant.place(),
                    f"{constant} holds a byte that is not boolean",
                    expected="0 or 1",
                    found=f"0x{rest[0]:02x} at element {place}",
                    cause="element_type or offset of another constant",
                    fix="write 0 or 1",
                )
                break


#: Maximum number of bytes of boolean constants that are read per file.
LIMIT = 64 << 20
