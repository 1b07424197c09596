"""IRL307: constants overlap in part."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class OverlappingConstants(
    Rule,
    code="IRL307",
    severity=Severity.INFO,
    title="constants overlap in part",
    requires=("IRL302", "IRL303"),
    legacy=True,
):
    """Two constants share some of their bytes, but not all.

    What it does:
        Compares the byte ranges. To store equal data once, writers use the same range twice, or
        one range that lies inside another. A partial overlap is suspicious.
    Why is this bad:
        It is harmless for readers. But no writer does it, so an offset or a size was probably
        changed by hand.
    Bad example:
        offset="0" size="16" and offset="8" size="16"
    Good example:
        offset="0" size="16" and offset="16" size="16"
    Fix:
        Check offset and size of both.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per constant that begins inside another one and ends after it."""
        ranges = sorted(
            (item.offset, -item.size, number)
            for number, item in enumerate(context.constants)
            if item.offset is not None and item.size
        )
        end, owner = 0, -1
        for offset, negative_size, number in ranges:
            last = offset - negative_size
            if offset < end < last:
                const, other = context.constants[number], context.constants[owner]
                yield self.found(
                    const.place("offset"),
                    f"{const} shares part of its bytes with {other}",
                    expected=f"bytes from {end} on, or all of the other's bytes",
                    found=f"bytes {offset} to {last}",
                    fix="check offset and size of both",
                )
            if last > end:
                end, owner = last, number
