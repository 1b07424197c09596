"""IRL304: constant has more bytes than elements."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class ConstantTooLarge(
    Rule, code="IRL304", severity=Severity.WARNING, title="constant has more bytes than elements"
):
    """The `size` of a constant is larger than its shape and element type need.

    What it does:
        Compares `size` with the number of elements times the bits per element, rounded up to bytes.
        OpenVINO itself writes one byte for a constant without elements.
    Why is this bad:
        OpenVINO 2026.4 silently ignores the rest. The file works, but perhaps someone changed the
        shape or element type and not the data.
    Bad example:
        <data element_type="f16" shape="4" offset="0" size="16"/>
    Good example:
        <data element_type="f16" shape="4" offset="0" size="8"/>
    Fix:
        Correct shape, element type or size.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per constant that has more bytes than its elements need."""
        for const in context.constants:
            needed = const.needed
            if needed is None or const.size is None:
                continue
            # OpenVINO writes a byte for a constant without elements.
            if const.size <= max(needed, 1):
                continue
            yield self.found(
                const.place("size"),
                f"{const} has more bytes than its shape needs",
                expected=f"{needed} bytes for {const.element}{list(const.shape or ())}",
                found=f"{const.size} bytes",
                fix="correct shape, element_type or size",
            )
