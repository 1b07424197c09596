"""IRL805: unknown direction of a sequence."""

from __future__ import annotations

from collections.abc import Iterator

from irloop.diagnostics import Diagnostic, Severity
from irloop.formats.openvino.places import at_data, describe
from irloop.validation import recurrent
from irloop.validation.context import Context
from irloop.validation.rule import Rule


class Direction(
    Rule, code="IRL805", severity=Severity.ERROR, title="unknown direction of a sequence"
):
    """The `direction` of a recurrent sequence is unknown.

    What it does:
        Allows forward, reverse and bidirectional, in any letter case.
    Why is this bad:
        OpenVINO 2026.4 and 2021.4 refuse the file.
    Bad example:
        direction="up"
    Good example:
        direction="reverse"
    Fix:
        Write forward, reverse or bidirectional.
    """

    def check(self, context: Context) -> Iterator[Diagnostic]:
        """One finding per recurrent sequence with an unknown direction."""
        for cell in recurrent.recurrent_layers(context):
            if cell.is_sequence and cell.directions is None:
                yield self.found(
                    at_data(cell.layer, "direction"),
                    f"{describe(cell.layer)} has an unknown direction",
                    expected="forward, reverse or bidirectional",
                    found=repr(cell.layer.data.get("direction")),
                    fix="write one of these",
                )
