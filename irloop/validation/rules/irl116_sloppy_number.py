"""IRL116: number with something behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Location, Severity
from irloop.validation import values
from irloop.validation.context import Context
from irloop.validation.places import at_entry, at_port
from irloop.validation.rule import Rule


class SloppyNumber(
    Rule, code="IRL116", severity=Severity.WARNING, title="number with something behind it"
):
    """A number is followed by something, and only its beginning is read.

    What it does:
        Checks `dim`, the numbers of port maps and numeric attributes in `data`.
    Why is this bad:
        OpenVINO 2026.4 stops reading at the first character that does not belong to the number:
        `2.7` is 2 where an integer is wanted, `1,5` is 1, `0x10` is 0.
    Bad example:
        <dim>2.7</dim>
    Good example:
        <dim>2</dim>
    Fix:
        Write the number that is meant, and nothing behind it.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding an attribute or dim."""
        for layer, port, text, problem in context.dim_problems:
            if problem == "sloppy":
                yield self._sloppy(at_port(layer, port), "dim", text)
        for wiring in context.loops:
            section = wiring.section
            if section is None:
                continue
            for entry in (*section.inputs, *section.outputs):
                for name, text in entry.attributes.items():
                    if name not in _NUMBERS or _INTEGER.fullmatch(text):
                        continue
                    if values.signed(text) is not None and (name, entry.kind) != ("axis", "input"):
                        yield self._sloppy(at_entry(wiring.owner, section, entry), name, text)
        for item in context.attribute_problems:
            if item.code == self.code:
                yield self.from_problem(item)

    def _sloppy(self, place: Location, name: str, text: str) -> Diagnostic:
        taken = values.number_prefix(text)
        return self.found(
            place,
            f"{name} is read only up to the first character that is no digit",
            expected=f"{taken}, if that is meant",
            found=repr(text),
            fix="write the number without anything behind it",
        )


_NUMBERS = frozenset({"external_port_id", "axis", "start", "end", "stride", "part_size"})
_INTEGER = re.compile(r"[+-]?\d+")
