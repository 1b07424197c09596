"""IRL303: constant has fewer bytes than elements."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_data, describe
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class ConstantTooSmall(
    Rule, code="IRL303", severity=Severity.ERROR, title="constant has fewer bytes than elements"
):
    """The `size` of a constant is smaller than its shape and element type need.

    What it does:
        Compares `size` with the number of elements times the bits of one, rounded up to bytes.
    Why is this bad:
        OpenVINO 2026.4 refuses the file ("Attribute and shape size are inconsistent for Const").
    Bad example:
        <data element_type="f32" shape="4" offset="0" size="8"/>
    Good example:
        <data element_type="f32" shape="4" offset="0" size="16"/>
    Fix:
        Correct shape, element type or size; they were written together.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding a constant."""
        for item in context.constants:
            needed = item.needed
            if needed is None or item.size is None or item.size >= needed:
                continue
            yield self.found(
                at_data(item.layer, "size"),
                f"{describe(item.layer)} has fewer bytes than its shape needs",
                expected=f"{needed} bytes for {item.element}{list(item.shape or ())}",
                found=f"{item.size} bytes",
                fix="correct shape, element_type or size",
            )
