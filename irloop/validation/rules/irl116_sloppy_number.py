"""IRL116: number followed by other characters."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.numbers import dim_integer
from irloop.formats.openvino.places import at_port
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class SloppyNumber(
    Rule, code="IRL116", severity=Severity.WARNING, title="number followed by other characters"
):
    """A number is followed by other characters, and only its beginning is read.

    What it does:
        Checks `dim` and numeric attributes in `data`. Ids, offsets and the numbers of port maps are
        the subject of IRL104.
    Why is this bad:
        OpenVINO 2026.4 stops reading at the first character that does not belong to the number:
        `2.7` is 2 where an integer is wanted, `1,5` is 1, `0x10` is 0.
    Bad example:
        <dim>2.7</dim>
    Good example:
        <dim>2</dim>
    Fix:
        Write the intended number, and nothing after it.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per `dim` or attribute with other characters after its number.

        Only the attributes in the `data` element of a layer are checked.
        """
        for layer, port, text, problem in context.dim_problems:
            if problem == "sloppy":
                yield self.found(
                    at_port(layer, port),
                    "OpenVINO reads dim only up to the first character that is not a digit",
                    expected=f"{dim_integer(text)}, if that is meant",
                    found=repr(text),
                    fix="write the number without anything after it",
                )
        for item in context.attribute_problems:
            if item.code == self.code:
                yield self.from_problem(item)
